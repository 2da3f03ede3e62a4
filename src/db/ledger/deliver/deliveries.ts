/** The ledger of deliveries: stored, claimed, settled. Every change updates the occurrence's counts and the statistics. */
import type pg from 'pg';
import type { VariantName } from '../../../core/decision/guards/variants.ts';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import { keptAttempts } from '../../../core/history/retries.ts';
import { plainArray } from '../../connection/arrays.ts';
import { type RowParameters, rowParameters } from '../columns.ts';
import { countText, endedText } from '../counts.ts';
import { type LedgerTables, monthly, parentTables, queryMonthAcrossTenants } from '../months.ts';
import { stoppedText } from '../moving-text.ts';
import { type ClaimRequest, claimText, claimValues } from '../round-robin.ts';
import { isWaitingText } from '../status-text.ts';
import { deliveryEventColumns, deliveryEventsText } from '../webhooks/events.ts';

export interface NewDelivery {
  notification_id: number;
  version: number;
  channel_id: number;
  user_id: number;
  address: string | null;
  status: 'pending' | 'sending' | 'suppressed';
  reason: string | null;
  /** What exactly was decisive; null if the reason needs no detail. */
  detail: string | null;
  /** When a pending delivery is due; null: immediately. */
  due_at: Date | null;
  priority: number;
  /** The version of the user that was decided on. */
  user_version: number;
  /** The digest that it is an item of. */
  digest_id: string | null;
  /** The number of the step's run; absent: its notification has no steps. */
  step?: number;
  /** The variant of the message; absent: there is one. */
  variant?: VariantName;
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
  /** When the time for retries began; null: nothing has failed yet. */
  retry_since: Date | null;
  priority: number;
  user_version: number | null;
  /** The digest that it carries. */
  digest_id: string | null;
  /** The number of the step's run; 0: no steps; -1: the message that the occurrence is resolved. */
  step: number;
  /** The variant of the message; null: there is one. */
  variant: VariantName | null;
  created_at: Date;
  /** When it was last released from a pause or quiet hours, or replayed; null if it never waited. */
  released_at: Date | null;
  /** Whether it was held by a pause that ended with everything it held being dropped. */
  is_dropped: boolean;
  /** Whether it waited after it was decided: for personal rules, quiet hours, a silence or a pause. */
  has_waited: boolean;
  /** Whether the response to an earlier attempt was lost after the message was handed over. */
  may_have_arrived: boolean;
  /** The lease under which it was claimed. */
  owner: number;
}

/** SQL text: whether the response to an attempt of a delivery `d` was lost after the message was handed over. */
export const mayHaveArrivedText = `coalesce(d.failed_attempts @> '[{"outcome":"unknown"}]', false)`;

/** SQL text: ends a delivery `d` as cancelled, or as unknown if it may have arrived. */
export function cancelText(reason: string): string {
  return `status = case when ${mayHaveArrivedText} then 'unknown' else 'cancelled' end,
    reason = case when ${mayHaveArrivedText} then 'unknown.earlier' else ${reason} end`;
}

/**
 * SQL text: the occurrence as in the index `deliveries_once`. Only statements that use this expression use that index:
 * for the plain column, the planner preferred it where the primary key is far better.
 */
export const occurrenceInOnce = `nullif(occurrence_id, '00000000-0000-0000-0000-000000000000')`;
/** SQL text: the target as in the same index. */
export const addressInOnce = `coalesce(address, '#' || user_id)`;

const claimed = `d.organization_id, d.occurrence_id, d.id, d.notification_id, d.version, d.channel_id, d.user_id,
  d.address, d.attempts, d.provider_index, d.provider_attempts, d.priority, d.user_version, d.step, d.variant, d.digest_id,
  d.created_at, d.released_at, d.retry_since, d.owner, d.reason is not distinct from 'dropped' as is_dropped,
  d.released_at is not null or coalesce(d.reason in ('reach.later', 'quiet_hours', 'silenced'), false) as has_waited,
  ${mayHaveArrivedText} as may_have_arrived`;

