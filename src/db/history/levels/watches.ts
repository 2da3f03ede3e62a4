/**
 * Watches and what became of their rehearsals. A claim moves `due_at` into the near future, so what a process leaves behind is due again.
 * Every other change names the rehearsal that it is about: a process that was slow changes nothing of the next one.
 */
import { sql } from 'kysely';
import type { WatchState } from '../../../core/history/service-levels.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

/** Longer than a call of the URL may take, with everything around it. */
const claimSeconds = 20;

/** Returns the milliseconds until the next watch is due; null: none is within the time. */
export async function findNextWatchDueAcrossTenants(db: Db, withinMs: number): Promise<number | null> {
  const { rows } = await sql<{ in_ms: number | null }>`
    select (extract(epoch from min(due_at) - now()) * 1000)::float8 as in_ms from watch_states
    where due_at <= now() + ${withinMs} * interval '1 ms'`.execute(db);
  return rows[0]!.in_ms;
}

export interface ClaimedWatch {
  organization_id: number;
  application_id: number;
  watch_id: number;
  slug: string;
  event: string;
  every: string;
  secrets: Buffer | null;
  /** Slugs. */
  organization: string;
  project: string;
  application: string;
  /** Null: a rehearsal is to begin. */
  occurrence_id: string | null;
  /** When the rehearsal that is under way has to be delivered, and whether that is over. */
  deadline: Date | null;
  is_over: boolean;
  /** Why the last call of the URL failed. */
  error: string | null;
}

export async function claimDueWatchesAcrossTenants(db: Db, limit: number): Promise<ClaimedWatch[]> {
  const { rows } = await sql<ClaimedWatch>`
    with due as (
      select organization_id, watch_id from watch_states
      where due_at <= now() and organization_id <> all(${sql.raw(stoppedText)})
      order by due_at limit ${limit} for update skip locked
    ), claimed as (
      update watch_states s set due_at = now() + ${claimSeconds} * interval '1 second' from due
      where s.organization_id = due.organization_id and s.watch_id = due.watch_id
      returning s.*
    )
    select c.organization_id, w.application_id, c.watch_id, w.slug, w.event, w.every, w.secrets, o.slug as organization,
      p.slug as project, a.slug as application, c.occurrence_id, c.began_at + w.every::interval as deadline,
      coalesce(c.began_at + w.every::interval <= now(), false) as is_over, c.error
    from claimed c
    join watches w on w.organization_id = c.organization_id and w.id = c.watch_id
    join applications a on a.organization_id = w.organization_id and a.id = w.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    join organizations o on o.id = w.organization_id`.execute(db);
  return rows;
}

/** Stores the id of a rehearsal before it is triggered. Returns when it has to be delivered; undefined: another process was faster. */
export async function beginRehearsal(
  db: Db,
  organizationId: number,
  watchId: number,
  id: string,
): Promise<Date | undefined> {
  const { rows } = await sql<{ deadline: Date }>`
    update watch_states s set occurrence_id = ${id}, began_at = now() from watches w
    where s.organization_id = ${organizationId} and s.watch_id = ${watchId} and s.occurrence_id is null
      and s.due_at is not null and w.organization_id = s.organization_id and w.id = s.watch_id
    returning now() + w.every::interval as deadline`.execute(db);
  return rows[0]?.deadline;
}

export interface Rehearsal {
  /** The state of the occurrence; null: it is not stored. */
  status: string;
  outcome: string | null;
  sent: number;
  completed_at: Date | null;
}

