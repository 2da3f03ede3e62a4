/**
 * Occurrences that wait for an approval. A hold is stored in the transaction that postpones its occurrence. Workers then count who would
 * get what, page by page, and someone decides. Every change of state locks the row and requires an open state, so that exactly one
 * decision wins.
 */
import { sql } from 'kysely';
import type pg from 'pg';
import type { CanaryFigures } from '../../../core/decision/guards/canary.ts';
import { type HoldState, openHoldStates } from '../../../core/decision/guards/guard.ts';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Db } from '../../connection/pool.ts';
import { lockLedger } from '../../connection/transaction.ts';
import { type Cursor, startCursor } from '../cursor.ts';
import { isGuardedText } from '../deliver/releases.ts';
import { guardMailsText } from '../guard-mails.ts';
import { stoppedText } from '../moving-text.ts';
import { outstandingText, waitingList } from '../status-text.ts';
import { completedColumns, completionEventsText, heldEventsText } from '../webhooks/events.ts';
import { unknownCount } from './unexpanded-counts.ts';

export interface NewHold {
  /** The guard that holds it. */
  kind: 'audience' | 'canary';
  /** Absent: the recipients are counted before someone decides. */
  state?: Extract<HoldState, 'waiting' | 'counting' | 'released'>;
  /** Audiences up to this size need no approval. */
  threshold: number;
  /** The largest audience so far; null: there was none. */
  largest: number | null;
  /** How long it waits for an approval, or for what becomes of its sample. */
  expiresMs: number;
  /** What became of the sample of a canary. */
  figures?: CanaryFigures[];
  /** Where the count of recipients starts; absent: at the first. */
  cursor?: Cursor;
}

/** SQL text: whether a hold is undecided. The index of open holds has exactly this list. */
const isOpenText = `state in (${openHoldStates.map(state => `'${state}'`).join(', ')})`;

/** Records that an occurrence is held, or what became of its canary, in the transaction that stores its page. */
export async function recordHold(
  client: pg.PoolClient,
  organizationId: number,
  { id, event_id }: { id: string; event_id: number },
  { kind, state = 'counting', threshold, largest, expiresMs, figures, cursor }: NewHold,
): Promise<void> {
  await client.query(
    `insert into holds as h (organization_id, occurrence_id, kind, event_id, threshold, largest, expires_at, state, figures, cursor,
       decided_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 millisecond', $8, $9, $10,
       case when $8 = 'released' then now() end)
     on conflict (organization_id, occurrence_id, kind) do update set held_at = now(), expires_at = excluded.expires_at,
       state = excluded.state, figures = excluded.figures, cursor = excluded.cursor, decided_at = excluded.decided_at
       where h.state = 'waiting'
     returning pg_notify('belfry_stop', $1::bigint || ' ' || $2::uuid)`,
    [
      ...[organizationId, id, kind, event_id, threshold, largest, expiresMs, state],
      ...[figures && JSON.stringify(figures), cursor && JSON.stringify(cursor)],
    ],
  );
}

/** Ends the hold of an occurrence that is cancelled, or the wait of its canary. */
export async function endHolds(client: pg.PoolClient, organizationId: number, id: string, by: string): Promise<void> {
  await client.query(
    `update holds set state = 'ended', decided_at = now(), decided_by = $3
     where organization_id = $1 and occurrence_id = $2 and (${isOpenText} or state = 'waiting')`,
    [organizationId, id, by],
  );
}

/** Who would get what. */
export interface HoldCounts {
  recipients: number;
  /** Messages by the slug of their channel. */
  messages: Record<string, number>;
  /** Messages that would not be sent, by reason. */
  left_out: Record<string, number>;
}

export interface HoldSample {
  /** Decides which recipients are samples: those with the lowest. */
  rank: string;
  notification: number;
  /** 0: not a user yet, and the trigger has the address. */
  user_id: number;
  email: string | null;
}

/** A claim that a worker has not finished within this time is free again. */
const claimSeconds = 60;
/** Claims of the same page without a result, after which the counts stay incomplete. */
const maxClaims = 3;

