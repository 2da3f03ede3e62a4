/** Reads occurrences for the API and for the engine. */
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { HoldState } from '../../core/decision/guards/guard.ts';
import type { OccurrenceOutcome } from '../../core/decision/outcome.ts';
import type { EarlierContext } from '../../core/history/earlier-contexts.ts';
import type { OccurrenceStatus } from '../../core/history/statuses.ts';
import { lowestUuidAt, uuidRange } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { AttachmentReference } from '../../core/message/attachments.ts';
import { priorities } from '../../core/trigger.ts';
import { isPausedText } from '../configuration/pauses.ts';
import type { Db } from '../connection/pool.ts';
import { unknownCount } from '../ledger/expand/unexpanded-counts.ts';
import { outstandingText, waitingList } from '../ledger/status-text.ts';

/** The current state of an occurrence, as needed for sending. */
export interface OccurrenceFacts {
  organization_id: number;
  id: string;
  event_id: number;
  context: JsonObject;
  /** Null unless its severity rose. */
  earlier_contexts: EarlierContext[] | null;
  correlation_id: string | null;
  /** The key that triggered it; null: a signed-in account did. */
  key_id: string | null;
  priority: number;
  due_at: Date;
  /** When its last round of steps began; null: when it was due. */
  round_began_at: Date | null;
  expires_at: Date | null;
  cancelled_at: Date | null;
  acknowledged_at: Date | null;
  /** Users who have acknowledged on their own, while others are missing. */
  acknowledged_users?: number[] | null;
  resolved_at: Date | null;
  created_at: Date;
  /** The parent span in a trace. */
  traceparent: string | null;
  /** The files that the trigger names; null if it names none. */
  attachments: AttachmentReference[] | null;
  /** Whether it has a dedup key, so that it can be resolved later. */
  is_keyed: boolean;
}

const findOccurrences = {
  name: 'find_occurrences',
  text: `
    select o.organization_id, o.id, o.event_id, o.context, o.earlier_contexts, o.correlation_id, o.key_id, o.priority, o.round_began_at, o.expires_at, o.cancelled_at,
      -- Recipients who wait for an approval have no due time, but the sample of their canary may be retried.
      case when o.due_at = 'infinity' then o.created_at else o.due_at end as due_at,
      o.created_at, o.acknowledged_at, o.acknowledged_users, o.resolved_at, o.traceparent, o.options -> 'attachments' as attachments,
      o.dedup_key is not null as is_keyed
    from unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
    join occurrences o on o.organization_id = wanted.organization_id and o.id = wanted.id`,
};

export async function findOccurrencesAcrossTenants(
  pool: pg.Pool,
  keys: { organizationId: number; id: string }[],
): Promise<OccurrenceFacts[]> {
  const values = [keys.map(one => one.organizationId), keys.map(one => one.id)];
  const { rows } = await pool.query<OccurrenceFacts>({ ...findOccurrences, values });
  return rows;
}

export interface Occurrence {
  identifier: string;
  /** prj/app/evt; null when the event has been deleted. */
  event: string | null;
  /** What its context calls it; null if it has no title. */
  title: string | null;
  status: OccurrenceStatus;
  /** The stored outcome; `outcomeOf` derives the effective one. */
  outcome: OccurrenceOutcome | null;
  reason: string | null;
  /** Null while the occurrence is held by a pause. */
  due_at: Date | null;
  /** Whether the occurrence, or some of its deliveries, are held by a pause. */
  is_held: boolean;
  is_dry_run: boolean;
  created_at: Date;
  completed_at: Date | null;
  correlation_id: string | null;
  /** Null when the trigger was not traced. */
  trace_id: string | null;
  /** Whether an acknowledgement is expected and still missing. */
  awaits_acknowledgement: boolean;
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  /** When the acknowledgement ends: it expires, or is a snooze. Null: it does not. */
  acknowledged_until: Date | null;
  snoozed_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
  cancelled_at: Date | null;
  cancelled_by: string | null;
  dedup_key: string | null;
  /** Number of triggers that were deduplicated into it, including the first. */
  triggers: number;
  counts: Counts;
  /** Deliveries that were never decided, because it stopped early; null if their number is not known. */
  unexpanded: number | null;
}

