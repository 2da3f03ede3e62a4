/**
 * Releases work that is held by a pause: when the pause ends, and when the work expires during it; and messages that wait for a
 * provider, when it is back.
 */
import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { guardReasons } from '../../../core/decision/guards/guard.ts';
import { priorities } from '../../../core/trigger.ts';
import { isPausedText, type Pausable } from '../../configuration/pauses.ts';
import type { Db } from '../../connection/pool.ts';
import { hasStatusText, waitingList } from '../status-text.ts';

/** SQL text: whether an occurrence waits for an approval, which the end of a pause does not replace. */
export const isGuardedText = (occurrence: string): string =>
  `coalesce(${occurrence}.reason in (${guardReasons.map(reason => `'${reason}'`).join()}), false)`;

/** SQL text: held occurrences and deliveries that are no longer paused, of all organizations or of one. */
const freeText = (organization?: string) => `free_occurrences as (
      select o.organization_id, o.id, o.priority from occurrences o
      where o.status in ('accepted', 'expanding') and o.due_at = 'infinity'
        ${organization ? `and o.organization_id = ${organization}` : ''} and not ${isPausedText('o')}
        and not ${isGuardedText('o')}
    ), free_deliveries as (
      select d.organization_id, d.occurrence_id, d.id, d.priority from deliveries d
      where d.status = 'pending' and d.due_at = 'infinity'
        ${organization ? `and d.organization_id = ${organization}` : ''} and not exists (
        select from channels c
        where c.organization_id = d.organization_id and c.id = d.channel_id and (c.paused_at is not null
          or c.bulk_paused_at is not null and d.reason = 'channel.bulk_paused'))
      and not exists (
        select from occurrences o
        where o.organization_id = d.organization_id and o.id = d.occurrence_id and ${isPausedText('o')})
    )`;

/**
 * SQL text: makes free work due, all at once or, with the text of a rate, so many per second: messages first, urgent ones before
 * others.
 */
const releaseText = (organization?: string, rate?: string) => {
  const numbered = (key: string, before: string) =>
    rate
      ? `now() + (row_number() over (order by priority, ${key}) - 1 + ${before}) / ${rate}::float8 * interval '1 second'`
      : 'now()';
  return `
    with ${freeText(organization)}, occurrences_due as (
      update occurrences o set due_at = f.due_at, reason = null from (
        select organization_id, id, ${numbered('id', '(select count(*) from free_deliveries)')} as due_at from free_occurrences
      ) f
      where o.organization_id = f.organization_id and o.id = f.id and o.due_at = 'infinity'
      returning 1
    ), deliveries_due as (
      update deliveries d set due_at = f.due_at, released_at = now(), retry_since = null, reason = null from (
        select organization_id, occurrence_id, id, ${numbered('id', '0')} as due_at from free_deliveries
      ) f
      where d.organization_id = f.organization_id and d.occurrence_id = f.occurrence_id and d.id = f.id
        and d.due_at = 'infinity'
      returning 1
    ), released as (
      select (select count(*) from occurrences_due) + (select count(*) from deliveries_due) as released
    )
    select released::int, case when released > 0 then pg_notify('belfry_work', '') end from released`;
};

/** Releases held work and returns how much it was. `perSecond` limits how much of it is due in each second. */
export async function releasePaused(db: Db, organizationId: number, perSecond?: number): Promise<number> {
  const statement =
    perSecond === undefined
      ? CompiledQuery.raw(releaseText('$1'), [organizationId])
      : CompiledQuery.raw(releaseText('$1', '$2'), [organizationId, perSecond]);
  const { rows } = await db.executeQuery<{ released: number }>(statement);
  return rows[0]!.released;
}

/** What waits because of a pause: held already, or due and about to be. What is scheduled for later is not. */
const waitsText = (alias: string) =>
  `${alias}.organization_id = $1 and ${alias}.priority in (${[...priorities.keys()].join()})
    and (${alias}.due_at <= now() or ${alias}.due_at = 'infinity')`;

const dropDeliveries = (condition: string) => `
    update deliveries d set reason = 'dropped', due_at = now() from occurrences o
    where d.status in ${waitingList} and ${waitsText('d')} and d.digest_id is null
      and o.organization_id = $1 and o.id = d.occurrence_id and ${condition} and not ${isPausedText('o')}
    returning d.occurrence_id`;

/**
 * Drops what waits because of a pause that has just ended, unless another pause holds it: workers end it as cancelled. Returns
 * how many messages and how many occurrences without messages yet. Messages that a worker is sending are not dropped.
 */
