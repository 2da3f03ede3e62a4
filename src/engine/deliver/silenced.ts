/** Records which messages silences hold or suppress, many at once. */
import type pg from 'pg';
import { recordSilencedAcrossTenants, type Silenced } from '../../db/ledger/expand/silenced.ts';
import { Batcher } from '../../lib/load/batcher.ts';

const maxPerBatch = 500;

export function createSilencedWriter(pool: pg.Pool): Batcher<Silenced, undefined> {
  return new Batcher<Silenced, undefined>(
    async silenced => {
      await recordSilencedAcrossTenants(pool, silenced);
      return silenced.map(() => undefined);
    },
    { maxPerBatch },
  );
}