/** Counts of deliveries by status; `pending` counts all that have not ended. */
export type Counts = Record<'pending' | 'sent' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown', number>;

/**
 * `id` is the id of the occurrence. Passing it as a value makes the planner consider only its partition: a third
 * faster.
 */
const columnsOf = (id: RawBuilder<unknown>) => sql`
  o.id as identifier, p.slug || '/' || a.slug || '/' || e.slug as event, left(o.context ->> 'title', 500) as title,
  o.status, o.outcome, o.reason, o.created_at, o.completed_at,
  o.correlation_id, substr(o.traceparent, 4, 32) as trace_id, nullif(o.due_at, 'infinity') as due_at, o.awaits_acknowledgement,
  o.acknowledged_at, o.acknowledged_by, o.acknowledged_until, o.snoozed_by, o.resolved_at, o.resolved_by, o.cancelled_at, o.cancelled_by, o.dedup_key, o.triggers,
  case when o.reason = 'crashed' then null else nullif(coalesce(o.unexpanded, 0), ${sql.raw(String(unknownCount))}) end as unexpanded,
  case when o.status in ('accepted', 'expanding') then o.due_at = 'infinity'
    when o.status = 'sending' then ${sql.raw(isPausedText('o'))} or exists (
      -- A pause holds the last deliveries of a fan-out.
      select from (
        select d.status, d.due_at from deliveries d
        where d.organization_id = o.organization_id and d.occurrence_id = ${id} order by d.id desc limit 100
      ) last where last.status = 'pending' and last.due_at = 'infinity')
    else false end as is_held, coalesce(o.options -> 'dry_run' = 'true', false) as is_dry_run,
  jsonb_build_object(
    'pending', ${sql.raw(outstandingText('o'))},
    'sent', o.sent, 'failed', o.failed, 'suppressed', o.suppressed, 'cancelled', o.cancelled, 'expired', o.expired,
    'unknown', o.unknown) as counts`;

export const pathJoins = sql`
  left join events e on e.organization_id = o.organization_id and e.id = o.event_id
  left join applications a on a.organization_id = o.organization_id and a.id = o.application_id
  left join projects p on p.organization_id = o.organization_id and p.id = o.project_id`;

export interface OccurrenceFilter {
  project?: string;
  application?: string;
  event?: string;
  status?: string;
  outcome?: OccurrenceOutcome;
  /** Only occurrences that still await an acknowledgement. */
  unacknowledged?: boolean;
  correlation_id?: string;
  /** A prefix of the identifier, or the complete correlation id. */
  search?: string;
  since?: Date;
  until?: Date;
}

/** Lists occurrences, newest first. `before` is the identifier of the last one of the previous page, or empty. */
export async function listOccurrences(
  db: Db,
  organizationId: number,
  filter: OccurrenceFilter,
  page: { before: string; limit: number },
): Promise<Occurrence[]> {
  const scope = await resolveScope(db, organizationId, filter);
  if (scope?.ids.length === 0) return [];
  const conditions = [
    sql`o.organization_id = ${organizationId}`,
    ...(page.before ? [sql`o.id < ${page.before}::uuid`] : []),
    ...(filter.since ? [sql`o.id >= ${lowestUuidAt(filter.since.getTime())}::uuid`] : []),
    ...(filter.until ? [sql`o.id < ${lowestUuidAt(filter.until.getTime())}::uuid`] : []),
    ...(scope ? [sql`o.${sql.ref(`${scope.noun}_id`)} = any(${scope.ids}::bigint[])`] : []),
    ...(filter.unacknowledged ? [sql`o.awaits_acknowledgement`] : []),
    ...(filter.status ? [sql`o.status = ${filter.status}`] : []),
    ...(filter.correlation_id ? [sql`o.correlation_id = ${filter.correlation_id}`] : []),
  ];
  // One subquery per combination, so that each uses its own index. Names are joined only to the page.
  const bySearch = filter.search === undefined ? [sql`true`] : searchConditions(filter.search);
  const byOutcome = filter.outcome === undefined ? [sql`true`] : outcomeConditions(organizationId, filter.outcome);
  const alternatives = bySearch.flatMap(one => byOutcome.map(other => sql`${one} and ${other}`));
  const found = alternatives.map(
    alternative => sql`(
      select * from occurrences o where ${sql.join([...conditions, alternative], sql` and `)}
      order by o.id desc limit ${page.limit})`,
  );
  const { rows } = await sql<Occurrence>`
    select ${columnsOf(sql`o.id`)} from (
      select * from (${sql.join(found, sql` union all `)}) found order by id desc limit ${page.limit}
    ) o ${pathJoins} order by o.id desc`.execute(db);
  return rows;
}

