/** Compiles the stored definition of an event into its plan: filters, keys and times become functions. */

import { type DecisionNotification, personal } from '../core/decision/decide.ts';
import { compileDigestEnd, type Digest, digestLimits } from '../core/decision/digest.ts';
import { type CanaryRule, canaryRule } from '../core/decision/guards/canary.ts';
import { generalCategory, type Topic } from '../core/decision/preferences.ts';
import {
  asksForAcknowledgement,
  giveUpMs,
  isUnlessKeyword,
  listRuns,
  type Step,
  type StepRun,
} from '../core/decision/steps.ts';
import type { Throttle } from '../core/decision/throttle.ts';
import { parseDuration } from '../core/durations.ts';
import { expressionLimits, lazyPredicate } from '../core/expressions/expressions.ts';
import { compileGroupKey } from '../core/expressions/group-key.ts';
import type { JsonObject } from '../core/json.ts';
import type { EventRow, NotificationRow } from '../db/configuration/plans.ts';
import type { Cursor } from '../db/ledger/cursor.ts';

export interface PlannedNotification extends DecisionNotification {
  id: number;
  name: string;
  recipients: NotificationRow['recipients'];
  /** The compiled expression over users; undefined without one. */
  picks: ((user: unknown) => boolean) | undefined;
  extraContext: JsonObject;
  /** The notification's own priority; null if it has none. */
  priority: number | null;
  throttle: PlannedThrottle | undefined;
  digest: PlannedDigest | undefined;
  /** The maximum number of items in the message of a digest; undefined without digests. */
  maxItems: number | undefined;
  /** Undefined when all recipients get it at once. */
  canary: CanaryRule | undefined;
  /** Undefined when all recipients are notified immediately. */
  steps: PlannedSteps | undefined;
  /** Whether the recipients are those of a step, to which recipients named by the trigger are not added. */
  hasOwnRecipients?: boolean;
  version: number;
}

export interface PlannedSteps {
  steps: PlannedStep[];
  runs: StepRun[];
  giveUpMs: number;
  asksForAcknowledgement: boolean;
  /** How long an acknowledgement holds; undefined: for good. */
  acknowledgementExpiresMs: number | undefined;
  notifyResolved: boolean;
  /** Whether each recipient has to acknowledge. */
  acknowledgedByEach: boolean;
}

export interface PlannedStep {
  /** The notification with the channels and recipients of this step. */
  notification: PlannedNotification;
  /** A keyword or an expression. */
  unless: string | undefined;
  /** The compiled expression that skips a recipient; undefined when `unless` is a keyword or absent. */
  isSkipped: ((facts: unknown) => boolean) | undefined;
  /** Whether each run notifies one recipient only. */
  rotates: boolean;
}

/** Names the recipients of a step that has its own; null if it has the notification's. */
export function describeOwnRecipients({ recipients, hasOwnRecipients }: PlannedNotification): string | null {
  if (!hasOwnRecipients) return null;
  const { list, schedule, offset = 0 } = recipients;
  const onCall = schedule === undefined ? [] : [`on call: ${schedule}${offset > 0 ? ` +${offset}` : ''}`];
  return [...(list === undefined ? [] : [list]), ...onCall].join(', ') || null;
}

export interface PlannedThrottle {
  max: number;
  perMs: number;
  /** Returns the key under which a message is counted. */
  keyOf: (context: JsonObject) => string;
  /** Whether messages over the limit go into a digest. */
  digestsOverflow: boolean;
}

export interface PlannedDigest {
  /** Returns when a digest that opens now closes for a recipient in this time zone. */
  endsAt: (timezone: string, now: number) => number;
  /** Returns the key by which messages are collected. */
  keyOf: (context: JsonObject) => string;
  isFirstSent: boolean;
}

export interface EventPlan extends Omit<EventRow, 'notifications' | 'category'> {
  /** What preferences are evaluated for. */
  topic: Topic;
  notifications: PlannedNotification[];
}

export function planEvent({ category, notifications, ...row }: EventRow): EventPlan {
  const event = `${row.project.slug}/${row.application.slug}/${row.slug}`;
  return {
    ...row,
    topic: { category: category ?? generalCategory, event },
    notifications: notifications.map(planNotification),
  };
}

