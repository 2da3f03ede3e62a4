/** The ledger of messages: decided, claimed, settled. Every change keeps the occurrence's counts and the statistics. */
import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import type { OccurrenceOutcome } from '../core/outcome.ts';
import { plainArray } from './arrays.ts';
import { countText, endedText } from './counts.ts';
import type { Db } from './pool.ts';
import { waitingList } from './status-text.ts';
import { pickByTurns, type Turn, turnValues } from './turns.ts';
import { deliveryEventsText, toldColumns } from './webhook-events.ts';

export interface NewDelivery {
  notification_id: number;
  version: number;
  channel_id: number;
  user_id: number;
  address: string | null;
  status: 'pending' | 'sending' | 'suppressed';
  reason: string | null;
  /** What exactly decided; null where the reason says it all. */
  detail: string | null;
  /** When a pending one is due; null: at once. */
  due_at: Date | null;
  priority: number;
  /** Of the user, as it was decided. */
  user_version: number;
  /** The digest that it gathers in. */
  digest_id: string | null;
  /** The run of a step; absent: its notification has no steps. */
  step?: number;
}

export interface Delivery {
  organization_id: number;
  occurrence_id: string;
  id: number;
  notification_id: number;
  version: number;
  channel_id: number;
  user_id: number;
  address: string | null;
  attempts: number;
  provider_index: number;
  provider_attempts: number;
  priority: number;
  user_version: number | null;
  /** The digest that it carries. */
  digest_id: string | null;
  /** The run of a step that it belongs to; 0: none; -1: it tells that the occurrence is resolved. */
  step: number;
  created_at: Date;
}

/**
 * SQL text: the occurrence as the index `deliveries_once` has it. Only a statement that names it so is served by that index:
 * for the plain column the planner took it where the primary key is far better.
 */
export const occurrenceInOnce = `nullif(occurrence_id, '00000000-0000-0000-0000-000000000000')`;
/** The same of whom it goes to. */
export const addressInOnce = `coalesce(address, '#' || user_id)`;

const claimed = `d.organization_id, d.occurrence_id, d.id, d.notification_id, d.version, d.channel_id, d.user_id,
  d.address, d.attempts, d.provider_index, d.provider_attempts, d.priority, d.user_version, d.step, d.digest_id,
  d.created_at`;

const claim = {
  name: 'claim_deliveries',
  text: `
    with ${pickByTurns('deliveries', 'organization_id, occurrence_id, id')}
    update deliveries d set status = 'sending', owner = $8, attempts = d.attempts + 1,
      provider_attempts = d.provider_attempts + 1
    from picked p
    where d.organization_id = p.organization_id and d.occurrence_id = p.occurrence_id and d.id = p.id
    returning ${claimed}`,
};

/** The intent is on record, committed, before anything is sent. */
export async function claimDeliveriesAcrossTenants(pool: pg.Pool, turn: Turn): Promise<Delivery[]> {
  const { rows } = await pool.query<Delivery>({ ...claim, values: [...turnValues(turn), turn.owner] });
  return rows;
}

const claimThese = {
  name: 'claim_these_deliveries',
  text: `
    with picked as (
      select d.organization_id, d.occurrence_id, d.id
      from unnest($2::bigint[], $3::uuid[], $4::bigint[], $5::timestamptz[])
        as given (organization_id, occurrence_id, id, due_at)
      join deliveries d on d.organization_id = given.organization_id and d.occurrence_id = given.occurrence_id
        and d.id = given.id
      where d.status in ${waitingList} and d.due_at = given.due_at
      for update of d skip locked
    )
    update deliveries d set status = 'sending', owner = $1, attempts = d.attempts + 1,
      provider_attempts = d.provider_attempts + 1
    from picked p
    where d.organization_id = p.organization_id and d.occurrence_id = p.occurrence_id and d.id = p.id
    returning ${claimed}`,
};

