/** Reads what became of requests to the senders of alerts. */
import { sql } from 'kysely';
import type { UpdateState } from '../../../core/sources/updates/update.ts';
import type { Db } from '../../connection/pool.ts';
import type { SourceUpdateEntry } from '../../ledger/webhooks/source-updates.ts';

export interface SourceUpdateRow {
  /** Slug of the source. */
  source: string;
  occurrence_id: string;
  key: string;
  state: UpdateState;
  changed_by: string;
  changed_at: Date;
  status: 'waiting' | 'done' | 'failed';
  log: SourceUpdateEntry[];
}

const columns = sql`s.slug as source, u.occurrence_id, u.key, u.state, u.changed_by, u.changed_at, u.status, u.log`;

/** Lists the updates of an occurrence, by source and key. */
export async function listOccurrenceSourceUpdates(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  max: number,
): Promise<SourceUpdateRow[]> {
  const { rows } = await sql<SourceUpdateRow>`
    select ${columns} from source_updates u
    join sources s on s.organization_id = u.organization_id and s.id = u.source_id
    where u.organization_id = ${organizationId} and u.occurrence_id = ${occurrenceId}
    order by u.organization_id, u.occurrence_id, u.source_id, u.key limit ${max}`.execute(db);
  return rows;
}

/** Lists the updates of a source, newest first. */
export async function listUpdatesOfSource(
  db: Db,
  organizationId: number,
  sourceId: number,
  max: number,
): Promise<SourceUpdateRow[]> {
  const { rows } = await sql<SourceUpdateRow>`
    select ${columns} from source_updates u
    join sources s on s.organization_id = u.organization_id and s.id = u.source_id
    where u.organization_id = ${organizationId} and u.source_id = ${sourceId}
    order by u.organization_id desc, u.source_id desc, u.changed_at desc limit ${max}`.execute(db);
  return rows;
}