function planThrottle({ max, per, key, overflow }: Throttle): PlannedThrottle {
  return { max, perMs: parseDuration(per)!, keyOf: compileGroupKey(key), digestsOverflow: overflow === 'digest' };
}

function planDigest({ every, key, first }: Digest): PlannedDigest {
  return { endsAt: compileDigestEnd(every), keyOf: compileGroupKey(key), isFirstSent: first === 'send' };
}

function maxItemsOf({ digest, throttle }: NotificationRow): number | undefined {
  if (!digest && throttle?.overflow !== 'digest') return undefined;
  return digest?.max ?? digestLimits.defaultMax;
}

function planSteps(
  steps: readonly Step[],
  { give_up_after, notify_resolved, acknowledgement_expires, ack }: NotificationRow,
  base: PlannedNotification,
): PlannedSteps {
  return {
    steps: steps.map(({ channels, recipients, unless, round_robin: rotates = false }) => ({
      rotates,
      notification: {
        ...base,
        channels,
        ...(recipients && { recipients, picks: undefined, hasOwnRecipients: true }),
      },
      unless,
      isSkipped:
        unless === undefined || isUnlessKeyword(unless)
          ? undefined
          : lazyPredicate(unless, expressionLimits.stepsForUser),
    })),
    runs: listRuns(steps),
    giveUpMs: giveUpMs(give_up_after),
    asksForAcknowledgement: asksForAcknowledgement(steps),
    acknowledgementExpiresMs: acknowledgement_expires === null ? undefined : parseDuration(acknowledgement_expires),
    notifyResolved: notify_resolved,
    acknowledgedByEach: ack === 'each',
  };
}

/** What is sent by the recipients' own rules goes on until someone acknowledges: it is a single step. */
function planNotification(given: NotificationRow): PlannedNotification {
  const { channels } = given;
  const row = !given.steps && channels.includes(personal) ? { ...given, steps: [{ channels }] } : given;
  const base = planBase(row);
  return row.steps ? { ...base, steps: planSteps(row.steps, row, base) } : base;
}

/** Plans a notification that was deleted during its fan-out, so that the rest of its recipients is put on record. */
export function planDeleted({ notification: id, definition }: Cursor): PlannedNotification | undefined {
  if (!definition) return undefined;
  const none = {
    filter: null,
    environs: null,
    extra_context: {},
    priority: null,
    throttle: null,
    digest: null,
    canary: null,
  };
  const noSteps = {
    steps: null,
    give_up_after: null,
    acknowledgement_expires: null,
    ack: null,
    notify_resolved: false,
  };
  return planBase({ id, active: false, ...definition, channels: [...definition.channels], ...none, ...noSteps });
}

/** Plans an event that was deleted during a fan-out: only the notification in the cursor is still known. */
export function planDeletedEvent(organizationId: number, projectId: number): EventPlan {
  const unnamed = { slug: '', name: '' };
  const limits = { deliveries_per_trigger: null, timezone: null, quiet_hours: null, max_per_day: null, guard: null };
  return {
    id: 0,
    ...unnamed,
    active: false,
    paused: null,
    paused_keys: {},
    guard: null,
    application: { id: 0, ...unnamed },
    project: { id: projectId, ...unnamed },
    organization: { id: organizationId, ...unnamed, ...limits },
    topic: { category: generalCategory, event: '' },
    notifications: [],
  };
}

function planBase(row: NotificationRow): PlannedNotification {
  return {
    id: row.id,
    name: row.name,
    active: row.active,
    environs: row.environs,
    channels: row.channels,
    matches: row.filter === null ? undefined : lazyPredicate(row.filter),
    recipients: row.recipients,
    picks:
      row.recipients.users === undefined
        ? undefined
        : lazyPredicate(row.recipients.users, expressionLimits.stepsForUser),
    extraContext: row.extra_context,
    priority: row.priority,
    throttle: row.throttle ? planThrottle(row.throttle) : undefined,
    digest: row.digest ? planDigest(row.digest) : undefined,
    maxItems: maxItemsOf(row),
    canary: row.canary && !row.steps && !row.digest ? canaryRule(row.canary) : undefined,
    steps: undefined,
    version: row.version,
  };
}