export async function dropPaused(
  db: Db,
  organizationId: number,
  { noun, id }: { noun: Pausable; id: number | string },
  by: string,
): Promise<{ messages: number; occurrences: number }> {
  const text =
    noun === 'channel'
      ? `with messages as (${dropDeliveries('d.channel_id = $2')} )
        select (select count(*)::int from messages) as messages, 0 as occurrences, pg_notify('belfry_work', '')`
      : `with messages as (${dropDeliveries(`o.${noun}_id = $2`)}
        ), begun as (
          update occurrences o set cancelled_at = now(), cancelled_by = $3
          where o.organization_id = $1 and o.id in (select occurrence_id from messages) and o.status = 'sending'
            and o.cancelled_at is null
        ), dropped as (
          update occurrences o set cancelled_at = now(), cancelled_by = $3, due_at = now()
          where o.status in ('accepted', 'expanding') and ${waitsText('o')} and o.${noun}_id = $2
            and not ${isPausedText('o')} and not ${isGuardedText('o')}
          returning 1
        )
        select (select count(*)::int from messages) as messages, (select count(*)::int from dropped) as occurrences,
          pg_notify('belfry_work', '')`;
  const values = noun === 'channel' ? [organizationId, id] : [organizationId, id, by];
  const { rows } = await db.executeQuery<{ messages: number; occurrences: number }>(CompiledQuery.raw(text, values));
  return rows[0]!;
}

const releaseExpired = {
  name: 'release_expired',
  text: `
    with occurrences_due as (
      update occurrences set due_at = now()
      where status in ('accepted', 'expanding') and due_at = 'infinity' and expires_at <= now()
      returning 1
    ), deliveries_due as (
      update deliveries d set due_at = now() from occurrences o
      where d.status = 'pending' and d.due_at = 'infinity' and o.organization_id = d.organization_id
        and o.id = d.occurrence_id and o.expires_at <= now()
      returning 1
    )
    select pg_notify('belfry_work', '') from (
      select from occurrences_due union all select from deliveries_due limit 1
    ) released`,
};

/** Makes held work due that has expired, so that it ends during the pause: expiry is checked before the pause. */
export async function releaseExpiredAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseExpired);
}

const releaseAll = { name: 'release_paused', text: releaseText() };

/**
 * Releases held work of all organizations. Workers call it regularly: one that did not know of a resume yet may have
 * held a message after it.
 */
export async function releasePausedAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseAll);
}

/** Rows that are read at a time, and how many times: others of the organization may be due before those of the channel. */
const retriesPerPage = 1_000;
const maxPages = 100;

// Reads what is due within the longest delay between two attempts, in the order of the index of due work. The organization of the page,
// not the parameter, is compared: otherwise the planner may read all of the organization for each row.
const releaseRetriesPage = {
  name: 'release_retries',
  text: `
    with page as (
      select organization_id, occurrence_id, id, channel_id, status, reason, due_at from deliveries
      where status in ${waitingList} and priority = $3::smallint and organization_id = $1
        and due_at > coalesce($4::timestamptz, now()) and due_at <= now() + interval '1 hour'
      order by due_at limit ${retriesPerPage}
    ), chosen as (
      select d.organization_id, d.occurrence_id, d.id from page p
      join deliveries d on d.organization_id = p.organization_id and d.occurrence_id = p.occurrence_id and d.id = p.id
      where p.channel_id = $2 and p.status = 'retrying' and p.reason in ('provider.paused', 'provider.failed', 'unknown')
        and ${hasStatusText('d', 'retrying')}
      limit $5 for update of d skip locked
    ), released as (
      update deliveries d set due_at = now() from chosen c
      where d.organization_id = c.organization_id and d.occurrence_id = c.occurrence_id and d.id = c.id
      returning 1
    )
    select (select count(*)::int from page) as read, (select max(due_at) from page) as last, count(*)::int as released,
      case when count(*) > 0 then pg_notify('belfry_work', '') end
    from released`,
};

/**
 * Makes messages of a channel due that wait for their provider, most urgent first. Returns how many: at most `max`, if it is small.
 * Those that wait for their recipient, such as for a full mailbox, or longer than an hour because the provider asked for it, wait on.
 */
export async function releaseRetries(
  pool: pg.Pool,
  organizationId: number,
  channelId: number,
  max = Number.POSITIVE_INFINITY,
): Promise<number> {
  let released = 0;
  for (const priority of priorities.keys()) {
    let after: Date | null = null;
    for (let page = 0; page < maxPages && released < max; page++) {
      const values: unknown[] = [organizationId, channelId, priority, after, Math.min(max - released, retriesPerPage)];
      const { rows } = await pool.query<{ read: number; last: Date | null; released: number }>({
        ...releaseRetriesPage,
        values,
      });
      const { read, last, released: found } = rows[0]!;
      released += found;
      if (read < retriesPerPage) break;
      after = last;
    }
  }
  return released;
}