export interface ClaimedHold {
  organization_id: number;
  id: string;
  kind: string;
  event_id: number;
  threshold: number;
  cursor: Cursor | null;
  counts: Partial<HoldCounts>;
  samples: HoldSample[];
  /** Claims of this page, including this one. */
  claims: number;
  /** As text, which has microseconds: the worker that stores the page must still have this claim. */
  claimed_at: string;
  /** Whether approvers were mailed. */
  mailed: boolean;
  project_id: number;
  /** Null if the occurrence has been deleted. */
  context: JsonObject | null;
  options: JsonObject;
}

/** Claims a page to count; undefined if there is none. */
export async function claimHoldAcrossTenants(pool: pg.Pool): Promise<ClaimedHold | undefined> {
  const { rows } = await pool.query<ClaimedHold>({
    name: 'claim_hold',
    text: `
      with picked as (
        select organization_id, occurrence_id, kind from holds
        where ${isOpenText} and state = 'counting' and (claimed_at is null or claimed_at < now() - interval '${claimSeconds} s')
          and organization_id <> all(${stoppedText})
        order by held_at limit 1 for update skip locked
      )
      update holds h set claims = h.claims + 1, claimed_at = now()
      from picked p left join occurrences o on o.organization_id = p.organization_id and o.id = p.occurrence_id
      where h.organization_id = p.organization_id and h.occurrence_id = p.occurrence_id and h.kind = p.kind
      returning h.organization_id, h.occurrence_id as id, h.kind, h.event_id, h.threshold, h.cursor, h.counts, h.samples, h.claims,
        h.mailed, h.claimed_at::text, o.project_id, o.context, o.options`,
  });
  return rows[0];
}

export const isGivenUp = ({ claims }: Pick<ClaimedHold, 'claims'>): boolean => claims > maxClaims;

/** Identifies a hold in its organization. */
type HoldKey = Pick<ClaimedHold, 'id' | 'kind'>;

interface CountedPage {
  counts: HoldCounts;
  samples: HoldSample[];
  cursor: Cursor | null;
}

const stillClaimed = (organizationId: number, { id, kind, claimed_at }: ClaimedHold) => sql`
  h.organization_id = ${organizationId} and h.occurrence_id = ${id} and h.kind = ${kind} and h.state = 'counting'
    and h.claimed_at = ${claimed_at}::timestamptz`;

const countedColumns = ({ counts, samples, cursor }: CountedPage) => sql`
  counts = ${JSON.stringify(counts)}, samples = ${JSON.stringify(samples)}, cursor = ${cursor && JSON.stringify(cursor)}`;

/** SQL text of a CTE: mails approvers about the hold in `held(organization_id, id, mailed)`, once. */
const heldMailsText = (held: string) => `reported as (
      select organization_id, jsonb_build_object('kind', 'held', 'occurrence', id) as item from ${held} where not mailed
    ), ${guardMailsText('reported', 'holds')}`;

/** Approvers are mailed before the count ends if that takes longer. */
const countSeconds = 20;

/** Stores the sums up to a page that is not the last one. */
export async function storeCountedPage(
  db: Db,
  organizationId: number,
  claimed: ClaimedHold,
  page: CountedPage,
): Promise<void> {
  const isLong = sql.raw(`h.held_at < now() - interval '${countSeconds} s'`);
  await sql`
    with held as (
      update holds h set ${countedColumns(page)}, claims = 0, claimed_at = null, mailed = h.mailed or ${isLong}
      where ${stillClaimed(organizationId, claimed)}
      returning h.organization_id, h.occurrence_id as id, ${claimed.mailed}::boolean or not ${isLong} as mailed
    ), ${sql.raw(heldMailsText('held'))}
    select`.execute(db);
}

/**
 * Ends the count: the hold waits for a decision, and approvers and webhooks are notified. Returns false if another worker has taken
 * over.
 */
export async function storeHeld(
  db: Db,
  organizationId: number,
  claimed: ClaimedHold,
  page: CountedPage & { isCounted: boolean },
): Promise<boolean> {
  const { rows } = await sql`
    with held as (
      update holds h set ${countedColumns(page)}, state = 'held', is_counted = ${page.isCounted}, claimed_at = null,
        mailed = true
      where ${stillClaimed(organizationId, claimed)}
      returning h.organization_id, h.occurrence_id as id, h.event_id, h.kind, h.threshold, h.largest, h.counts, h.is_counted,
        h.expires_at, h.figures, ${claimed.mailed}::boolean as mailed
    ), ${sql.raw(heldEventsText('held'))}, ${sql.raw(heldMailsText('held'))}
    select from held`.execute(db);
  return rows.length > 0;
}

