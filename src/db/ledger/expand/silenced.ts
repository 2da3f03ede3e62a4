/**
 * What silences hold. An occurrence or a run of a step that is silenced waits with a due time, the end of the silence, and is decided again
 * then. Ending a silence early makes what it holds due.
 */
import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import type { SilenceHit } from '../../../core/decision/silences.ts';
import type { Db } from '../../connection/pool.ts';
import { waitingList } from '../status-text.ts';

export interface Silenced extends Pick<SilenceHit, 'effect'> {
  organization_id: number;
  occurrence_id: string;
  silence_id: string;
  /** When it goes on. */
  until: Date;
}

// A silence may have been deleted since it was read; it is looked up by its key: with a join, the planner may read all of them. What was
// suppressed in part stays so.
const recordText = `
  insert into silenced_occurrences as x (organization_id, silence_id, occurrence_id, effect, until)
  select g.organization_id, g.silence_id, g.occurrence_id, max(g.effect), max(g.until)
  from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])
    as g (organization_id, silence_id, occurrence_id, effect, until)
  where (select s.id from silences s where s.organization_id = g.organization_id and s.id = g.silence_id) is not null
  group by 1, 2, 3 order by 1, 2, 3
  on conflict (organization_id, silence_id, occurrence_id) do update set until = greatest(x.until, excluded.until),
    effect = case when x.effect = 'suppressed' then x.effect else excluded.effect end`;

/** Records what silences hold or suppress. */
export async function recordSilencedAcrossTenants(
  pool: pg.Pool | pg.PoolClient,
  silenced: readonly Silenced[],
): Promise<void> {
  if (silenced.length === 0) return;
  await pool.query({
    name: 'record_silenced',
    text: recordText,
    values: [
      silenced.map(one => one.organization_id),
      silenced.map(one => one.silence_id),
      silenced.map(one => one.occurrence_id),
      silenced.map(one => one.effect),
      silenced.map(one => one.until),
    ],
  });
}

/** A run of a step that waits for the end of a silence. */
interface SilencedRun {
  organization_id: number;
  occurrence_id: string;
  notification_id: number;
  number: number;
}

// The occurrence's time counts when its messages are checked again before they are sent.
const extend = {
  name: 'extend_silenced_steps',
  text: `
    with extended as (
      update steps s set began_at = s.began_at + (s.due_at - now())
      from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[]) as g (
        organization_id, occurrence_id, notification_id, number)
      where s.organization_id = g.organization_id and s.occurrence_id = g.occurrence_id
        and s.notification_id = g.notification_id and s.number = g.number and s.status = 'waiting' and s.due_at > now()
      returning s.organization_id, s.occurrence_id, s.began_at
    )
    update occurrences o set due_at = greatest(o.due_at, e.began_at) from extended e
    where o.organization_id = e.organization_id and o.id = e.occurrence_id and o.status = 'sending'`,
};

/** Moves the time after which an escalation gives up: while it is silent, it does not run. */
export async function extendSilencedAcrossTenants(client: pg.PoolClient, runs: readonly SilencedRun[]): Promise<void> {
  if (runs.length === 0) return;
  await client.query({
    ...extend,
    values: [
      runs.map(one => one.organization_id),
      runs.map(one => one.occurrence_id),
      runs.map(one => one.notification_id),
      runs.map(one => one.number),
    ],
  });
}

/** SQL text: makes due what waits for the end of silences, which `held` names. Another silence may hold it again. */
const releaseText = (condition: string) => `
  with held as (
    update silenced_occurrences x set until = now()
    where x.effect = 'held' and x.until > now() and ${condition}
    returning x.organization_id, x.occurrence_id
  ), occurrences_due as (
    update occurrences o set due_at = now() from held h
    where o.organization_id = h.organization_id and o.id = h.occurrence_id and o.status in ('accepted', 'expanding')
      and o.reason = 'silenced' and o.due_at > now() and o.due_at < 'infinity'
  ), steps_due as (
    update steps s set due_at = now(), began_at = s.began_at - (s.due_at - now()) from held h
    where s.organization_id = h.organization_id and s.occurrence_id = h.occurrence_id and s.status = 'waiting'
      and s.reason = 'silenced' and s.due_at > now()
  ), deliveries_due as (
    update deliveries d set due_at = now(), released_at = now(), reason = null from held h
    where d.organization_id = h.organization_id and d.occurrence_id = h.occurrence_id and d.status in ${waitingList}
      and d.reason = 'silenced' and d.due_at > now()
  )
  select count(*)::int as released, pg_notify('belfry_work', '') from held h where exists (
    select from occurrences o where o.organization_id = h.organization_id and o.id = h.occurrence_id
      and o.status <> 'completed' and coalesce(o.resolved_at, o.acknowledged_at, o.cancelled_at) is null)
  having count(*) > 0`;

/** Releases what a silence that was ended early holds. Returns the number of occurrences. */
export async function releaseSilenced(db: Db, organizationId: number, silenceId: string): Promise<number> {
  const text = releaseText('x.organization_id = $1 and x.silence_id = $2');
  const { rows } = await db.executeQuery<{ released: number }>(CompiledQuery.raw(text, [organizationId, silenceId]));
  return rows[0]?.released ?? 0;
}

const releaseLate = {
  name: 'release_silenced',
  text: releaseText(`(x.organization_id, x.silence_id) in (
    select s.organization_id, s.id from silences s
    where s.ended_by is not null and s.ends_at between now() - interval '2 minutes' and now())`),
};

/**
 * Releases what silences hold that were ended early in the last minutes. Workers call it regularly: one that did not know of the end yet
 * may have held something after it.
 */
export async function releaseSilencedAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseLate);
}
