/**
 * What ends an occurrence before everything of it was sent: cancelled, acknowledged, resolved. Each is one transaction that
 * changes the occurrence first: whoever stores a run of a step holds the occurrence too, so that of the two one comes first.
 */
import type pg from 'pg';
import { countText, endedText } from './counts.ts';
import { cancelDigestItems } from './digest-items.ts';
import { outstandingText, waitingList } from './status-text.ts';
import { resolutionRun } from './steps.ts';
import { inTransaction } from './transaction.ts';
import { answerEventsText, completedColumns, completionEventsText } from './webhook-events.ts';

/** Deliveries that a worker claims in this moment are left to it: it looks at the occurrence once more before it sends. */
const stopDeliveries = (condition: string) => `
  with waiting as (
    select d.id from deliveries d
    where d.organization_id = $1 and d.occurrence_id = $2 and d.status in ${waitingList} ${condition}
    for update skip locked
  ), stopped as (
    update deliveries d set status = 'cancelled', reason = $3, owner = null
    from waiting w, occurrences o
    where d.organization_id = $1 and d.occurrence_id = $2 and d.id = w.id and o.organization_id = $1 and o.id = $2
    returning d.organization_id, d.occurrence_id, d.channel_id, d.status, o.event_id, o.due_at as since
  ), ${countText('stopped')}
  select count(*)::int as stopped, ${endedText} as ended from stopped`;

interface Stopped {
  stopped: number;
  /** The outcome of the occurrence, where it came to its end with it. */
  ended: string[];
}

// Items of digests leave one by one, afterwards: whoever changes a digest locks it before any occurrence.
const stopAll = stopDeliveries('and d.digest_id is null');
const stopSteps = stopDeliveries('and d.step > 0');

async function endSteps(client: pg.PoolClient, organizationId: number, id: string, reason: string): Promise<void> {
  await client.query(
    `update steps set status = 'ended', reason = $3, owner = null, ended_at = now()
     where organization_id = $1 and occurrence_id = $2 and status = 'waiting'`,
    [organizationId, id, reason],
  );
}

/** Where nothing is left that could complete it. */
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

/** Stops what is not sent yet; returns how many deliveries that were, or undefined when it has ended already. */
export async function cancelOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
): Promise<Stopped | undefined> {
  const stopped = await inTransaction(pool, async client => {
    const { rows: changed } = await client.query<{ ended: string | null }>(
      `with cancelled as (
        update occurrences o set cancelled_at = now(), owner = null, escalating = 0, awaits_acknowledgement = false,
          status = case when o.status = 'sending' then o.status else 'completed' end,
          reason = case when o.status = 'sending' then o.reason else 'cancelled' end,
          completed_at = case when o.status = 'sending' then o.completed_at else now() end
        where o.organization_id = $1 and o.id = $2 and o.status in ('accepted', 'expanding', 'sending')
          and o.cancelled_at is null
        returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome
      ), ${completionEventsText('cancelled')}
      select outcome as ended from cancelled`,
      [organizationId, id],
    );
    if (!changed[0]) return undefined;
    await endSteps(client, organizationId, id, 'cancelled');
    const { rows } = await client.query<Stopped>(stopAll, [organizationId, id, 'cancelled']);
    const { stopped, ended } = rows[0]!;
    const over = await completeIfOver(client, organizationId, id);
    return { stopped, ended: [...(changed[0].ended ? [changed[0].ended] : []), ...ended, ...over] };
  });
  if (!stopped) return undefined;
  const items = await cancelDigestItems(pool, organizationId, id);
  return { stopped: stopped.stopped + items.stopped, ended: [...stopped.ended, ...items.ended] };
}

/**
 * Every occurrence of which something is still to be sent, if it was triggered before that identifier: by the indexes of
 * the queues, so many at a time. Read as of the beginning, whatever is changed meanwhile.
 */
