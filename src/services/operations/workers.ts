/** Work that crashes the engine is retried twice, then set aside so that it cannot block other work. */
import type { Logger } from 'pino';
import { countStepCrash } from '../../db/ledger/steps/steps.ts';
import { countDeliveryCrash, countOccurrenceCrash } from '../../db/ledger/workers.ts';
import type { Deps } from '../deps.ts';
import { countEnded } from '../history/occurrences.ts';

const maxCrashes = 3;

interface CrashedWork {
  organizationId: number;
  occurrenceId: string;
  /** Undefined if the occurrence itself, or one of its steps, was being expanded. */
  deliveryId: number | undefined;
}

export async function countCrash(deps: Deps, work: CrashedWork, log: Pick<Logger, 'error'>): Promise<void> {
  const { organizationId, occurrenceId, deliveryId } = work;
  const { pool } = deps;
  const counted =
    deliveryId === undefined
      ? [
          await countOccurrenceCrash(pool, organizationId, occurrenceId, maxCrashes),
          await countStepCrash(pool, organizationId, occurrenceId, maxCrashes),
        ]
      : [await countDeliveryCrash(pool, organizationId, occurrenceId, deliveryId, maxCrashes)];
  for (const { ended } of counted) countEnded(deps, ended);
  const isSetAside = counted.some(one => one.isSetAside);
  if (isSetAside) log.error(work, `set aside work that crashed the engine ${maxCrashes} times; replay it to try again`);
}
