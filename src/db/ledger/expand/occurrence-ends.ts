/**
 * Ends an occurrence before everything was sent: it is cancelled, acknowledged or resolved. Each is one transaction
 * that updates the occurrence first. Storing a run of a step locks the occurrence too, so the two are serialized.
 */
import type pg from 'pg';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { countText, endedText } from '../counts.ts';
import type { Cursor } from '../cursor.ts';
import { cancelText } from '../deliver/deliveries.ts';
import { queueOccurrenceUpdate } from '../deliver/message-updates.ts';
import { cancelDigestItems } from '../digests/digest-items.ts';
import { outstandingText, waitingList } from '../status-text.ts';
import { resolutionRun } from '../steps/steps.ts';
import {
  answerEventsText,
  completedColumns,
  completionEventsText,
  deliveryEventColumns,
  deliveryEventsText,
} from '../webhooks/events.ts';
import { recordUnexpanded, unknownCount } from './unexpanded-counts.ts';

/** Deliveries that a worker is just claiming are left to it: it checks the occurrence again before it sends. */
const stopDeliveries = (condition: string) => `
  with waiting as (
    select d.id from deliveries d
    where d.organization_id = $1 and d.occurrence_id = $2 and d.status in ${waitingList} ${condition}
    for update skip locked
  ), stopped as (
    update deliveries d set ${cancelText('$3')}, owner = null
    from waiting w, occurrences o
    where d.organization_id = $1 and d.occurrence_id = $2 and d.id = w.id and o.organization_id = $1 and o.id = $2
    returning ${deliveryEventColumns}, o.event_id, o.due_at as since
  ), ${countText('stopped')}, ${deliveryEventsText('stopped')}
  select count(*)::int as stopped, ${endedText} as ended from stopped`;

interface StopResult {
  stopped: number;
  /** The outcome of the occurrence, if it ended with it. */
  ended: string[];
}

// Digest items are cancelled afterwards, one by one: a digest must be locked before any occurrence.
const stopAll = stopDeliveries('and d.digest_id is null');
const stopSteps = stopDeliveries('and d.step > 0');

/** Makes workers check their messages of the occurrence again: see `handleStop` in engine/run.ts. */
const announceStop = `pg_notify('belfry_stop', $1::bigint || ' ' || $2::uuid)`;

async function endSteps(client: pg.PoolClient, organizationId: number, id: string, reason: string): Promise<void> {
  await client.query(
    `update steps set status = 'ended', reason = $3, owner = null, ended_at = now()
     where organization_id = $1 and occurrence_id = $2 and status = 'waiting'`,
    [organizationId, id, reason],
  );
}

/** Completes the occurrence if nothing is outstanding. */
async function completeIfOver(client: pg.PoolClient, organizationId: number, id: string): Promise<string[]> {
  const { rows } = await client.query<{ outcome: string }>(
    `with completed as (
      update occurrences o set status = 'completed', completed_at = now()
      where o.organization_id = $1 and o.id = $2 and o.status = 'sending' and o.escalating = 0
        and ${outstandingText('o')} <= 0
      returning ${completedColumns}, o.outcome
    ), ${completionEventsText('completed')}
    select outcome from completed`,
    [organizationId, id],
  );
  return rows.map(({ outcome }) => outcome);
}

interface CancelOptions {
  /** The actor. */
  by: string;
  /** Providers that can retract what was sent. */
  updatable: readonly string[];
  /** Whether recipients that were not expanded are counted. */
  counts: boolean;
}

/**
 * Cancels what is not sent yet, and queues the retraction of what was sent. Returns the number of deliveries cancelled; undefined
 * if the occurrence has already ended.
 */
