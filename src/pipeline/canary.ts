/**
 * Decides pages of an occurrence with a canary. The expansion passes over the recipients up to three times: it counts all, sends to the
 * sample, and after the wait to the others. What the passes share is in the cursor, which is committed with each page, so that memory does not
 * grow with the audience, and a crash resumes where it stopped. Who is in the sample follows from the rank of a recipient in each pass.
 */
import {
  type CanaryState,
  countRanks,
  drawSample,
  rankOf,
  type Sampled,
  variantFor,
} from '../core/decision/guards/canary.ts';
import { priorityOf, type TriggerOptions, urgent } from '../core/trigger.ts';
import { type Cursor, isStart, startCursor } from '../db/ledger/cursor.ts';
import {
  countRecipients,
  type DecisionPage,
  type DecisionRequest,
  decidePage,
  isSent,
  type RecipientDecision,
} from './decide.ts';
import type { EventPlan, PlannedNotification } from './event-plan.ts';
import type { Plans } from './plans.ts';
import type { RecipientReader } from './recipients.ts';

/** Returns whether the recipients of a notification are sampled: not of a dry run, and urgent messages do not wait. */
export function hasCanary({ canary, priority }: PlannedNotification, options: TriggerOptions): boolean {
  return canary !== undefined && !options.dry_run && priorityOf(options, priority, false) !== urgent;
}

/** Returns the cursor of the first page with the state of a canary, if the event has one. */
export function beginCanary(plan: EventPlan, from: Cursor | null, options: TriggerOptions): Cursor | null {
  if (!isStart(from) || from?.canary) return from;
  const sampled = plan.notifications.filter(one => hasCanary(one, options));
  if (sampled.length === 0) return from;
  const notifications = sampled.map(({ id, name, canary }): [number, Sampled] => {
    return [id, { ...canary!, name, audience: 0, ranks: [], upTo: null }];
  });
  return { ...(from ?? startCursor), canary: { stage: 'counting', notifications: Object.fromEntries(notifications) } };
}

export interface StagePage extends DecisionPage {
  /** Recipients of the audience on this page. Each is counted in one pass only. */
  counted: number;
  /** Whether this page ended the pass that counts. */
  isCounted: boolean;
}

/** Like `decidePage`, for any cursor. At the end of a pass, the cursor of the page is the start of the next one. */
export async function decideWithCanary(
  deps: { plans: Plans; recipients: RecipientReader },
  plan: EventPlan,
  request: DecisionRequest,
  occurrenceId: string,
): Promise<StagePage> {
  const state = request.cursor?.canary;
  if (!state) {
    const page = await decidePage(deps, plan, request);
    return { ...page, counted: countRecipients(page.decisions), isCounted: page.cursor === null };
  }
  const { notifications } = state;
  const of = ({ id }: { id: number }): Sampled | undefined => notifications[id];
  if (state.stage === 'counting') {
    const page = await decidePage(deps, plan, request);
    const counted = countPage(state, page.decisions, occurrenceId);
    const counts = { counted: countRecipients(page.decisions), isCounted: page.cursor === null };
    if (page.cursor) return { ...keepOthers(page, of), ...counts, cursor: { ...page.cursor, canary: counted } };
    const drawn = drawSamples(counted);
    // All recipients are on this page, and all get it at once.
    if (drawn.stage === 'rest' && isWhole(request.cursor)) return { ...page, ...counts };
    return { ...keepOthers(page, of), ...counts, cursor: startOf(drawn) };
  }
  const takes = (notification: PlannedNotification, userId: number) => {
    const upTo = of(notification)!.upTo;
    const isSampled = upTo !== null && rankOf(occurrenceId, notification.id, userId) <= upTo;
    return isSampled === (state.stage === 'sampling') || upTo === null;
  };
  const all = await decidePage(deps, plan, { ...request, includes: one => of(one) !== undefined, takes });
  const page = { ...all, decisions: all.decisions.map(one => withVariant(one, state, occurrenceId)) };
  const counts = { counted: 0, isCounted: false };
  if (page.cursor) return { ...page, ...counts, cursor: { ...page.cursor, canary: state } };
  return { ...page, ...counts, cursor: state.stage === 'sampling' ? startOf(afterSample(state)) : null };
}

/** Returns the start of a pass. */
const startOf = (canary: CanaryState): Cursor => ({ ...startCursor, canary });

/** Returns whether the page that starts here is the first, so that nothing was counted before. */
const isWhole = (cursor: Cursor | null) =>
  isStart(cursor) && Object.values(cursor?.canary?.notifications ?? {}).every(one => one.audience === 0);

function withVariant(decision: RecipientDecision, { notifications, stage }: CanaryState, occurrenceId: string) {
  const { notification, recipient } = decision;
  const sampled = notifications[notification.id];
  const variant = sampled && variantFor(sampled, stage, rankOf(occurrenceId, notification.id, recipient.user_id));
  return variant ? { ...decision, variant } : decision;
}

function keepOthers(page: DecisionPage, of: (notification: PlannedNotification) => unknown): DecisionPage {
  return { ...page, decisions: page.decisions.filter(({ notification }) => !of(notification)) };
}

function countPage(state: CanaryState, decisions: readonly RecipientDecision[], occurrenceId: string): CanaryState {
  const notifications = { ...state.notifications };
  const sent = Map.groupBy(decisions.filter(isSent), ({ notification }) => notification.id);
  for (const [id, own] of sent) {
    const sampled = notifications[id];
    if (!sampled) continue;
    const users = new Set(own.map(({ recipient }) => recipient.user_id));
    notifications[id] = countRanks(
      sampled,
      [...users].map(user => rankOf(occurrenceId, id, user)),
    );
  }
  return { ...state, notifications };
}

/** Ends the count. Without any sample, all are sent at once. */
function drawSamples({ notifications, ...state }: CanaryState): CanaryState {
  const drawn = Object.entries(notifications).map(([id, one]): [string, Sampled] => [id, drawSample(one)]);
  const isAny = drawn.some(([, { upTo }]) => upTo !== null);
  return { ...state, notifications: Object.fromEntries(drawn), stage: isAny ? 'sampling' : 'rest' };
}

/** Notifications without a sample were sent with the samples of others. */
function afterSample({ notifications, ...state }: CanaryState): CanaryState {
  const sampled = Object.entries(notifications).filter(([, { upTo }]) => upTo !== null);
  return { ...state, notifications: Object.fromEntries(sampled), stage: 'waiting' };
}