/** Returns these occurrences, in any order. */
export async function findOccurrencesById(db: Db, organizationId: number, ids: string[]): Promise<Occurrence[]> {
  const { rows } = await sql<Occurrence>`
    select ${columnsOf(sql`o.id`)} from unnest(${ids}::uuid[]) as given (id)
    join occurrences o on o.organization_id = ${organizationId} and o.id = given.id ${pathJoins}`.execute(db);
  return rows;
}

/** Resolves the slugs of a filter to ids at the narrowest level given. Several resources may share a slug. */
async function resolveScope(
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

function searchConditions(search: string) {
  const correlated = sql`o.correlation_id = ${search}`;
  const range = uuidRange(search);
  if (!range) return [correlated];
  const identified = sql`o.id between ${range.from}::uuid and ${range.to}::uuid`;
  return [identified, sql`${correlated} and not (${identified})`];
}

/** At most this many waiting rows are scanned. */
const maxScanned = 10_000;

/** Returns mutually exclusive conditions, each of which is served by an index. */
function outcomeConditions(organizationId: number, outcome: OccurrenceOutcome): RawBuilder<unknown>[] {
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
      // Occurrences that are due but not yet claimed count as expanding; they are in the queue.
      return [
        sql`o.outcome = 'expanding'`,
        sql`o.status = 'accepted' and o.id in (
          select id from unnest(${priorities.map((_, i) => i)}::smallint[]) as class (priority), lateral (
            select id from occurrences where status = 'accepted' and priority = class.priority
              and organization_id = ${organizationId} and due_at <= now() limit ${maxScanned}
          ) due)`,
      ];
    default:
      return [sql`o.outcome = ${outcome}`];
  }
}

/** Selects occurrences in progress that have deliveries held by a pause. */
const heldWhileSending = (organizationId: number) => sql`
  select occurrence_id from unnest(${priorities.map((_, i) => i)}::smallint[]) as class (priority), lateral (
    select occurrence_id from deliveries where status in ${sql.raw(waitingList)} and priority = class.priority
      and organization_id = ${organizationId} and due_at = 'infinity' limit ${maxScanned}
  ) waiting
  union
  select s.id from unnest(array['sending', 'escalating']) as being (outcome), lateral (
    select organization_id, id, event_id, application_id, project_id, key_id, priority from occurrences
    where organization_id = ${organizationId} and outcome = being.outcome order by id desc limit ${maxScanned}
  ) s where ${sql.raw(isPausedText('s'))}`;

export async function findOccurrence(db: Db, organizationId: number, id: string) {
  const { rows } = await sql<
    Occurrence & {
      context: JsonObject;
      options: JsonObject;
      event_id: number;
      key_id: string | null;
      /** The state of its hold; null if it never waited for an approval. */
      hold: HoldState | null;
    }
  >`
    select ${columnsOf(sql`${id}::uuid`)}, o.context, o.options, o.event_id, o.key_id, (
      select h.state from holds h where h.organization_id = ${organizationId} and h.occurrence_id = ${id}
      order by h.held_at desc limit 1) as hold
    from occurrences o ${pathJoins}
    where o.organization_id = ${organizationId} and o.id = ${id}`.execute(db);
  return rows[0];
}