export async function cancelOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { by, updatable, counts }: CancelOptions,
): Promise<StopResult | undefined> {
  const stopped = await inLedgerTransaction(pool, async client => {
    const { rows: changed } = await client.query<{ ended: string | null; cursor: Cursor | null; expanded: boolean }>(
      `with before as (
        select o.cursor, o.status = 'sending' as expanded from occurrences o
        where o.organization_id = $1 and o.id = $2 for update
      ), cancelled as (
        update occurrences o set cancelled_at = now(), cancelled_by = $3, owner = null, escalating = 0, awaits_acknowledgement = false,
          status = case when o.status = 'accepted' then 'completed' else 'sending' end, cursor = null,
          -- Recipients or steps that were to come are stopped; otherwise the deliveries say what was.
          reason = case when o.status = 'sending' and o.escalating = 0 then o.reason else 'cancelled' end,
          completed_at = case when o.status = 'accepted' then now() else o.completed_at end,
          unexpanded = case when o.status = 'sending' then o.unexpanded else ${unknownCount} end
        from before
        where o.organization_id = $1 and o.id = $2 and o.status in ('accepted', 'expanding', 'sending')
          and o.cancelled_at is null
        returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome, before.cursor,
          before.expanded
      ), ${completionEventsText('cancelled')}
      select outcome as ended, cursor, expanded, ${announceStop} from cancelled`,
      [organizationId, id, by],
    );
    if (!changed[0]) return undefined;
    const { cursor, expanded } = changed[0];
    if (counts && !expanded) await recordUnexpanded(client, organizationId, id, { count: 0, rest: { cursor } });
    await endSteps(client, organizationId, id, 'cancelled');
    const { rows } = await client.query<StopResult>(stopAll, [organizationId, id, 'cancelled']);
    const { stopped, ended } = rows[0]!;
    await queueOccurrenceUpdate(client, organizationId, id, { change: 'cancelled', by, updatable });
    const over = await completeIfOver(client, organizationId, id);
    return { stopped, ended: [...(changed[0].ended ? [changed[0].ended] : []), ...ended, ...over] };
  });
  if (!stopped) return undefined;
  const items = await cancelDigestItems(pool, organizationId, id);
  return { stopped: stopped.stopped + items.stopped, ended: [...stopped.ended, ...items.ended] };
}

/** Counts the deliveries of an occurrence that were cancelled, and those without an outcome. */
export async function countCancelled(
  pool: pg.Pool,
  organizationId: number,
  id: string,
): Promise<{ cancelled: number; outstanding: number }> {
  const { rows } = await pool.query<{ cancelled: number; outstanding: number }>(
    `select o.cancelled, ${outstandingText('o')} as outstanding from occurrences o
     where o.organization_id = $1 and o.id = $2`,
    [organizationId, id],
  );
  return rows[0] ?? { cancelled: 0, outstanding: 0 };
}

/**
 * Yields all occurrences with something left to send that were triggered before this id, in pages. It uses the indexes
 * of the queues and one snapshot, whatever changes meanwhile.
 */
export async function* listUnfinishedAcrossTenants(
  pool: pg.Pool,
  before: string,
  pageSize: number,
): AsyncGenerator<{ organization_id: number; id: string }[]> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    await client.query(
      `declare unfinished no scroll cursor for
       select organization_id, id from occurrences where status in ('accepted', 'expanding') and id < $1
       union
       select organization_id, occurrence_id from steps where status = 'waiting' and occurrence_id < $1
       union
       select organization_id, occurrence_id from deliveries
       where status in ${waitingList} and occurrence_id < $1`,
      [before],
    );
    for (;;) {
      const { rows } = await client.query<{ organization_id: number; id: string }>(`fetch ${pageSize} from unfinished`);
      if (rows.length === 0) break;
      yield rows;
    }
    await client.query('commit');
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Who acknowledged and resolved the occurrence, and when; null: no one yet. */
interface AnswerState {
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
}

export interface AnswerResult extends AnswerState {
  /** Whether this answer was the first: a later one has no effect. */
  isFirst: boolean;
  /** The number of deliveries cancelled. */
  cancelled: number;
  /** Milliseconds from the trigger to the answer. */
  ms: number;
  /** The outcome of the occurrence, if it ended with it. */
  ended: string[];
}

