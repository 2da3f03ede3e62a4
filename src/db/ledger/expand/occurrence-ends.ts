/**
 * Ends an occurrence before everything was sent: here it is cancelled; answers.ts acknowledges, snoozes and resolves it. Each is one
 * transaction that updates the occurrence first. Storing a run of a step locks the occurrence too, so the two are serialized.
 */
import type pg from 'pg';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { countText, endedText } from '../counts.ts';
import type { Cursor } from '../cursor.ts';
import { cancelText } from '../deliver/deliveries.ts';
import { queueOccurrenceUpdate } from '../deliver/message-updates.ts';
import { cancelDigestItems } from '../digests/digest-items.ts';
import { outstandingText, waitingList } from '../status-text.ts';
import {
  completedColumns,
  completionEventsText,
  deliveryEventColumns,
  deliveryEventsText,
} from '../webhooks/events.ts';
import { endHolds } from './holds.ts';
import { recordUnexpanded, unknownCount } from './unexpanded-counts.ts';

/** Deliveries that a worker is just claiming are left to it: it checks the occurrence again before it sends. */
export const stopDeliveries = (condition: string) => `
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

export interface StopResult {
  stopped: number;
  /** The outcome of the occurrence, if it ended with it. */
  ended: string[];
}

// Digest items are cancelled afterwards, one by one: a digest must be locked before any occurrence.
const stopAll = stopDeliveries('and d.digest_id is null');
export const stopSteps = stopDeliveries(`and (d.step > 0 or d.reason = 'silenced') and d.digest_id is null`);

/** Makes workers check their messages of the occurrence again: see `handleStop` in engine/run.ts. */
export const announceStop = `pg_notify('belfry_stop', $1::bigint || ' ' || $2::uuid)`;

const isUnbegun = `status = 'waiting' and base > 0 and number = base + 1 and cursor is null`;

/** A round that was planned and has not begun leaves nothing behind. */
export async function endSteps(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  reason: string,
): Promise<void> {
  await client.query(
    `with unbegun as (
       delete from steps where organization_id = $1 and occurrence_id = $2 and ${isUnbegun}
     )
     update steps set status = 'ended', reason = $3, owner = null, ended_at = now()
     where organization_id = $1 and occurrence_id = $2 and status = 'waiting' and not (${isUnbegun})`,
    [organizationId, id, reason],
  );
}

/** Completes the occurrence if nothing is outstanding. */
export async function completeIfOver(client: pg.PoolClient, organizationId: number, id: string): Promise<string[]> {
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
          acknowledged_until = null, snoozed_by = null,
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
    if (!expanded) await endHolds(client, organizationId, id, by);
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
