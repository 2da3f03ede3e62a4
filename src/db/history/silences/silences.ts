/** Silences, and what they held or suppressed. */
import { type RawBuilder, sql } from 'kysely';
import { type Silence, silenceLimits } from '../../../core/decision/silence-rules.ts';
import type { SilenceState } from '../../../core/decision/silences.ts';
import type { Db } from '../../connection/pool.ts';

export interface SilenceRow extends Silence {
  /** Slugs such as `ops/monitoring/page`, of what it is limited to; null: the whole organization. */
  path: string | null;
  created_at: Date;
  ended_by: string | null;
  /** Occurrences that wait for its end, that will never be sent because of it, and that went on after it. */
  held: number;
  suppressed: number;
  released: number;
}

const ruleColumns = sql`s.id, s.project_id, s.application_id, s.event_id, s.matchers, s.reason, s.starts_at, s.ends_at, s.recurrence,
  s.created_by`;

/** Lists what decides: the silences that are not over. */
export async function listOpenSilences(db: Db, organizationId: number): Promise<Silence[]> {
  const { rows } = await sql<Silence>`
    select ${ruleColumns} from silences s where s.organization_id = ${organizationId} and s.ends_at > now()
    order by s.id`.execute(db);
  return rows;
}

/** SQL text: what became of an occurrence `o` that a silence held or suppressed as `x`. */
const stateText = sql`case
    when x.effect = 'suppressed' then 'suppressed'
    when o.id is null then 'released'
    when o.status = 'completed' and o.reason in ('silenced', 'expired', 'cancelled')
      or coalesce(o.resolved_at, o.acknowledged_at, o.cancelled_at) < x.until then 'suppressed'
    when x.until > now() then 'held'
    else 'released'
  end`;

const occurrenceJoin = sql`
  left join occurrences o on o.organization_id = x.organization_id and o.id = x.occurrence_id`;

const columns = sql`${ruleColumns}, s.created_at, s.ended_by, c.held, c.suppressed, c.released,
  nullif(concat_ws('/', p.slug, a.slug, e.slug), '') as path`;

const joins = sql`
  left join projects p on p.organization_id = s.organization_id and p.id = s.project_id
  left join applications a on a.organization_id = s.organization_id and a.id = s.application_id
  left join events e on e.organization_id = s.organization_id and e.id = s.event_id
  left join lateral (
    select count(*) filter (where state = 'held')::int as held,
      count(*) filter (where state = 'suppressed')::int as suppressed,
      count(*) filter (where state = 'released')::int as released
    from (
      select ${stateText} as state from (
        select * from silenced_occurrences x
        where x.organization_id = s.organization_id and x.silence_id = s.id limit ${silenceLimits.counted}
      ) x ${occurrenceJoin}
    ) states
  ) c on true`;

const conditionOf: Record<SilenceState, RawBuilder<unknown>> = {
  active: sql`s.starts_at <= now() and s.ends_at > now()`,
  planned: sql`s.starts_at > now() and s.ends_at > now()`,
  ended: sql`s.ends_at <= now()`,
};

/** Lists silences, newest first. `before` is the id of the last one of the previous page, or empty. */
export async function listSilences(
  db: Db,
  organizationId: number,
  { state }: { state?: SilenceState | undefined },
  { before, limit }: { before: string; limit: number },
): Promise<SilenceRow[]> {
  const { rows } = await sql<SilenceRow>`
    select ${columns} from (
      select * from silences s where s.organization_id = ${organizationId}
        ${before ? sql`and s.id < ${before}::uuid` : sql``} ${state ? sql`and ${conditionOf[state]}` : sql``}
      order by s.id desc limit ${limit}
    ) s ${joins} order by s.id desc`.execute(db);
  return rows;
}

export async function findSilence(db: Db, organizationId: number, id: string): Promise<SilenceRow | undefined> {
  const { rows } = await sql<SilenceRow>`
    select ${columns} from silences s ${joins}
    where s.organization_id = ${organizationId} and s.id = ${id}`.execute(db);
  return rows[0];
}