/** Before they are due, unless somebody has touched them since they were given this due time. */
export async function claimTheseAcrossTenants(
  pool: pg.Pool,
  owner: number,
  these: { organization_id: number; occurrence_id: string; id: number; due_at: Date }[],
): Promise<Delivery[]> {
  const columns = (['organization_id', 'occurrence_id', 'id', 'due_at'] as const).map(name =>
    these.map(one => one[name]),
  );
  const { rows } = await pool.query<Delivery>({ ...claimThese, values: [owner, ...columns] });
  return rows;
}

const listClaimed = {
  name: 'list_claimed',
  text: `select ${claimed} from deliveries d where d.owner = $1 and d.status = 'sending' and d.id <> all($2::bigint[])`,
};

/** What this worker claimed without hearing of it: the answer to its claim was lost on the way. Nothing of it was sent. */
export async function listClaimedAcrossTenants(pool: pg.Pool, owner: number, known: number[]): Promise<Delivery[]> {
  const { rows } = await pool.query<Delivery>({ ...listClaimed, values: [owner, known] });
  return rows;
}

/** How a delivery goes on from `sending`. */
export interface Settlement {
  organization_id: number;
  occurrence_id: string;
  id: number;
  /** The digest that it carries: what ends it ends all items. */
  digest_id: string | null;
  /** The attempt that this is the outcome of: an outcome that comes too late settles nothing. */
  attempts: number;
  /** False where nothing was tried after all: the attempt does not count. */
  tried: boolean;
  status: 'sent' | 'retrying' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown' | 'pending';
  reason: string | null;
  detail: string | null;
  provider: string | null;
  provider_message_id: string | null;
  provider_index: number;
  provider_attempts: number;
  /** `infinity` for what is held. */
  due_at: Date | 'infinity' | null;
  /** What it was written with; null where it was not, or with what it was decided with. */
  wording: string | null;
  user_version: number | null;
  /** When the provider was called and how long that took; null where it was not. */
  attempt: { began_at: Date; ms: number } | null;
  /** For the statistics, of its occurrence: the event, and when it was due. Null where the occurrence is gone. */
  event_id: number | null;
  since: Date | null;
}

/** So many failed attempts are kept, the last ones. */
const keptAttempts = 20;

// One statement for a batch: the deliveries, the counts of their occurrences (complete when nothing is outstanding), and
// the statistics of the hour. Everything is touched in the order of its keys, so that two workers never wait crosswise.
// Values come as one array for each column: parsing rows of JSON took as long as the update itself. That they must be
// `sending` is said by a value: written out, it leads the planner to the index of all that is being sent, read whole for
// each row (80 ms a batch instead of 8).
export const settlingText = `
      update deliveries d set
        status = g.status, reason = g.reason, detail = g.detail, provider = coalesce(g.provider, d.provider),
        provider_message_id = coalesce(g.provider_message_id, d.provider_message_id),
        provider_index = g.provider_index, provider_attempts = g.provider_attempts,
        attempts = case when g.tried then d.attempts else d.attempts - 1 end,
        owner = null, due_at = coalesce(g.due_at, d.due_at),
        wording = coalesce(g.wording, d.wording), user_version = coalesce(g.user_version, d.user_version),
        sent_at = case when g.status = 'sent' then now() else d.sent_at end,
        attempt_ms = coalesce(g.attempt_ms, d.attempt_ms),
        failed_attempts = case when g.attempt_ms is null or g.status = 'sent' then d.failed_attempts else
          case when jsonb_array_length(d.failed_attempts) >= ${keptAttempts} then d.failed_attempts - 0
            else coalesce(d.failed_attempts, '[]') end ||
          jsonb_build_array(jsonb_build_object('at', g.began_at, 'provider', g.provider, 'outcome',
            case when g.status = 'unknown' then 'unknown' else 'failed' end, 'detail', g.detail, 'ms', g.attempt_ms)) end
      from unnest($2::bigint[], $3::uuid[], $4::bigint[], $5::smallint[], $6::boolean[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::smallint[], $13::smallint[], $14::timestamptz[], $15::uuid[],
        $16::integer[], $17::bigint[], $18::timestamptz[], $19::integer[], $20::timestamptz[]) as g (
        organization_id, occurrence_id, id, attempts, tried, status, reason, detail, provider, provider_message_id,
        provider_index, provider_attempts, due_at, wording, user_version, event_id, since, attempt_ms, began_at)
      where d.organization_id = g.organization_id and d.occurrence_id = g.occurrence_id and d.id = g.id
        and d.status = $1 and d.attempts = g.attempts`;