export async function* listUnfinishedAcrossTenants(
  pool: pg.Pool,
  before: string,
  atOnce: number,
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
      const { rows } = await client.query<{ organization_id: number; id: string }>(`fetch ${atOnce} from unfinished`);
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

/** Who answered, and when; null where nobody has. */
export interface Answers {
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
}

export interface Answered extends Answers {
  /** Whether this answer was the first: a late one changes nothing. */
  isFirst: boolean;
  /** Deliveries that will not be sent. */
  cancelled: number;
  /** How long after it was due. */
  ms: number;
  /** The outcome of the occurrence, where it came to its end with it. */
  ended: string[];
}

const answerColumns = 'acknowledged_at, acknowledged_by, resolved_at, resolved_by';

/** Ends every later step, and what is pending of those before; undefined when there is no such occurrence. */
export async function acknowledgeOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  by: string,
): Promise<Answered | undefined> {
  return answer(pool, organizationId, id, {
    reason: 'acknowledged',
    set: 'acknowledged_at = now(), acknowledged_by = $3',
    open: 'acknowledged_at is null and resolved_at is null and cancelled_at is null',
    by,
  });
}

/** The same, and tells those who were told by the notifications given. */
export async function resolveOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  by: string,
  tell: { notificationId: number; priority: number }[],
): Promise<Answered | undefined> {
  return answer(pool, organizationId, id, {
    reason: 'resolved',
    set: 'resolved_at = now(), resolved_by = $3',
    open: 'resolved_at is null and cancelled_at is null',
    by,
    andThen: client => planResolution(client, organizationId, id, tell),
  });
}

interface Answering {
  reason: 'acknowledged' | 'resolved';
  set: string;
  open: string;
  by: string;
  andThen?: (client: pg.PoolClient) => Promise<void>;
}

async function answer(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { reason, set, open, by, andThen }: Answering,
): Promise<Answered | undefined> {
  return inTransaction(pool, async client => {
    const { rows } = await client.query<Answers & { ms: number }>(
      `with answered as (
        update occurrences o set ${set}, awaits_acknowledgement = false, escalating = 0
        where o.organization_id = $1 and o.id = $2 and ${open}
        returning o.organization_id, o.id, o.event_id, o.correlation_id, ${answerColumns},
          greatest(0, extract(epoch from now() - o.created_at) * 1000)::float8 as ms
      ), ${answerEventsText('answered', `occurrence.${reason}`)}
      select ${answerColumns}, ms from answered`,
      [organizationId, id, by],
    );
    const [changed] = rows;
    if (!changed) {
      const found = await client.query<Answers>(
        `select ${answerColumns} from occurrences where organization_id = $1 and id = $2`,
        [organizationId, id],
      );
      return found.rows[0] && { ...found.rows[0], isFirst: false, cancelled: 0, ms: 0, ended: [] };
    }
    await endSteps(client, organizationId, id, reason);
    const result = await client.query<Stopped>(stopSteps, [organizationId, id, reason]);
    const { stopped, ended } = result.rows[0]!;
    await andThen?.(client);
    const over = await completeIfOver(client, organizationId, id);
    return { ...changed, isFirst: true, cancelled: stopped, ended: [...ended, ...over] };
  });
}

/** As one more run, of the notifications whose earlier runs told anybody. */
async function planResolution(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  tell: { notificationId: number; priority: number }[],
): Promise<void> {
  await client.query(
    `with planned as (
      insert into steps (organization_id, occurrence_id, notification_id, number, step, priority, due_at, began_at)
      select $1, $2, g.notification_id, ${resolutionRun}, 0, g.priority, now(), now()
      from unnest($3::bigint[], $4::smallint[]) as g (notification_id, priority)
      where exists (
        select from steps s where s.organization_id = $1 and s.occurrence_id = $2
          and s.notification_id = g.notification_id and s.number > 0 and s.told > 0)
      on conflict do nothing returning 1
    ), reopened as (
      update occurrences o set escalating = (select count(*) from planned),
        status = case when o.status = 'completed' then 'sending' else o.status end, completed_at = null
      where o.organization_id = $1 and o.id = $2 and exists (select from planned)
    )
    select pg_notify('belfry_work', '') from planned limit 1`,
    [organizationId, id, tell.map(one => one.notificationId), tell.map(one => one.priority)],
  );
}
