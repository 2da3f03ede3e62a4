/** Acknowledges, snoozes and resolves occurrences, and takes an acknowledgement back. Records who did it and when. */

import { type Snooze, snoozeEnd } from '../../../core/decision/snooze.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import { nameSome } from '../../../core/message/acknowledge-texts.ts';
import { isTestPage } from '../../../core/oncall/test-pages.ts';
import { priorityOf, type TriggerOptions } from '../../../core/trigger.ts';
import { confirmTestPage } from '../../../db/audience/on-call/test-pages.ts';
import { findUserByName } from '../../../db/audience/users.ts';
import { findOccurrence } from '../../../db/history/occurrences.ts';
import type { AnswerResult } from '../../../db/ledger/expand/answer-result.ts';
import {
  acknowledgeOccurrence,
  nothingToSnooze,
  resolveOccurrence,
  snoozeOccurrence,
  unacknowledgeOccurrence,
} from '../../../db/ledger/expand/answers.ts';
import type { PlannedRound } from '../../../db/ledger/steps/rounds.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { PlannedNotification, PlannedSteps } from '../../../pipeline/event-plan.ts';
import { listUpdatable } from '../../../providers/provider.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { countEnded } from '../occurrences.ts';

/**
 * Acknowledges an occurrence. When this returns, all later steps have ended and their pending deliveries are cancelled. With `ack: each`,
 * that is so for the user only, until no one else is missing; throws `occurrence.not_asked` for everyone who was not notified.
 */
export async function acknowledge(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = actorName(deps.actor),
  user?: number,
) {
  const now = currentTime();
  const { occurrence, stepped } = await findStepped(deps, organizationId, identifier);
  const rounds = stepped.flatMap(one => {
    const { acknowledgementExpiresMs: ms } = one.steps;
    return ms === undefined ? [] : [{ ...one, at: now + ms }];
  });
  const notifications = stepped.filter(({ steps }) => steps.acknowledgedByEach).map(one => one.notificationId);
  const answered = await acknowledgeOccurrence(deps.pool, organizationId, identifier, {
    by,
    ...toRounds(rounds),
    updatable: listUpdatable(deps.providers),
    own:
      notifications.length === 0
        ? undefined
        : { userId: user ?? (await findOwn(deps, organizationId, by)), notifications },
  });
  if (answered?.notAsked) {
    const { users, count } = answered.missing!;
    throw notAsked(
      `each of its recipients acknowledges on their own${count > 0 ? `; missing: ${nameSome(users, count)}` : ''}`,
    );
  }
  if (answered?.isFirst && !answered.missing) deps.acknowledgementTimes.add(answered.ms);
  const finished = await finish(deps, organizationId, identifier, answered, { action: 'acknowledge', by });
  const { dedup_key } = (occurrence?.options ?? {}) as TriggerOptions;
  if (isTestPage(dedup_key)) await confirmTest(deps, organizationId, identifier, by, user);
  return finished;
}

/** The test is over once its user has acknowledged it. */
async function confirmTest(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string,
  user: number | undefined,
): Promise<void> {
  const userId = user ?? (await findOwn(deps, organizationId, by));
  if (userId === undefined || !(await confirmTestPage(deps.db, organizationId, identifier, userId))) return;
  await resolve(deps, organizationId, identifier, by, { quietly: true });
}

/** Acknowledges it for a user who has said so elsewhere. */
export async function acknowledgeFor(deps: Deps, organizationId: number, identifier: string, username: string) {
  const user = await findOwn(deps, organizationId, username);
  if (user === undefined) throw invalid({ user: ['must be the username of a recipient'] });
  return acknowledge(deps, organizationId, identifier, `${username}, by ${actorName(deps.actor)}`, user);
}

/** Returns the user with this name: members of the organization may be recipients, too. */
async function findOwn({ db }: Deps, organizationId: number, by: string): Promise<number | undefined> {
  return (await findUserByName(db, organizationId, by))?.id;
}

function notAsked(message: string): AppError {
  return new AppError('occurrence.not_asked', message);
}