const settle = {
  name: 'settle_deliveries',
  text: `
    with settled as (${settlingText}
      returning ${toldColumns}, g.event_id, g.since
    ), ${countText('settled')}, ${deliveryEventsText('settled')}
    select count(*)::int as settled, ${endedText} as ended from settled`,
};

/** The parameters of `settlingText`. */
export function settlingValues(settlements: Settlement[]): unknown[] {
  const plain = (value: (one: Settlement) => string | number | boolean | null) => plainArray(settlements.map(value));
  return [
    'sending',
    plain(one => one.organization_id),
    plain(one => one.occurrence_id),
    plain(one => one.id),
    plain(one => one.attempts),
    plain(one => one.tried),
    plain(one => one.status),
    plain(one => one.reason),
    settlements.map(one => one.detail),
    plain(one => one.provider),
    settlements.map(one => one.provider_message_id),
    plain(one => one.provider_index),
    plain(one => one.provider_attempts),
    settlements.map(one => one.due_at),
    plain(one => one.wording),
    plain(one => one.user_version),
    plain(one => one.event_id),
    plain(one => one.since && `"${one.since.toISOString()}"`),
    plain(one => one.attempt?.ms ?? null),
    plain(one => one.attempt && `"${one.attempt.began_at.toISOString()}"`),
  ];
}

// The same for many of one occurrence that were sent alike, as they come of a fan-out: their ids are close together.
// Looked up one by one, by a join or an array, the planner, who expects an occurrence to have one delivery, rather reads
// all of them for each batch by whatever index (60 µs a row of 20,000). Between two ids the primary key is the best
// there is, at any size and by any statistics. The ids are in order, so that one is found by halving.
const settleSent = {
  name: 'settle_sent',
  text: `
    with settled as (
      update deliveries d set status = 'sent', reason = null, detail = null, provider = $4,
        provider_message_id = coalesce(($8::text[])[width_bucket(d.id, $5::bigint[])], d.provider_message_id),
        owner = null, sent_at = now(), wording = coalesce($7::uuid, d.wording),
        attempt_ms = ($13::integer[])[width_bucket(d.id, $5::bigint[])]
      where d.organization_id = $2 and d.occurrence_id = $3 and d.id between $9 and $10
        and ($5::bigint[])[width_bucket(d.id, $5::bigint[])] = d.id and d.status = $1 and d.attempts = $6
      returning ${toldColumns}, $11::bigint as event_id, $12::timestamptz as since
    ), ${countText('settled')}, ${deliveryEventsText('settled')}
    select count(*)::int as settled, ${endedText} as ended from settled`,
};

/** From so many on. */
const many = 20;
const widestGap = 20;

export interface Settled {
  settled: number;
  /** Outcomes of occurrences that came to their end with it. */
  ended: OccurrenceOutcome[];
}

/** One statement after the other: together, they could wait crosswise for the same occurrences and statistics. */
export async function settleDeliveriesAcrossTenants(pool: pg.Pool, settlements: Settlement[]): Promise<Settled> {
  const groups = Map.groupBy(settlements, groupOf);
  const alone = groups.get('') ?? [];
  groups.delete('');
  const all: Settled = { settled: 0, ended: [] };
  const add = ({ settled, ended }: Settled) => {
    all.settled += settled;
    all.ended.push(...ended);
  };
  for (const run of [...groups.values()].flatMap(toRuns)) {
    if (run.length < many) alone.push(...run);
    else add(await settleRun(pool, run));
  }
  if (alone.length > 0) add(await settleAny(pool, alone));
  return all;
}

