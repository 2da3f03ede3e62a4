/** Reads what became of messages after their occurrence was acknowledged, resolved or cancelled. */
import { sql } from 'kysely';
import type { OccurrenceChange } from '../../core/message/message-updates.ts';
import type { Db } from '../connection/pool.ts';
import type { UpdateEntry } from '../ledger/deliver/message-updates.ts';
import { carriedDueAt } from '../ledger/digests/digest-items.ts';

interface MessageUpdateRow {
  delivery_id: number;
  change: OccurrenceChange;
  changed_by: string | null;
  changed_at: Date;
  status: 'waiting' | 'done' | 'failed';
  log: UpdateEntry[];
}

/** Lists the updates of these deliveries. */
export async function listMessageUpdates(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  deliveryIds: readonly number[],
): Promise<MessageUpdateRow[]> {
  const { rows } = await sql<MessageUpdateRow>`
    select delivery_id, change, changed_by, changed_at, status, log from message_updates
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId}
      and delivery_id > 0 and delivery_id = any(${deliveryIds}::bigint[])`.execute(db);
  return rows;
}

/** Lists the updates of the messages of these bundles. */
export async function listBundleUpdates(
  db: Db,
  organizationId: number,
  bundleIds: readonly string[],
): Promise<(MessageUpdateRow & { bundle: string })[]> {
  const { rows } = await sql<MessageUpdateRow & { bundle: string }>`
    select g.id as bundle, m.delivery_id, m.change, m.changed_by, m.changed_at, m.status, m.log
    from unnest(${bundleIds}::uuid[]) as g (id), lateral (
      select occurrence_id, id from deliveries
      where organization_id = ${organizationId} and digest_id = g.id and due_at <> ${carriedDueAt} limit 1
    ) d join message_updates m
      on m.organization_id = ${organizationId} and m.occurrence_id = d.occurrence_id and m.delivery_id = d.id`.execute(
    db,
  );
  return rows;
}

interface LastChange {
  change: OccurrenceChange;
  by: string | null;
  at: Date;
}

/** Finds how the occurrence ended; undefined if it has not. */
export async function findLastChange(
  db: Db,
  organizationId: number,
  occurrenceId: string,
): Promise<LastChange | undefined> {
  const { rows } = await sql<LastChange>`
    select change, by, at from occurrences o, lateral (values
      ('acknowledged', o.acknowledged_by, o.acknowledged_at),
      ('resolved', o.resolved_by, o.resolved_at),
      ('cancelled', o.cancelled_by, o.cancelled_at)) as c (change, by, at)
    where o.organization_id = ${organizationId} and o.id = ${occurrenceId} and at is not null
    order by at desc limit 1`.execute(db);
  return rows[0];
}
