/** What organizations may take, and what they have taken. */
import { type RawBuilder, sql } from 'kysely';
import type { OrganizationLimits } from '../core/limits.ts';
import { endedStatuses } from '../core/statuses.ts';
import type { Db } from './pool.ts';

/** As JSON, of the organization under this name in a query. */
export function limitsOf(alias: string): RawBuilder<OrganizationLimits> {
  const column = (name: string) => sql.ref(`${alias}.${name}`);
  return sql`jsonb_build_object('triggers_per_second', ${column('triggers_per_second')},
    'deliveries_per_trigger', ${column('deliveries_per_trigger')}, 'users', ${column('users_limit')},
    'stored_messages', ${column('stored_messages_limit')})`;
}

/** Locked for a change, if it is read for one. */
export async function findLimits(
  db: Db,
  organizationId: number,
  { forUpdate = false } = {},
): Promise<OrganizationLimits | undefined> {
  const { rows } = await sql<{ limits: OrganizationLimits }>`
    select ${limitsOf('o')} as limits from organizations o where o.id = ${organizationId}
    ${forUpdate ? sql`for no key update` : sql``}`.execute(db);
  return rows[0]?.limits;
}

export async function updateLimits(db: Db, organizationId: number, limits: OrganizationLimits): Promise<void> {
  const { triggers_per_second, deliveries_per_trigger, users, stored_messages } = limits;
  await db
    .updateTable('organizations')
    .set({
      triggers_per_second,
      deliveries_per_trigger,
      users_limit: users,
      stored_messages_limit: stored_messages,
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

/** Messages that have come to an end and are kept, from the kept counts: the history itself is not read. */
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