/** In the order of their ids, without wide gaps: what lies between is read along. */
function toRuns(members: Settlement[]): Settlement[][] {
  const runs: Settlement[][] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (const one of members.toSorted((a, b) => a.id - b.id)) {
    if (one.id - before > widestGap) runs.push([]);
    runs.at(-1)!.push(one);
    before = one.id;
  }
  return runs;
}

/** Empty: settled by itself. */
function groupOf(one: Settlement): string {
  if (one.status !== 'sent' || one.user_version !== null) return '';
  return `${one.organization_id}/${one.occurrence_id}/${one.attempts}/${one.provider}/${one.wording}`;
}

async function settleAny(pool: pg.Pool, settlements: Settlement[]): Promise<Settled> {
  const { rows } = await pool.query<Settled>({ ...settle, values: settlingValues(settlements) });
  return rows[0]!;
}

async function settleRun(pool: pg.Pool, run: Settlement[]): Promise<Settled> {
  const { organization_id, occurrence_id, provider, attempts, wording, event_id, since } = run[0]!;
  const ids = run.map(one => one.id);
  const names = run.some(one => one.provider_message_id) ? run.map(one => one.provider_message_id) : null;
  const same = ['sending', organization_id, occurrence_id, provider, plainArray(ids), attempts, wording, names];
  const took = plainArray(run.map(one => one.attempt?.ms ?? null));
  const values = [...same, ids[0], ids.at(-1), event_id, since, took];
  const { rows } = await pool.query<Settled>({ ...settleSent, values });
  return rows[0]!;
}

/** SQL text: whatever waits for something that is not paused is due; of everybody, or of one organization. */
const releaseText = (organization?: string) => `
    with occurrences_due as (
      update occurrences o set due_at = now(), reason = null
      where o.status in ('accepted', 'expanding') and o.due_at = 'infinity'
        ${organization ? `and o.organization_id = ${organization}` : ''} and not exists (
        select from events e join applications a on a.organization_id = e.organization_id and a.id = e.application_id
        where e.organization_id = o.organization_id and e.id = o.event_id
          and (e.paused_at is not null or a.paused_at is not null))
      returning 1
    ), deliveries_due as (
      update deliveries d set due_at = now(), reason = null
      where d.status = 'pending' and d.due_at = 'infinity'
        ${organization ? `and d.organization_id = ${organization}` : ''} and not exists (
        select from channels c
        where c.organization_id = d.organization_id and c.id = d.channel_id and c.paused_at is not null)
      and not exists (
        select from occurrences o
        join events e on e.organization_id = o.organization_id and e.id = o.event_id
        join applications a on a.organization_id = e.organization_id and a.id = e.application_id
        where o.organization_id = d.organization_id and o.id = d.occurrence_id
          and (e.paused_at is not null or a.paused_at is not null))
      returning 1
    ), released as (
      select (select count(*) from occurrences_due) + (select count(*) from deliveries_due) as released
    )
    select released::int, case when released > 0 then pg_notify('belfry_work', '') end from released`;

/** Returns how many wait no longer. */
export async function releasePaused(db: Db, organizationId: number): Promise<number> {
  const released = CompiledQuery.raw(releaseText('$1'), [organizationId]);
  const { rows } = await db.executeQuery<{ released: number }>(released);
  return rows[0]!.released;
}

const releaseAll = { name: 'release_paused', text: releaseText() };

/** Workers do this now and then: one that had not yet heard of a resumption may have put a message aside after it. */
export async function releasePausedAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(releaseAll);
}