/** Releases an occurrence whose exact count needs no approval. */
export async function releaseCounted(
  db: Db,
  organizationId: number,
  claimed: ClaimedHold,
  page: CountedPage,
): Promise<void> {
  await db.transaction().execute(async trx => {
    await lockLedger(trx);
    const { numAffectedRows } = await sql`
      update holds h set ${countedColumns(page)}, state = 'released', is_counted = true, claimed_at = null, decided_at = now()
      where ${stillClaimed(organizationId, claimed)}`.execute(trx);
    if (Number(numAffectedRows) === 1) await expandApproved(trx, organizationId, claimed.id);
  });
}

export interface Decision {
  state: Extract<HoldState, 'approved' | 'rejected' | 'expired'>;
  by: string | null;
  note?: string | undefined;
  perSecond?: number | undefined;
}

interface DecidedHold {
  counts: Partial<HoldCounts>;
  is_counted: boolean;
}

/** Decides an open hold, in a transaction of the ledger. Returns undefined if it has been decided already. */
async function decideHold(
  db: Db,
  organizationId: number,
  { id, kind }: HoldKey,
  { state, by, note = '', perSecond }: Decision,
): Promise<DecidedHold | undefined> {
  const { rows } = await sql<DecidedHold>`
    update holds set state = ${state}, decided_at = now(), decided_by = ${by}, note = nullif(${note}, ''),
      per_second = ${perSecond ?? null}, claimed_at = null
    where organization_id = ${organizationId} and occurrence_id = ${id} and kind = ${kind} and ${sql.raw(isOpenText)}
    returning counts, is_counted`.execute(db);
  return rows[0];
}

/** Approves: the occurrence is expanded from its start. Returns false if it was decided or has ended meanwhile. */
export async function approveHold(
  db: Db,
  organizationId: number,
  key: HoldKey,
  by: string,
  perSecond?: number,
): Promise<boolean> {
  await lockLedger(db);
  const decided = await decideHold(db, organizationId, key, { state: 'approved', by, perSecond });
  return decided !== undefined && expandApproved(db, organizationId, key.id, perSecond);
}

/** Makes a guarded occurrence due, page by page, without another check of its audience. */
async function expandApproved(db: Db, organizationId: number, id: string, perSecond?: number): Promise<boolean> {
  const pace = perSecond === undefined ? {} : { pace: { perSecond, next: 0 } };
  const cursor: Cursor = { ...startCursor, isApproved: true, ...pace };
  // The others of a canary, not the sample again.
  const canary = sql`case when o.cursor -> 'canary' is null then '{}' else jsonb_build_object('canary', o.cursor -> 'canary') end`;
  const { rows } = await sql`
    with due as (
      update occurrences o set status = 'expanding', cursor = ${JSON.stringify(cursor)}::jsonb || ${canary}, due_at = now(), reason = null, owner = null
      where o.organization_id = ${organizationId} and o.id = ${id} and o.status in ('accepted', 'expanding')
        and o.due_at = 'infinity' and ${sql.raw(isGuardedText('o'))}
      returning 1
    )
    select pg_notify('belfry_work', '') from due`.execute(db);
  return rows.length > 0;
}

/**
 * Ends the occurrence of an open hold with no message sent but those of a sample, whose retries end with a rejection. Returns its outcome,
 * null while messages of the sample have none; undefined if it was decided or has ended meanwhile. How many messages were not prepared is
 * known if the count was complete.
 */
