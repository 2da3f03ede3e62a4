/** Occurrences as people and the engine look at them. */
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { lowestUuidAt, uuidRange } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import type { OccurrenceStatus } from '../core/statuses.ts';
import { priorities } from '../core/trigger.ts';
import type { Db } from './pool.ts';
import { outstandingText, waitingList } from './status-text.ts';

/** What sending needs to know of an occurrence, as it is now. */
export interface OccurrenceFacts {
  organization_id: number;
  id: string;
  event_id: number;
  context: JsonObject;
  correlation_id: string | null;
  due_at: Date;
  expires_at: Date | null;
  cancelled_at: Date | null;
  acknowledged_at: Date | null;
  resolved_at: Date | null;
  created_at: Date;
  /** What it is below in a trace. */
  traceparent: string | null;
}

const findOccurrences = {
  name: 'find_occurrences',
  text: `
    select o.organization_id, o.id, o.event_id, o.context, o.correlation_id, o.due_at, o.expires_at, o.cancelled_at,
      o.created_at, o.acknowledged_at, o.resolved_at, o.traceparent
    from unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
    join occurrences o on o.organization_id = wanted.organization_id and o.id = wanted.id`,
};

export async function findOccurrencesAcrossTenants(
  pool: pg.Pool,
  wanted: { organizationId: number; id: string }[],
): Promise<OccurrenceFacts[]> {
  const values = [wanted.map(one => one.organizationId), wanted.map(one => one.id)];
  const { rows } = await pool.query<OccurrenceFacts>({ ...findOccurrences, values });
  return rows;
}

export interface Occurrence {
  identifier: string;
  /** prj/app/evt; null when the event has been deleted. */
  event: string | null;
  status: OccurrenceStatus;
  /** As the row itself tells; `outcomeOf` says the rest. */
  outcome: OccurrenceOutcome | null;
  reason: string | null;
  /** Null where it waits for a pause to end. */
  due_at: Date | null;
  /** Whether it, or what is left of it, waits for something that is paused. */
  is_held: boolean;
  created_at: Date;
  completed_at: Date | null;
  correlation_id: string | null;
  /** Null: it was not traced. */
  trace_id: string | null;
  /** Whether somebody is to acknowledge it, and nobody has. */
  awaits_acknowledgement: boolean;
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
  dedup_key: string | null;
  /** How many have joined it, the first one included. */
  triggers: number;
  counts: Counts;
}

/** By delivery status; `pending` is all that is not ended. */
export type Counts = Record<'pending' | 'sent' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown', number>;

/** `id` is that of the occurrence: given as a value, only its month is planned for, and the whole takes two thirds of the time. */
const columnsOf = (id: RawBuilder<unknown>) => sql`
  o.id as identifier, p.slug || '/' || a.slug || '/' || e.slug as event, o.status, o.outcome, o.reason, o.created_at, o.completed_at,
  o.correlation_id, substr(o.traceparent, 4, 32) as trace_id, nullif(o.due_at, 'infinity') as due_at, o.awaits_acknowledgement,
  o.acknowledged_at, o.acknowledged_by, o.resolved_at, o.resolved_by, o.dedup_key, o.triggers,
  case when o.status in ('accepted', 'expanding') then o.due_at = 'infinity'
    when o.status = 'sending' then e.paused_at is not null or a.paused_at is not null or exists (
      -- The last of a fan-out are those that a pause finds waiting.
      select from (
        select d.status, d.due_at from deliveries d
        where d.organization_id = o.organization_id and d.occurrence_id = ${id} order by d.id desc limit 100
      ) last where last.status = 'pending' and last.due_at = 'infinity')
    else false end as is_held,
  jsonb_build_object(
    'pending', ${sql.raw(outstandingText('o'))},
    'sent', o.sent, 'failed', o.failed, 'suppressed', o.suppressed, 'cancelled', o.cancelled, 'expired', o.expired,
    'unknown', o.unknown) as counts`;

export const places = sql`
  left join events e on e.organization_id = o.organization_id and e.id = o.event_id
  left join applications a on a.organization_id = o.organization_id and a.id = o.application_id
  left join projects p on p.organization_id = o.organization_id and p.id = o.project_id`;

export interface OccurrenceFilter {
  project?: string;
  application?: string;
  event?: string;
  status?: string;
  outcome?: OccurrenceOutcome;
  /** Only those that somebody is to acknowledge, and nobody has. */
  unacknowledged?: boolean;
  correlation_id?: string;
  /** What the identifier begins with, or the whole correlation id. */
  search?: string;
  since?: Date;
  until?: Date;
}

