/** What is paused, and how much is held because of it. Counting stops at a limit, however long the backlog. */
import { sql } from 'kysely';
import { priorities } from '../../core/trigger.ts';
import type { Pausable } from '../configuration/pauses.ts';
import type { Db } from '../connection/pool.ts';
import { isGuardedText } from '../ledger/deliver/releases.ts';
import { type Queue, queues } from '../ledger/round-robin.ts';

export interface PausedResource {
  kind: Pausable;
  /** As text: the ids of keys are no numbers. */
  id: string;
  path: string;
  since: Date;
  /** `bulk`: the reputation guard holds bulk messages. `not_urgent`: the rate guard holds what is not urgent. */
  scope: 'all' | 'bulk' | 'not_urgent';
  /** From the person who paused it, or from a guard or the engine. */
  reason: string | null;
  /** The guard that has paused it; null: a person. */
  cause: 'guard.rate' | null;
}

const scopeOf = (row: string) => sql.raw(`case ${row}.pause_cause when 'guard.rate' then 'not_urgent' else 'all' end`);
const causeOf = (row: string) => sql.raw(`case when ${row}.pause_cause is not null then 'guard.rate' end`);

/** Lists everything that is paused, longest pause first. */
export async function listPaused(db: Db, organizationId: number): Promise<PausedResource[]> {
  const { rows } = await sql<PausedResource>`
    select 'channel' as kind, c.id::text, concat_ws('/', p.slug, c.slug) as path, coalesce(c.paused_at, c.bulk_paused_at) as since,
      case when c.paused_at is null then 'bulk' else 'all' end as scope,
      case when c.paused_at is null then c.bulk_paused_reason else c.paused_reason end as reason, null as cause
    from channels c
    left join projects p on p.organization_id = c.organization_id and p.id = c.project_id
    where c.organization_id = ${organizationId} and (c.paused_at is not null or c.bulk_paused_at is not null)
    union all
    select 'organization', id::text, '', paused_at, 'all', paused_reason, null from organizations
    where id = ${organizationId} and paused_at is not null
    union all
    select 'project', id::text, slug, paused_at, 'all', paused_reason, null from projects
    where organization_id = ${organizationId} and paused_at is not null
    union all
    select 'key', id, name, paused_at, ${scopeOf('keys')}, paused_reason, ${causeOf('keys')} from keys
    where organization_id = ${organizationId} and paused_at is not null
    union all
    select 'application', a.id::text, p.slug || '/' || a.slug, a.paused_at, ${scopeOf('a')}, a.paused_reason, ${causeOf('a')} from applications a
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where a.organization_id = ${organizationId} and a.paused_at is not null
    union all
    select 'event', e.id::text, p.slug || '/' || a.slug || '/' || e.slug, e.paused_at, ${scopeOf('e')}, e.paused_reason, ${causeOf('e')} from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where e.organization_id = ${organizationId} and e.paused_at is not null
    order by since, path`.execute(db);
  return rows;
}

/** Count for one channel, event and key. A null channel counts occurrences that are not expanded yet. */
export interface HeldCount {
  channel_id: number | null;
  event_id: number;
  application_id: number;
  project_id: number;
  organization_id: number;
  key_id: string | null;
  count: number;
}

const ownerColumns = 'event_id, application_id, project_id, organization_id, key_id';

/**
 * Counts what has no due time until a pause ends: at most `max` deliveries and as many occurrences, with the indexes
 * that claims use. The stored reason is ignored: with two pauses it names the first, which may have ended.
 */
export async function countHeld(db: Db, organizationId: number, max: number): Promise<HeldCount[]> {
  const heldOf = (queue: Queue, columns: string) => sql`
    select ${sql.raw(columns)} from unnest(${priorities.map((_, i) => i)}::smallint[]) as class (priority), lateral (
      select ${sql.raw(columns)} from ${sql.table(queues[queue].table)} q
      where ${sql.raw(queues[queue].waiting)} and q.priority = class.priority
        and organization_id = ${organizationId} and due_at = 'infinity'
        ${queue === 'deliveries' ? sql`` : sql`and not ${sql.raw(isGuardedText('q'))}`}
      limit ${max}
    ) held limit ${max}`;
  const { rows } = await sql<HeldCount>`
    (select held.channel_id, o.event_id, o.application_id, o.project_id, o.organization_id, o.key_id, count(*)::int as count
    from (${heldOf('deliveries', 'channel_id, occurrence_id')}) held
    join occurrences o on o.organization_id = ${organizationId} and o.id = held.occurrence_id
    group by 1, 2, 3, 4, 5, 6)
    union all
    (select null, event_id, application_id, project_id, organization_id, key_id, count(*)::int from (
      (${heldOf('accepted', ownerColumns)}) union all (${heldOf('expanding', ownerColumns)})
    ) held group by 2, 3, 4, 5, 6)`.execute(db);
  return rows;
}
