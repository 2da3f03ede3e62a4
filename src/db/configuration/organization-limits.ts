/** Limits of organizations and their usage. */
import { type RawBuilder, sql } from 'kysely';
import type { OrganizationLimits } from '../../core/configuration/limits.ts';
import { endedStatuses } from '../../core/history/statuses.ts';
import type { Db } from '../connection/pool.ts';

/** Returns the SQL for the limits as JSON; `alias` is that of the organizations table. */
export function limitsOf(alias: string): RawBuilder<OrganizationLimits> {
  const column = (name: string) => sql.ref(`${alias}.${name}`);
  return sql`jsonb_build_object('triggers_per_second', ${column('triggers_per_second')},
    'deliveries_per_trigger', ${column('deliveries_per_trigger')}, 'users', ${column('users_limit')},
    'stored_messages', ${column('stored_messages_limit')}, 'attachment_bytes', ${column('attachment_bytes_limit')})`;
}

/** Returns the limits, with `forUpdate` after locking the row. */
export async function findLimits(db: Db, organizationId: number, { forUpdate = false } = {}) {
  const { rows } = await sql<{ limits: OrganizationLimits }>`
    select ${limitsOf('o')} as limits from organizations o where o.id = ${organizationId}
    ${forUpdate ? sql`for no key update` : sql``}`.execute(db);
  return rows[0]?.limits;
}

export async function updateLimits(db: Db, organizationId: number, limits: OrganizationLimits): Promise<void> {
  const { triggers_per_second, deliveries_per_trigger, users, stored_messages, attachment_bytes } = limits;
  await db
    .updateTable('organizations')
    .set({
      triggers_per_second,
      deliveries_per_trigger,
      users_limit: users,
      stored_messages_limit: stored_messages,
      attachment_bytes_limit: attachment_bytes,
      updated_at: sql`now()`,
    })
    .where('id', '=', organizationId)
    .execute();
}

export async function countUsers(db: Db, organizationId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from users where organization_id = ${organizationId}`.execute(db);
  return rows[0]!.count;
}

const ended = sql.join(
  endedStatuses.map(status => sql.ref(status)),
  sql` + `,
);

/** Counts stored messages with a final status from the statistics, without reading the history. */
export async function countStoredMessages(db: Db, organizationId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce((select sum(${ended}) from hour_stats where organization_id = ${organizationId}), 0)::bigint
      + coalesce((
        select sum(count) from delivery_stats d where organization_id = ${organizationId} and hour >= coalesce(
          (select until from summed_stats where organization_id = ${organizationId}), '-infinity')), 0)::bigint as count`.execute(
    db,
  );
  return rows[0]!.count;
}