/** Counts the silences that are not over. The organization is locked first, so that concurrent requests do not exceed a limit. */
export async function countOpenSilences(db: Db, organizationId: number): Promise<number> {
  await sql`select from organizations where id = ${organizationId} for no key update`.execute(db);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from silences where organization_id = ${organizationId} and ends_at > now()`.execute(
    db,
  );
  return rows[0]!.count;
}

export async function addSilence(db: Db, organizationId: number, silence: Silence): Promise<void> {
  const { matchers, recurrence, ...fields } = silence;
  await db
    .insertInto('silences')
    .values({
      ...fields,
      organization_id: organizationId,
      matchers: JSON.stringify(matchers),
      recurrence: recurrence && JSON.stringify(recurrence),
    })
    .execute();
}

/** Ends a silence now. Returns when it would have ended; undefined if it is over. */
export async function endSilence(db: Db, organizationId: number, id: string, by: string): Promise<Date | undefined> {
  const { rows } = await sql<{ planned: Date }>`
    update silences s set ends_at = now(), ended_by = ${by}
    from (select ends_at from silences where organization_id = ${organizationId} and id = ${id} for update) before
    where s.organization_id = ${organizationId} and s.id = ${id} and s.ends_at > now()
    returning before.ends_at as planned`.execute(db);
  return rows[0]?.planned;
}

/** What became of an occurrence that was silenced. */
export type SilencedState = 'held' | 'suppressed' | 'released';

export interface SilencedOccurrence {
  occurrence: string;
  /** prj/app/evt; null when the event has been deleted. */
  event: string | null;
  /** What its context calls it; null if it has no title. */
  title: string | null;
  state: SilencedState;
  silenced_at: Date;
  until: Date;
}

const maxTitle = 200;

/** Lists what a silence held or suppressed, newest first. */
export async function listSilenced(
  db: Db,
  organizationId: number,
  silenceId: string,
  { before, limit }: { before: string; limit: number },
): Promise<SilencedOccurrence[]> {
  const { rows } = await sql<SilencedOccurrence>`
    select x.occurrence_id as occurrence, p.slug || '/' || a.slug || '/' || e.slug as event,
      left(o.context ->> 'title', ${maxTitle}) as title, ${stateText} as state, x.silenced_at, x.until
    from (
      select * from silenced_occurrences x where x.organization_id = ${organizationId} and x.silence_id = ${silenceId}
        ${before ? sql`and x.occurrence_id < ${before}::uuid` : sql``}
      order by x.occurrence_id desc limit ${limit}
    ) x ${occurrenceJoin}
    left join events e on e.organization_id = o.organization_id and e.id = o.event_id
    left join applications a on a.organization_id = o.organization_id and a.id = o.application_id
    left join projects p on p.organization_id = o.organization_id and p.id = o.project_id
    order by x.occurrence_id desc`.execute(db);
  return rows;
}

export interface OccurrenceSilence {
  silence: string;
  created_by: string;
  reason: string;
  until: Date;
  state: SilencedState;
}

/** Returns for each of these occurrences the silence that held it last or suppressed it. */
export async function findOccurrenceSilences(
  db: Db,
  organizationId: number,
  identifiers: readonly string[],
): Promise<Map<string, OccurrenceSilence>> {
  if (identifiers.length === 0) return new Map();
  const { rows } = await sql<OccurrenceSilence & { id: string }>`
    select wanted.id, last.* from unnest(${identifiers}::uuid[]) as wanted (id), lateral (
      select s.id as silence, s.created_by, s.reason, x.until, ${stateText} as state
      from silenced_occurrences x
      join silences s on s.organization_id = x.organization_id and s.id = x.silence_id ${occurrenceJoin}
      where x.organization_id = ${organizationId} and x.occurrence_id = wanted.id
      order by x.until desc, x.silence_id limit 1
    ) last`.execute(db);
  return new Map(rows.map(({ id, ...found }) => [id, found]));
}

/** An occurrence that can still be resolved. */
export interface OpenOccurrence {
  id: string;
  project_id: number;
  application_id: number;
  event_id: number;
  event: string | null;
  context: object;
}

/** A page of the newest occurrences: those that are open, and where the next page starts; undefined after the last one. */
export async function listOpenOccurrences(
  db: Db,
  organizationId: number,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<{ open: OpenOccurrence[]; examined: number; next: string | undefined }> {
  const { rows } = await sql<OpenOccurrence & { is_open: boolean }>`
    select o.id, o.project_id, o.application_id, o.event_id, o.is_open,
      case when o.is_open then o.context end as context, p.slug || '/' || a.slug || '/' || e.slug as event
    from (
      select o.*, o.dedup_key is not null and o.resolved_at is null and o.cancelled_at is null as is_open from occurrences o
      where o.organization_id = ${organizationId} ${before ? sql`and o.id < ${before}::uuid` : sql``}
      order by o.id desc limit ${limit}
    ) o
    left join events e on o.is_open and e.organization_id = o.organization_id and e.id = o.event_id
    left join applications a on o.is_open and a.organization_id = o.organization_id and a.id = o.application_id
    left join projects p on o.is_open and p.organization_id = o.organization_id and p.id = o.project_id
    order by o.id desc`.execute(db);
  const next = rows.length === limit ? rows.at(-1)!.id : undefined;
  return { open: rows.filter(row => row.is_open), examined: rows.length, next };
}