/** Acknowledges an occurrence until a time, at which it escalates again from the first step. */
export async function snooze(
  deps: Deps,
  organizationId: number,
  identifier: string,
  request: Snooze,
  by: string = actorName(deps.actor),
) {
  const now = currentTime();
  const { occurrence, timezone, stepped } = await findStepped(deps, organizationId, identifier);
  const until = snoozeEnd(request, timezone, now);
  if (occurrence && stepped.length === 0) throw nothingToSnooze();
  if (stepped.some(({ steps }) => steps.acknowledgedByEach)) {
    throw notAsked('each of its recipients acknowledges on their own, so it cannot be snoozed');
  }
  const answered = await snoozeOccurrence(deps.pool, organizationId, identifier, {
    by,
    ...toRounds(stepped.map(one => ({ ...one, at: until }))),
    updatable: listUpdatable(deps.providers),
  });
  if (answered?.isFirst && !occurrence?.acknowledged_at) deps.acknowledgementTimes.add(answered.ms);
  return finish(deps, organizationId, identifier, answered, {
    action: 'snooze',
    by,
    until: new Date(until).toISOString(),
  });
}

/** Takes an acknowledgement or a snooze back: the occurrence escalates again at once, from the first step. */
export async function unacknowledge(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = actorName(deps.actor),
) {
  const now = currentTime();
  const { stepped } = await findStepped(deps, organizationId, identifier);
  const answered = await unacknowledgeOccurrence(deps.pool, organizationId, identifier, {
    by,
    ...toRounds(stepped.map(one => ({ ...one, at: now }))),
    awaitsAcknowledgement: stepped.some(({ steps }) => steps.asksForAcknowledgement),
    updatable: listUpdatable(deps.providers),
  });
  return finish(deps, organizationId, identifier, answered, { action: 'unacknowledge', by });
}

/** Resolves an occurrence, which also ends its steps. Unless `quietly`, notifications with `notify_resolved` inform their recipients. */
export async function resolve(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = actorName(deps.actor),
  { quietly = false }: { quietly?: boolean } = {},
) {
  const { stepped } = quietly ? { stepped: [] } : await findStepped(deps, organizationId, identifier);
  const notified = stepped.filter(({ steps }) => steps.notifyResolved);
  const updatable = listUpdatable(deps.providers);
  const answered = await resolveOccurrence(
    deps.pool,
    organizationId,
    identifier,
    { by, updatable, reportsBack: !quietly },
    notified,
  );
  return finish(deps, organizationId, identifier, answered, { action: 'resolve', by });
}

/** A notification with steps, and the priority of their messages. */
interface Stepped {
  notificationId: number;
  priority: number;
  steps: PlannedSteps;
}

/** Returns the notifications with steps of an occurrence, none if it or its event is gone. */
async function findStepped({ db, plans }: Deps, organizationId: number, identifier: string) {
  const occurrence = await findOccurrence(db, organizationId, identifier);
  const plan = occurrence && (await plans.findEvent(organizationId, occurrence.event_id));
  const stepped = steppedOf(plan?.notifications ?? [], (occurrence?.options ?? {}) as TriggerOptions);
  return { occurrence, timezone: plan?.organization.timezone ?? 'UTC', stepped };
}

/** Returns those of the notifications that have steps. */
export function steppedOf(notifications: readonly PlannedNotification[], options: TriggerOptions): Stepped[] {
  return notifications.flatMap(({ id, priority, steps }) =>
    steps ? [{ notificationId: id, priority: priorityOf(options, priority, false), steps }] : [],
  );
}

/** Triggers join the occurrence until its last round has given up. */
export function toRounds(some: readonly (Stepped & { at: number })[]) {
  const rounds: PlannedRound[] = some.map(({ notificationId, priority, at }) => ({
    notificationId,
    priority,
    due_at: new Date(at),
  }));
  const ends = some.map(({ at, steps }) => at + steps.giveUpMs);
  return { rounds, openUntil: ends.length === 0 ? undefined : new Date(Math.max(...ends)) };
}

interface Change {
  action: 'acknowledge' | 'snooze' | 'unacknowledge' | 'reopen' | 'resolve';
  by: string;
  until?: string;
}

/** Returns what the caller is shown; `changed` is false when there was nothing to change. */
export async function finish(
  deps: Deps,
  organizationId: number,
  path: string,
  answered: AnswerResult | undefined,
  { action, ...after }: Change,
) {
  if (!answered) throw new AppError('occurrence.not_found', `there is no occurrence ${path}`);
  const { isFirst: changed, ms: _, notAsked: _n, ended, missing, ...answer } = answered;
  if (changed) {
    countEnded(deps, ended);
    // After the commit, because a worker may see its effect immediately.
    await record(deps, deps.db, organizationId, { action, noun: 'occurrence', path, after: { ...after } });
  }
  return { ...answer, changed, missing: missing?.users ?? [], missing_count: missing?.count ?? 0 };
}