/** SQL text: begins an attempt of a delivery `d`. */
const sending = `status = 'sending', attempts = d.attempts + 1, provider_attempts = d.provider_attempts + 1`;

const claim = {
  name: 'claim_deliveries',
  text: claimText({
    queue: 'deliveries',
    alias: 'd',
    key: ['organization_id', 'occurrence_id', 'id'],
    set: sending,
    returning: claimed,
  }),
};

/** Claims due deliveries. The claim is committed before anything is sent. */
export async function claimDeliveriesAcrossTenants(pool: pg.Pool, request: ClaimRequest): Promise<Delivery[]> {
  const { rows } = await pool.query<Delivery>({ ...claim, values: claimValues(request) });
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
      where ${isWaitingText('d')} and d.due_at = given.due_at and d.organization_id <> all(${stoppedText})
      for update of d skip locked
    )
    update deliveries d set owner = $1, ${sending}
    from picked p
    where d.organization_id = p.organization_id and d.occurrence_id = p.occurrence_id and d.id = p.id
    returning ${claimed}`,
};

/** Claims these deliveries before they are due, unless they were changed since they got this due time. */
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

/**
 * Returns deliveries that this worker has claimed without knowing, because the response to the claim was lost. None of
 * them was sent.
 */
export async function listClaimedAcrossTenants(
  pool: pg.Pool,
  owner: number,
  inFlightIds: number[],
): Promise<Delivery[]> {
  const { rows } = await pool.query<Delivery>({ ...listClaimed, values: [owner, inFlightIds] });
  return rows;
}

/** The next state of a delivery in status `sending`. */
export interface Settlement {
  organization_id: number;
  occurrence_id: string;
  id: number;
  /** The digest that it carries: an end of the carrier is an end of all items. */
  digest_id: string | null;
  /** The attempt that this is the outcome of: a late outcome has no effect. */
  attempts: number;
  /** False when no attempt was made after all: then it does not count. */
  tried: boolean;
  status: 'sent' | 'retrying' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown' | 'pending';
  reason: string | null;
  detail: string | null;
  provider: string | null;
  provider_message_id: string | null;
  provider_index: number;
  provider_attempts: number;
  /** `infinity` for deliveries that are held. */
  due_at: Date | 'infinity' | null;
  /**
   * The render snapshot and the version of the user that it was rendered from; null when it was not rendered, or the
   * user has not changed.
   */
  snapshot_id: string | null;
  user_version: number | null;
  /** When the provider was called, and for how long; null when it was not. */
  attempt: { began_at: Date; ms: number } | null;
  /** The event of the occurrence, for the statistics; null when the occurrence is gone. */
  event_id: number | null;
  /** When the latency begins; null when it is not counted. */
  since: Date | null;
}

const maxKept = keptAttempts.first + keptAttempts.last;

/** SQL text: the failed attempts of a delivery `d` and another one. One with an unknown outcome is kept, if there was any. */
export function addAttemptText(at: string, provider: string, outcome: string, detail: string, ms: string): string {
  const { first } = keptAttempts;
  return `case when jsonb_array_length(d.failed_attempts) >= ${maxKept}
      then d.failed_attempts - case when d.failed_attempts #>> '{${first},outcome}' = 'unknown' then ${first + 1} else ${first} end
      else coalesce(d.failed_attempts, '[]') end ||
    jsonb_build_array(jsonb_build_object(
      'at', ${at}, 'provider', ${provider}, 'outcome', ${outcome}, 'detail', ${detail}, 'ms', ${ms}))`;
}

export const settlementRows: RowParameters<Settlement> = rowParameters<Settlement>({
  organization_id: ['bigint', one => one.organization_id],
  occurrence_id: ['uuid', one => one.occurrence_id],
  id: ['bigint', one => one.id],
  attempts: ['smallint', one => one.attempts],
  tried: ['boolean', one => one.tried],
  status: ['word', one => one.status],
  reason: ['word', one => one.reason],
  detail: ['text', one => one.detail],
  provider: ['word', one => one.provider],
  provider_message_id: ['text', one => one.provider_message_id],
  provider_index: ['smallint', one => one.provider_index],
  provider_attempts: ['smallint', one => one.provider_attempts],
  due_at: ['timestamptz', one => one.due_at],
  snapshot_id: ['uuid', one => one.snapshot_id],
  user_version: ['integer', one => one.user_version],
  event_id: ['bigint', one => one.event_id],
  since: ['timestamptz', one => one.since],
  attempt_ms: ['integer', one => one.attempt?.ms ?? null],
  began_at: ['timestamptz', one => one.attempt?.began_at ?? null],
});

/** The parameters of a statement that settles deliveries: the status `sending`, and `settlementRows`. */
interface SettlingParameters {
  status: string;
  rows: string;
}

// One statement per batch updates the deliveries, the counts of their occurrences (completed when nothing is
// outstanding) and the statistics of the hour, all in key order, so that two workers cannot deadlock. The status
// `sending` is a parameter: as a literal, it makes the planner read the whole index of deliveries being sent for each
// row (10 times slower).
export const settlingText = (
  { status, rows }: SettlingParameters,
  { deliveries }: LedgerTables = parentTables,
): string => `
      update ${deliveries} d set
        status = g.status, reason = g.reason,
        -- What kept it from being sent in time stays visible.
        detail = coalesce(g.detail, case when g.status = 'expired' then d.detail end), provider = coalesce(g.provider, d.provider),
        provider_message_id = coalesce(g.provider_message_id, d.provider_message_id),
        provider_index = g.provider_index, provider_attempts = g.provider_attempts,
        attempts = case when g.tried then d.attempts else d.attempts - 1 end,
        owner = null, due_at = coalesce(g.due_at, d.due_at),
        released_at = case when g.reason in ('quiet_hours', 'silenced') and g.due_at is not null then g.due_at else d.released_at end,
        retry_since = case when g.reason in ('quiet_hours', 'silenced') then null
          when g.status = 'retrying' and (g.tried or g.reason = 'provider.paused') then coalesce(d.retry_since, now())
          else d.retry_since end,
        snapshot_id = coalesce(g.snapshot_id, d.snapshot_id), user_version = coalesce(g.user_version, d.user_version),
        sent_at = case when g.status = 'sent' then now() else d.sent_at end,
        attempt_ms = coalesce(g.attempt_ms, d.attempt_ms),
        failed_attempts = case when g.attempt_ms is null or g.status = 'sent' then d.failed_attempts else
          ${addAttemptText('g.began_at', 'g.provider', `case when g.reason = 'unknown' then 'unknown' else 'failed' end`, 'g.detail', 'g.attempt_ms')} end
      from ${rows} as g (${settlementRows.names})
      where d.organization_id = g.organization_id and d.occurrence_id = g.occurrence_id and d.id = g.id
        and d.status = ${status} and d.attempts = g.attempts`;

const settle = monthly({
  name: 'settle_deliveries',
  text: tables => `
    with settled as (${settlingText({ status: '$1', rows: settlementRows.unnest(2) }, tables)}
      returning ${deliveryEventColumns}, g.event_id, g.since
    ), ${countText('settled', tables)}, ${deliveryEventsText('settled')}
    select count(*)::int as settled, ${endedText} as ended from settled`,
});

// The same for a run of sent deliveries of one occurrence with nearby ids, as in a fan-out. With a join or an array of
// ids, the planner, which expects one delivery per occurrence, reads all of them for each batch. A range of ids always
// uses the primary key. The ids are sorted, so that `width_bucket` finds each by binary search.
const settleSent = monthly({
  name: 'settle_sent',
  text: tables => `
    with settled as (
      update ${tables.deliveries} d set status = 'sent', reason = null, detail = null, provider = $4,
        provider_message_id = coalesce(($8::text[])[width_bucket(d.id, $5::bigint[])], d.provider_message_id),
        owner = null, sent_at = now(), snapshot_id = coalesce($7::uuid, d.snapshot_id),
        attempt_ms = ($13::integer[])[width_bucket(d.id, $5::bigint[])]
      where d.organization_id = $2 and d.occurrence_id = $3 and d.id between $9 and $10
        and ($5::bigint[])[width_bucket(d.id, $5::bigint[])] = d.id and d.status = $1 and d.attempts = $6
      returning ${deliveryEventColumns}, $11::bigint as event_id, $12::timestamptz as since
    ), ${countText('settled', tables)}, ${deliveryEventsText('settled')}
    select count(*)::int as settled, ${endedText} as ended from settled`,
});

/** Shorter runs are settled one by one. */
const minRunLength = 20;
const maxIdGap = 20;

export interface SettleResult {
  settled: number;
  /** Outcomes of occurrences that ended with it. */
  ended: OccurrenceOutcome[];
}

/**
 * Settles deliveries, one statement after the other: in parallel, statements could deadlock on the same occurrences and
 * statistics.
 */
export async function settleDeliveriesAcrossTenants(pool: pg.Pool, settlements: Settlement[]): Promise<SettleResult> {
  const groups = Map.groupBy(settlements, groupOf);
  const alone = groups.get('') ?? [];
  groups.delete('');
  const all: SettleResult = { settled: 0, ended: [] };
  const add = ({ settled, ended }: SettleResult) => {
    all.settled += settled;
    all.ended.push(...ended);
  };
  for (const run of [...groups.values()].flatMap(toRuns)) {
    if (run.length < minRunLength) alone.push(...run);
    else add(await settleRun(pool, run));
  }
  if (alone.length > 0) add(await settleAny(pool, alone));
  return all;
}

/** Splits deliveries into runs of ascending ids without wide gaps, because everything in between is read. */
function toRuns(members: Settlement[]): Settlement[][] {
  const runs: Settlement[][] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (const one of members.toSorted((a, b) => a.id - b.id)) {
    if (one.id - before > maxIdGap) runs.push([]);
    runs.at(-1)!.push(one);
    before = one.id;
  }
  return runs;
}

/** Returns the key of deliveries that can be settled as a run; empty: settled one by one. */
function groupOf(one: Settlement): string {
  if (one.status !== 'sent' || one.user_version !== null) return '';
  const { organization_id, occurrence_id, attempts, provider, snapshot_id, since } = one;
  return `${organization_id}/${occurrence_id}/${attempts}/${provider}/${snapshot_id}/${since?.getTime()}`;
}

async function settleAny(pool: pg.Pool, settlements: Settlement[]): Promise<SettleResult> {
  const ids = settlements.map(one => one.occurrence_id);
  const values = ['sending', ...settlementRows.values(settlements)];
  const { rows } = await queryMonthAcrossTenants<SettleResult>(pool, settle, ids, values);
  return rows[0]!;
}

async function settleRun(pool: pg.Pool, run: Settlement[]): Promise<SettleResult> {
  const { organization_id, occurrence_id, provider, attempts, snapshot_id, event_id, since } = run[0]!;
  const ids = run.map(one => one.id);
  const names = run.some(one => one.provider_message_id) ? run.map(one => one.provider_message_id) : null;
  const same = ['sending', organization_id, occurrence_id, provider, plainArray(ids), attempts, snapshot_id, names];
  const took = plainArray(run.map(one => one.attempt?.ms ?? null));
  const values = [...same, ids[0], ids.at(-1), event_id, since, took];
  const { rows } = await queryMonthAcrossTenants<SettleResult>(pool, settleSent, [occurrence_id], values);
  return rows[0]!;
}
