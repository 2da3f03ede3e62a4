/**
 * Answers to an occurrence: it is acknowledged, snoozed or resolved, or an acknowledgement is taken back. Each is one transaction that
 * updates the occurrence first, as in occurrence-ends.ts.
 *
 * | state                 | answer        | next state                                                                    |
 * | --------------------- | ------------- | ----------------------------------------------------------------------------- |
 * | open                  | acknowledge   | acknowledged; until a time if a notification has `acknowledgement_expires`    |
 * | open, `ack: each`     | acknowledge   | open, until all have: see acknowledge-each.ts                                 |
 * | acknowledged          | acknowledge   | the same: only the first counts                                               |
 * | snoozed               | acknowledge   | acknowledged                                                                  |
 * | open or acknowledged  | snooze        | snoozed, which is an acknowledgement until a time                             |
 * | acknowledged, snoozed | unacknowledge | open: the steps run again, immediately                                        |
 * | acknowledged, snoozed | its time ends | open: the steps run again (`reopenAcrossTenants` in ../steps/rounds.ts)       |
 * | acknowledged, snoozed | the severity rises | open: the steps run again; see raises.ts for those that are open already |
 * | any of these          | resolve       | resolved, for good                                                            |
 */
import type pg from 'pg';
import { AppError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { isRaisedText, raiseText } from '../context-text.ts';
import { queueOccurrenceUpdate } from '../deliver/message-updates.ts';
import { cancelDigestItems } from '../digests/digest-items.ts';
import { keepKeyOpen, type PlannedRound, planNextRounds, recordResponse } from '../steps/rounds.ts';
import { resolutionRun } from '../steps/steps.ts';
import { answerEventsText } from '../webhooks/events.ts';
import { queueSourceUpdates } from '../webhooks/source-updates.ts';
import { acknowledgeAlone, cancelOwnItems, type OwnAcknowledgement } from './acknowledge-each.ts';
import { type AnswerResult, type AnswerState, answerColumns } from './answer-result.ts';
import { announceStop, completeIfOver, endSteps, type StopResult, stopSteps } from './occurrence-ends.ts';

interface Answer {
  /** The actor. */
  by: string;
  /** Providers that can update what was sent. */
  updatable: readonly string[];
  /** False: the senders of its alerts do not get to know. */
  reportsBack?: boolean;
}

interface AnswerWithRounds extends Answer {
  /** The notifications that escalate again, and when. */
  rounds: readonly PlannedRound[];
  /** Until when triggers with its dedup key join it at least: until the last of them has given up. */
  openUntil: Date | undefined;
  /** Set if each recipient of these notifications has to acknowledge: who does. */
  own?: OwnAcknowledgement | undefined;
}

// Until its steps are stored, the occurrence alone says when the acknowledgement ends.
const untilExpanded = `case when o.status in ('accepted', 'expanding') then $4::timestamptz end`;
const isHeldBySilence = `o.status in ('accepted', 'expanding') and o.reason = 'silenced'`;
const notEnded = 'resolved_at is null and cancelled_at is null';

/**
 * Ends all later steps, cancels pending deliveries of earlier ones, and queues the update of what was sent by one of the
 * providers in `updatable`. With `rounds`, the acknowledgement expires. It also ends a snooze. Returns undefined if there is no such
 * occurrence.
 */
export async function acknowledgeOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  answered: AnswerWithRounds,
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    ...answered,
    kind: 'acknowledged',
    set: `acknowledged_at = now(), acknowledged_by = $3, acknowledged_until = ${untilExpanded}, snoozed_by = null,
      awaits_acknowledgement = false`,
    open: `(acknowledged_at is null or snoozed_by is not null) and ${notEnded}`,
    until: firstOf(answered.rounds),
  });
}

/**
 * Does the same until a time, also if the occurrence is acknowledged already: then the steps run again. Throws if it has no steps that
 * could.
 */
export async function snoozeOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  answered: AnswerWithRounds,
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    ...answered,
    kind: 'snoozed',
    set: `acknowledged_at = coalesce(o.acknowledged_at, now()), acknowledged_by = coalesce(o.acknowledged_by, $3), snoozed_by = $3,
      acknowledged_until = ${untilExpanded}, awaits_acknowledgement = false`,
    open: notEnded,
    until: firstOf(answered.rounds),
  });
}

interface Reopening extends AnswerWithRounds {
  awaitsAcknowledgement: boolean;
}

const openAgain = (
  awaits: boolean,
) => `acknowledged_at = null, acknowledged_by = null, acknowledged_until = null, snoozed_by = null,
      acknowledged_users = null, round_began_at = now(), awaits_acknowledgement = ${awaits}`;

/** Takes an acknowledgement or a snooze back: the steps run again immediately. What was cancelled stays cancelled. */
export async function unacknowledgeOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { awaitsAcknowledgement, ...answered }: Reopening,
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    ...answered,
    kind: 'unacknowledged',
    set: openAgain(awaitsAcknowledgement),
    open: `acknowledged_at is not null and ${notEnded}`,
  });
}

/** Does the same because the severity rose, and replaces the context. Steps that have never run begin, too. */
export async function raiseAcknowledgedOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { awaitsAcknowledgement, context, ...answered }: Reopening & { context: JsonObject },
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    ...answered,
    kind: 'severity_rose',
    set: `${openAgain(awaitsAcknowledgement)}, ${raiseText('$5')}`,
    open: `acknowledged_at is not null and ${notEnded} and ${isRaisedText('$5')}`,
    values: [JSON.stringify(context)],
  });
}