const answerColumns = 'acknowledged_at, acknowledged_by, resolved_at, resolved_by';

/**
 * Ends all later steps, cancels pending deliveries of earlier ones, and queues the update of what was sent by one of the
 * providers in `updatable`. Returns undefined if there is no such occurrence.
 */
export async function acknowledgeOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  by: string,
  updatable: readonly string[],
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    reason: 'acknowledged',
    set: 'acknowledged_at = now(), acknowledged_by = $3',
    open: 'acknowledged_at is null and resolved_at is null and cancelled_at is null',
    by,
    updatable,
  });
}

/** Does the same, and notifies the recipients that these notifications have reached. */
export async function resolveOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  by: string,
  updatable: readonly string[],
  notify: { notificationId: number; priority: number }[],
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    reason: 'resolved',
    set: 'resolved_at = now(), resolved_by = $3',
    open: 'resolved_at is null and cancelled_at is null',
    by,
    updatable,
    andThen: client => planResolution(client, organizationId, id, notify),
  });
}

interface AnswerOptions {
  reason: 'acknowledged' | 'resolved';
  set: string;
  open: string;
  by: string;
  updatable: readonly string[];
  andThen?: (client: pg.PoolClient) => Promise<void>;
}

async function answer(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { reason, set, open, by, updatable, andThen }: AnswerOptions,
): Promise<AnswerResult | undefined> {
  return inLedgerTransaction(pool, async client => {
    const { rows } = await client.query<AnswerState & { ms: number }>(
      `with answered as (
        update occurrences o set ${set}, awaits_acknowledgement = false, escalating = 0
        where o.organization_id = $1 and o.id = $2 and ${open}
        returning o.organization_id, o.id, o.event_id, o.correlation_id, ${answerColumns},
          greatest(0, extract(epoch from now() - o.created_at) * 1000)::float8 as ms
      ), ${answerEventsText('answered', `occurrence.${reason}`)}
      select ${answerColumns}, ms, ${announceStop} from answered`,
      [organizationId, id, by],
    );
    const [changed] = rows;
    if (!changed) {
      const found = await client.query<AnswerState>(
        `select ${answerColumns} from occurrences where organization_id = $1 and id = $2`,
        [organizationId, id],
      );
      return found.rows[0] && { ...found.rows[0], isFirst: false, cancelled: 0, ms: 0, ended: [] };
    }
    await endSteps(client, organizationId, id, reason);
    const result = await client.query<StopResult>(stopSteps, [organizationId, id, reason]);
    const { stopped, ended } = result.rows[0]!;
    await queueOccurrenceUpdate(client, organizationId, id, { change: reason, by, updatable });
    await andThen?.(client);
    const over = await completeIfOver(client, organizationId, id);
    return { ...changed, isFirst: true, cancelled: stopped, ended: [...ended, ...over] };
  });
}

/** Plans one more run for the notifications whose earlier runs notified anyone. */
async function planResolution(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  notify: { notificationId: number; priority: number }[],
): Promise<void> {
  await client.query(
    `with planned as (
      insert into steps (organization_id, occurrence_id, notification_id, number, step, priority, due_at, began_at)
      select $1, $2, g.notification_id, ${resolutionRun}, 0, g.priority, now(), now()
      from unnest($3::bigint[], $4::smallint[]) as g (notification_id, priority)
      where exists (
        select from steps s where s.organization_id = $1 and s.occurrence_id = $2
          and s.notification_id = g.notification_id and s.number > 0 and s.messages > 0)
      on conflict do nothing returning 1
    ), reopened as (
      update occurrences o set escalating = (select count(*) from planned),
        status = case when o.status = 'completed' then 'sending' else o.status end, completed_at = null
      where o.organization_id = $1 and o.id = $2 and exists (select from planned)
    )
    select pg_notify('belfry_work', '') from planned limit 1`,
    [organizationId, id, notify.map(one => one.notificationId), notify.map(one => one.priority)],
  );
}