export async function endHeld(
  db: Db,
  organizationId: number,
  key: HoldKey,
  decision: Decision & { state: 'rejected' | 'expired' },
): Promise<OccurrenceOutcome | null | undefined> {
  await lockLedger(db);
  const decided = await decideHold(db, organizationId, key, decision);
  if (!decided) return undefined;
  const { messages = {}, left_out = {} } = decided.counts;
  const total = [...Object.values(messages), ...Object.values(left_out)].reduce((sum, count) => sum + count, 0);
  const isRejected = decision.state === 'rejected';
  const isOver = sql.raw(`${outstandingText('o')} <= 0`);
  const { rows } = await sql<{ outcome: OccurrenceOutcome | null; cursor: Cursor | null }>`
    with before as (
      select o.cursor from occurrences o where o.organization_id = ${organizationId} and o.id = ${key.id} for update
    ), ended as (
      update occurrences o set status = case when ${isOver} then 'completed' else 'sending' end,
        completed_at = case when ${isOver} then now() end, cursor = null, owner = null,
        reason = ${`guard.${decision.state}`}, unexpanded = ${decided.is_counted ? total : unknownCount}::integer,
        cancelled_at = case when ${isRejected} then now() end, cancelled_by = case when ${isRejected} then ${decision.by} end
      from before
      where o.organization_id = ${organizationId} and o.id = ${key.id} and o.status in ('accepted', 'expanding')
        and ${sql.raw(isGuardedText('o'))}
      returning ${sql.raw(completedColumns)}, case when o.status = 'completed' then o.outcome end as outcome, before.cursor
    ), reported as (
      select organization_id, jsonb_build_object('kind', 'expired', 'occurrence', id) as item from ended where ${!isRejected}::boolean
    ), ${sql.raw(completionEventsText('ended'))}, ${sql.raw(guardMailsText('reported', 'holds'))}
    select outcome, cursor from ended`.execute(db);
  const [ended] = rows;
  if (!ended) return undefined;
  if (!decided.is_counted) await countLater(db, organizationId, key.id, ended.cursor);
  if (isRejected && ended.outcome === null) await hurryDeliveries(db, organizationId, key.id);
  return ended.outcome;
}

/** Makes messages of a cancelled occurrence due: each is cancelled when it is claimed. */
async function hurryDeliveries(db: Db, organizationId: number, id: string): Promise<void> {
  await sql`
    with due as (
      update deliveries set due_at = now() where organization_id = ${organizationId} and occurrence_id = ${id}
        and status in ${sql.raw(waitingList)} and digest_id is null
      returning 1
    )
    select pg_notify('belfry_work', '') from due limit 1`.execute(db);
}

/** Queues the count of recipients that was not complete, from a cursor on. */
async function countLater(db: Db, organizationId: number, id: string, cursor: Cursor | null): Promise<void> {
  await sql`
    insert into unexpanded_counts (organization_id, occurrence_id, cursor)
    values (${organizationId}, ${id}, ${cursor && JSON.stringify(cursor)})
    on conflict do nothing returning pg_notify('belfry_stop', ${`${organizationId} ${id}`})`.execute(db);
}

/** Lists open holds that were not decided in time, oldest first. */
export async function listExpiredHoldsAcrossTenants(
  pool: pg.Pool,
  max: number,
): Promise<(HoldKey & { organization_id: number })[]> {
  const { rows } = await pool.query<HoldKey & { organization_id: number }>({
    name: 'expired_holds',
    text: `select organization_id, occurrence_id as id, kind from holds
      where ${isOpenText} and expires_at <= now() and organization_id <> all(${stoppedText}) order by held_at limit $1`,
    values: [max],
  });
  return rows;
}

/** Ends the holds of occurrences that have ended in another way, such as by their own expiry. */
export async function endHoldsOfEndedAcrossTenants(pool: pg.Pool): Promise<void> {
  const isOver = `not exists (
        select from occurrences o
        where o.organization_id = h.organization_id and o.id = h.occurrence_id and o.status in ('accepted', 'expanding'))`;
  await pool.query({
    name: 'end_holds_of_ended',
    text: `with waiting as (
        update holds h set state = 'ended', decided_at = now() where h.state = 'waiting' and ${isOver}
      )
      update holds h set state = 'ended', decided_at = now() where h.${isOpenText} and ${isOver}`,
  });
}

/** Deletes decided holds whose occurrence has been removed by retention. */
export async function deleteOldHoldsAcrossTenants(db: Db): Promise<void> {
  await sql`
    delete from holds h where not (h.${sql.raw(isOpenText)}) and h.held_at < now() - interval '1 day' and not exists (
      select from occurrences o where o.organization_id = h.organization_id and o.id = h.occurrence_id)`.execute(db);
}