/** The newest first; `before` is the identifier of the last one seen, or empty. */
export async function listOccurrences(
  db: Db,
  organizationId: number,
  filter: OccurrenceFilter,
  page: { before: string; limit: number },
): Promise<Occurrence[]> {
  const place = await findPlace(db, organizationId, filter);
  if (place?.ids.length === 0) return [];
  const conditions = [
    sql`o.organization_id = ${organizationId}`,
    ...(page.before ? [sql`o.id < ${page.before}::uuid`] : []),
    ...(filter.since ? [sql`o.id >= ${lowestUuidAt(filter.since.getTime())}::uuid`] : []),
    ...(filter.until ? [sql`o.id < ${lowestUuidAt(filter.until.getTime())}::uuid`] : []),
    ...(place ? [sql`o.${sql.ref(`${place.noun}_id`)} = any(${place.ids}::bigint[])`] : []),
    ...(filter.unacknowledged ? [sql`o.awaits_acknowledgement`] : []),
    ...(filter.status ? [sql`o.status = ${filter.status}`] : []),
    ...(filter.correlation_id ? [sql`o.correlation_id = ${filter.correlation_id}`] : []),
  ];
  // Each way of being found by an index of its own. Names are joined to the page alone.
  const searched = filter.search === undefined ? [sql`true`] : searchWays(filter.search);
  const stands = filter.outcome === undefined ? [sql`true`] : outcomeWays(organizationId, filter.outcome);
  const ways = searched.flatMap(one => stands.map(other => sql`${one} and ${other}`));
  const found = ways.map(
    way => sql`(
      select * from occurrences o where ${sql.join([...conditions, way], sql` and `)}
      order by o.id desc limit ${page.limit})`,
  );
  const { rows } = await sql<Occurrence>`
    select ${columnsOf(sql`o.id`)} from (
      select * from (${sql.join(found, sql` union all `)}) found order by id desc limit ${page.limit}
    ) o ${places} order by o.id desc`.execute(db);
  return rows;
}

/** What the slugs of a filter name, as narrow as they tell; of the same slug there may be several. */
async function findPlace(
  db: Db,
  organizationId: number,
  { project, application, event }: OccurrenceFilter,
): Promise<{ noun: 'project' | 'application' | 'event'; ids: number[] } | undefined> {
  const noun = event ? 'event' : application ? 'application' : project ? 'project' : undefined;
  if (!noun) return undefined;
  const { rows } = await sql<{ id: number }>`
    select ${sql.ref(`${noun}s.id`)} from projects
    ${
      noun === 'project'
        ? sql``
        : sql`join applications on applications.organization_id = projects.organization_id
      and applications.project_id = projects.id`
    }
    ${
      noun === 'event'
        ? sql`join events on events.organization_id = applications.organization_id
      and events.application_id = applications.id`
        : sql``
    }
    where projects.organization_id = ${organizationId}
      ${project ? sql`and projects.slug = ${project}` : sql``}
      ${application ? sql`and applications.slug = ${application}` : sql``}
      ${event ? sql`and events.slug = ${event}` : sql``}`.execute(db);
  return { noun, ids: rows.map(row => row.id) };
}

function searchWays(search: string) {
  const correlated = sql`o.correlation_id = ${search}`;
  const range = uuidRange(search);
  if (!range) return [correlated];
  const identified = sql`o.id between ${range.from}::uuid and ${range.to}::uuid`;
  return [identified, sql`${correlated} and not (${identified})`];
}

/** So much of what waits is looked through. */
const mostWaiting = 10_000;

/** Conditions of which no occurrence fulfils two; each begins where an index does. */
function outcomeWays(organizationId: number, outcome: OccurrenceOutcome): RawBuilder<unknown>[] {
  const held = sql`o.id in (${heldWhileSending(organizationId)})`;
  switch (outcome) {
    case 'scheduled':
      return [sql`o.outcome = 'scheduled' and o.due_at > now()`];
    case 'held':
      return [
        sql`o.outcome = 'held'`,
        sql`o.outcome = 'sending' and ${held}`,
        sql`o.outcome = 'escalating' and ${held}`,
      ];
    case 'sending':
    case 'escalating':
      return [sql`o.outcome = ${outcome} and not ${held}`];
    case 'expanding':
      // What is about to be expanded is in the queue.
      return [
        sql`o.outcome = 'expanding'`,
        sql`o.status = 'accepted' and o.id in (
          select id from unnest(${priorities.map((_, i) => i)}::smallint[]) as class (priority), lateral (
            select id from occurrences where status = 'accepted' and priority = class.priority
              and organization_id = ${organizationId} and due_at <= now() limit ${mostWaiting}
          ) due)`,
      ];
    default:
      return [sql`o.outcome = ${outcome}`];
  }
}

/** What is being sent, and of which something waits for a pause to end. */
const heldWhileSending = (organizationId: number) => sql`
  select occurrence_id from unnest(${priorities.map((_, i) => i)}::smallint[]) as class (priority), lateral (
    select occurrence_id from deliveries where status in ${sql.raw(waitingList)} and priority = class.priority
      and organization_id = ${organizationId} and due_at = 'infinity' limit ${mostWaiting}
  ) waiting
  union
  select s.id from unnest(array['sending', 'escalating']) as being (outcome), lateral (
    select id, event_id from occurrences where organization_id = ${organizationId} and outcome = being.outcome
    order by id desc limit ${mostWaiting}
  ) s
  join events e on e.organization_id = ${organizationId} and e.id = s.event_id
  join applications a on a.organization_id = e.organization_id and a.id = e.application_id
  where e.paused_at is not null or a.paused_at is not null`;

export async function findOccurrence(
  db: Db,
  organizationId: number,
  id: string,
): Promise<(Occurrence & { context: JsonObject; options: JsonObject; event_id: number }) | undefined> {
  const { rows } = await sql<Occurrence & { context: JsonObject; options: JsonObject; event_id: number }>`
    select ${columnsOf(sql`${id}::uuid`)}, o.context, o.options, o.event_id from occurrences o ${places}
    where o.organization_id = ${organizationId} and o.id = ${id}`.execute(db);
  return rows[0];
}