export async function findRehearsal(db: Db, organizationId: number, id: string): Promise<Rehearsal | undefined> {
  return db
    .selectFrom('occurrences')
    .select(['status', 'outcome', 'sent', 'completed_at'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

interface Look {
  afterMs: number;
  /** Why the call of the URL failed; undefined: the state is left unchanged. */
  error?: string;
  /** When the rehearsal was delivered. */
  deliveredAt?: Date;
}

/** Looks at a rehearsal again after some time, but not later than its deadline. */
export async function postponeWatch(
  db: Db,
  organizationId: number,
  watchId: number,
  id: string,
  { afterMs, error, deliveredAt }: Look,
): Promise<void> {
  await sql`
    update watch_states s set due_at = least(now() + ${afterMs} * interval '1 ms', s.began_at + w.every::interval),
      error = coalesce(${error ?? null}, s.error), delivered_at = coalesce(${deliveredAt ?? null}, s.delivered_at),
      failing_since = case when ${error ?? null}::text is null then s.failing_since else coalesce(s.failing_since, now()) end
    from watches w
    where s.organization_id = ${organizationId} and s.watch_id = ${watchId} and s.occurrence_id = ${id}
      and s.due_at is not null and w.organization_id = s.organization_id and w.id = s.watch_id`.execute(db);
}

interface End {
  /** Null: it succeeded. */
  error: string | null;
  deliveredAt?: Date;
  isPinged?: boolean;
}

/** Ends a rehearsal. The next one begins a whole interval after it did, or now if that has passed. */
export async function endRehearsal(
  db: Db,
  organizationId: number,
  watchId: number,
  id: string,
  { error, deliveredAt, isPinged = false }: End,
): Promise<void> {
  await sql`
    update watch_states s set occurrence_id = null, began_at = null,
      due_at = greatest(now(), s.began_at + w.every::interval), error = ${error},
      failing_since = case when ${error}::text is not null then coalesce(s.failing_since, now()) end,
      delivered_at = coalesce(${deliveredAt ?? null}, s.delivered_at),
      pinged_at = case when ${isPinged} then now() else s.pinged_at end
    from watches w
    where s.organization_id = ${organizationId} and s.watch_id = ${watchId} and s.occurrence_id = ${id}
      and s.due_at is not null and w.organization_id = s.organization_id and w.id = s.watch_id`.execute(db);
}

/**
 * The state of a watch `w` with the row `s`. Silent: no rehearsal was delivered for two intervals, whatever the reason; also when no
 * process looks after it, so that it is computed when it is read.
 */
const state = sql<WatchState>`
  case when not w.enabled then 'off'
    when coalesce(s.delivered_at, w.updated_at) < now() - 2 * w.every::interval then 'silent'
    when s.error is not null then 'failing'
    when s.delivered_at is null then 'new'
    else 'ok' end`;

export interface WatchView {
  project: string;
  application: string;
  slug: string;
  event: string;
  every: string;
  state: WatchState;
  /** Whether there is a URL. */
  pings: boolean;
  delivered_at: Date | null;
  pinged_at: Date | null;
  failing_since: Date | null;
  error: string | null;
}

const maxListed = 500;

/** Returns watches in order of creation. */
export async function listWatchViews(db: Db, organizationId: number): Promise<WatchView[]> {
  const { rows } = await sql<WatchView>`
    select p.slug as project, a.slug as application, w.slug, w.event, w.every, ${state} as state,
      w.secrets is not null as pings, s.delivered_at, s.pinged_at, s.failing_since, s.error
    from watches w
    join watch_states s on s.organization_id = w.organization_id and s.watch_id = w.id
    join applications a on a.organization_id = w.organization_id and a.id = w.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where w.organization_id = ${organizationId} order by w.id limit ${maxListed}`.execute(db);
  return rows;
}

interface WatchSummary {
  state: WatchState;
  count: number;
  /** Path of the first. */
  first: string;
}

/** Counts the watches of the whole installation by state. */
export async function summarizeWatchesAcrossTenants(db: Db): Promise<WatchSummary[]> {
  const { rows } = await sql<WatchSummary>`
    select state, count(*)::int as count, min(path) as first from (
      select ${state} as state, concat_ws('/', o.slug, p.slug, a.slug, w.slug) as path from watches w
      join watch_states s on s.organization_id = w.organization_id and s.watch_id = w.id
      join applications a on a.organization_id = w.organization_id and a.id = w.application_id
      join projects p on p.organization_id = a.organization_id and p.id = a.project_id
      join organizations o on o.id = w.organization_id
    ) each group by 1 order by 1`.execute(db);
  return rows;
}