/** Ends the steps for good, and notifies the recipients that these notifications have reached. */
export async function resolveOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  answered: Answer,
  notify: { notificationId: number; priority: number }[],
): Promise<AnswerResult | undefined> {
  return answer(pool, organizationId, id, {
    ...answered,
    rounds: [],
    openUntil: undefined,
    kind: 'resolved',
    set: `resolved_at = now(), resolved_by = $3, acknowledged_until = null, snoozed_by = null,
      awaits_acknowledgement = false`,
    open: notEnded,
    andThen: client => planResolution(client, organizationId, id, notify),
  });
}

function firstOf(rounds: readonly PlannedRound[]): Date | undefined {
  return rounds.length === 0 ? undefined : new Date(Math.min(...rounds.map(({ due_at }) => due_at.getTime())));
}

interface AnswerOptions extends AnswerWithRounds {
  kind: 'acknowledged' | 'snoozed' | 'unacknowledged' | 'severity_rose' | 'resolved';
  set: string;
  open: string;
  /** Parameters of `set` and `open`, from $5 on. */
  values?: readonly unknown[];
  until?: Date | undefined;
  andThen?: (client: pg.PoolClient) => Promise<void>;
}

async function answer(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  {
    kind,
    set,
    open,
    values = [],
    by,
    until,
    rounds,
    openUntil,
    updatable,
    own,
    reportsBack = true,
    andThen,
  }: AnswerOptions,
): Promise<AnswerResult | undefined> {
  const hasRisen = kind === 'severity_rose';
  const isOpenAgain = kind === 'unacknowledged' || hasRisen;
  const reason = kind === 'resolved' ? 'resolved' : 'acknowledged';
  const event = isOpenAgain ? 'occurrence.reopened' : (`occurrence.${kind}` as const);
  const more = kind === 'snoozed' ? `'until', $4::timestamptz` : isOpenAgain ? `'reason', '${kind}'` : undefined;
  let isOver = false;
  const answered = await inLedgerTransaction(pool, async client => {
    if (openUntil) await keepKeyOpen(client, organizationId, id, openUntil);
    const alone = own && (await acknowledgeAlone(client, organizationId, id, { ...own, by, updatable }));
    if (alone) return alone;
    const { rows } = await client.query<AnswerState & { ms: number; is_expanded: boolean; is_completed: boolean }>(
      `with actor as (select $3::text as name, $4::timestamptz as until), answered as (
        update occurrences o set ${set}, escalating = 0,
          -- What a silence holds ends now.
          due_at = case when ${isHeldBySilence} then now() else o.due_at end
        from actor
        where o.organization_id = $1 and o.id = $2 and ${open}
        returning o.organization_id, o.id, o.event_id, o.correlation_id, ${answerColumns},
          o.status not in ('accepted', 'expanding') as is_expanded, o.status = 'completed' as is_completed, ${isHeldBySilence} as is_silenced,
          greatest(0, extract(epoch from now() - o.created_at) * 1000)::float8 as ms
      ), ${answerEventsText('answered', event, more)}
      select ${answerColumns}, ms, is_expanded, is_completed, ${announceStop}, case when is_silenced then pg_notify('belfry_work', '') end from answered`,
      [organizationId, id, by, until, ...values],
    );
    const [changed] = rows;
    if (!changed) {
      const found = await client.query<AnswerState>(
        `select ${answerColumns} from occurrences where organization_id = $1 and id = $2`,
        [organizationId, id],
      );
      return found.rows[0] && { ...found.rows[0], isFirst: false, cancelled: 0, ms: 0, ended: [] };
    }
    const { is_expanded: isExpanded, is_completed: isCompleted, ...state } = changed;
    // Of a completed one nothing is left to stop: looking for it takes half of the time.
    const { stopped, ended } = isCompleted ? { stopped: 0, ended: [] } : await stop(client, organizationId, id, reason);
    const planned = await planNextRounds(client, organizationId, id, rounds, hasRisen && isExpanded ? 'all' : 'begun');
    if (kind === 'snoozed' && planned === 0 && isExpanded) throw nothingToSnooze();
    const ends = until !== undefined && (planned > 0 || !isExpanded) ? until : null;
    await recordResponse(client, organizationId, id, { kind, by, until: ends });
    const change = isOpenAgain ? 'reopened' : kind;
    await queueOccurrenceUpdate(client, organizationId, id, {
      change,
      by: hasRisen ? null : by,
      until: ends,
      updatable,
    });
    const reported = isOpenAgain ? 'unacknowledged' : reason;
    if (reportsBack) await queueSourceUpdates(client, organizationId, id, { state: reported, by });
    await andThen?.(client);
    const over = isCompleted ? [] : await completeIfOver(client, organizationId, id);
    isOver = isCompleted;
    return { ...state, acknowledged_until: ends, isFirst: true, cancelled: stopped, ended: [...ended, ...over] };
  });
  if (!answered?.isFirst || isOver) return answered;
  if (answered.missing) return cancelOwnItems(pool, organizationId, id, own!.userId, answered);
  // What a crash leaves here is dropped when the bundle is sent.
  const items = await cancelDigestItems(pool, organizationId, id, { reason });
  return { ...answered, cancelled: answered.cancelled + items.stopped, ended: [...answered.ended, ...items.ended] };
}

async function stop(client: pg.PoolClient, organizationId: number, id: string, reason: string): Promise<StopResult> {
  await endSteps(client, organizationId, id, reason);
  const { rows } = await client.query<StopResult>(stopSteps, [organizationId, id, reason]);
  return rows[0]!;
}

export function nothingToSnooze(): AppError {
  const message = 'its notifications have no steps, so nothing would follow a snooze: acknowledge it instead';
  return new AppError('occurrence.no_steps', message);
}

/** Plans one more run for the notifications whose earlier runs notified anyone. */
async function planResolution(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  notify: { notificationId: number; priority: number }[],
): Promise<void> {
  if (notify.length === 0) return;
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
