/** Schemas of occurrences and their deliveries. */
import { Type } from 'typebox';
import { holdStates } from '../../core/decision/guards/guard.ts';
import { variantNames } from '../../core/decision/guards/variants.ts';
import { outcomes } from '../../core/decision/outcome.ts';
import { responseKinds } from '../../core/history/responses.ts';
import {
  type DeliveryState,
  deliveryStates,
  type OccurrenceState,
  occurrenceStates,
  type RefinedState,
  refinedStates,
} from '../../core/history/states.ts';
import { deliveryStatuses, occurrenceStatuses, stepStatuses } from '../../core/history/statuses.ts';
import { optionalBoolean, optionalString } from '../../core/optional.ts';
import { limits } from '../../core/text/text.ts';
import { maxChecked } from '../../services/history/replays.ts';
import { nullable, nullableText, nullableTimestamp, time, timestamp, url } from '../server/schemas.ts';

const acknowledgedUntil =
  'When the acknowledgement ends, because it expires or is a snooze: then the steps run again. Null: it does not end.';

const occurrenceFields = {
  identifier: Type.String({ format: 'uuid' }),
  event: nullable(Type.String(), 'prj/app/evt; null when the event has been deleted.'),
  title: nullable(Type.String(), 'The title in its context.'),
  status: Type.Enum([...occurrenceStatuses], { description: 'Processing stage in the engine.' }),
  outcome: Type.Enum([...outcomes], {
    description:
      'Overall state: `scheduled` for later, `held` by a pause, `expanding` while recipients are looked up, `sending`, and ' +
      'finally `sent`, `partly_failed`, `failed`, `unknown` (some may have arrived, none is known to have failed), ' +
      '`no_recipients`, `suppressed`, `cancelled` or `expired`. It names what deserves attention most; `counts` has the numbers. With ' +
      'steps: `escalating` while steps remain, `acknowledged`, `resolved`, or `unacknowledged` when all steps have run and ' +
      'no one responded.',
  }),
  state: Type.Enum(Object.keys(occurrenceStates) as OccurrenceState[], {
    description:
      'What the console shows: the outcome, or instead of `sending` what all open messages wait for: `waiting_digest`, ' +
      '`waiting_quiet_hours`, `waiting_silence`, `retrying` or `waiting`. `dry_run` if nothing was sent because it was a dry run, ' +
      '`snoozed` if it is acknowledged until `acknowledged_until` at a request.',
  }),
  summary: Type.String({
    description:
      'What became of it, in a sentence or two. Times in it are in UTC. The text may change between versions.',
    examples: ['Of 4 messages, 3 were sent and 1 failed.'],
  }),
  waiting_until: nullable(
    timestamp,
    'When the first of the waiting messages is due; null when none waits for a certain time.',
  ),
  scheduled_for: nullable(timestamp, 'When it will be sent, if it is scheduled for later.'),
  reason: nullable(Type.String(), 'Why nothing was sent, or why it stopped before all recipients were reached.'),
  created_at: timestamp,
  completed_at: nullableTimestamp,
  correlation_id: nullableText,
  trace_id: optionalString({ description: 'Trace id in hexadecimal; absent when the trigger was not traced.' }),
  acknowledged_at: nullableTimestamp,
  acknowledged_by: nullable(Type.String(), 'A user, or the API key that was used.'),
  acknowledged_until: nullable(timestamp, acknowledgedUntil),
  snoozed_by: nullable(Type.String(), 'Who snoozed it until then; null if it is not snoozed.'),
  resolved_at: nullableTimestamp,
  resolved_by: nullableText,
  cancelled_at: nullableTimestamp,
  cancelled_by: nullable(Type.String(), 'A user, or the API key that was used.'),
  dedup_key: nullableText,
  triggers: Type.Integer({ description: 'Number of triggers with the same `dedup_key`, including the first.' }),
  counts: Type.Object(
    {
      pending: Type.Integer({ description: 'Waiting, in flight, or to be retried.' }),
      sent: Type.Integer(),
      failed: Type.Integer(),
      suppressed: Type.Integer(),
      cancelled: Type.Integer(),
      expired: Type.Integer(),
      unknown: Type.Integer(),
    },
    { description: 'Deliveries by status.' },
  ),
  unexpanded: nullable(
    Type.Integer(),
    'Deliveries that were never decided, because it stopped before all recipients were reached; `reason` says why. Together ' +
      'with `counts` they add up to its audience. Null while they are being counted, and if they cannot be counted.',
  ),
};

export const OccurrenceSummary = Type.Object(occurrenceFields, { $id: 'OccurrenceSummary' });
export const Occurrence = Type.Object(
  {
    ...occurrenceFields,
    context: Type.Record(Type.String(), Type.Unknown()),
    options: Type.Record(Type.String(), Type.Unknown()),
    deliveries: url('URL of the deliveries.'),
    hold: nullable(
      Type.Enum([...holdStates]),
      'State of its hold: see *Retrieve hold*. Null: it never waited for an approval.',
    ),
  },
  { $id: 'Occurrence' },
);

export const OccurrenceFilter = Type.Object({
  project: optionalString({ description: 'Slug.' }),
  application: optionalString({ description: 'Slug.' }),
  event: optionalString({ description: 'Slug.' }),
  status: Type.Optional(Type.Enum([...occurrenceStatuses])),
  outcome: Type.Optional(Type.Enum([...outcomes])),
  unacknowledged: optionalBoolean({ description: 'True: only occurrences that await an acknowledgement.' }),
  correlation_id: optionalString({ maxLength: limits.name }),
  search: optionalString({
    minLength: 1,
    maxLength: limits.name,
    description: 'Prefix of the identifier, or the complete correlation id.',
  }),
  since: Type.Optional(timestamp),
  until: Type.Optional(timestamp),
});

const deliveryStatus = Type.Enum([...deliveryStatuses]);
const refinedState = Type.Enum(Object.keys(refinedStates) as RefinedState[], {
  description: 'Only deliveries with this `state`. For other states, see `status`.',
});

const deliveryFields = {
  id: Type.Integer(),
  user: nullable(Type.String(), 'Username; null when the user has been deleted.'),
  address: nullableText,
  channel: nullable(Type.String(), 'Slug.'),
  notification: nullable(Type.String(), 'Name.'),
  status: deliveryStatus,
  state: Type.Enum(Object.keys(deliveryStates) as DeliveryState[], {
    description:
      'What the console shows: the status, or instead of `pending` what it waits for: `waiting_digest`, ' +
      '`waiting_quiet_hours`, `waiting_silence`, `waiting` or `held`. `bounced` if it failed after the provider had accepted it, `complained` if it was ' +
      'reported as spam after it was sent, `retracted` if it was removed then, `dry_run` if it was suppressed because of a dry run.',
  }),
  reason: nullable(Type.String(), 'A stable code.'),
  detail: nullable(
    Type.String(),
    "The provider's response or error message. While it is held: the reason of the pause.",
  ),
  attempts: Type.Integer(),
  provider: nullableText,
  step: nullable(Type.Integer(), 'Number of the step run that it belongs to, starting at 1.'),
  resolved: Type.Boolean({ description: 'Whether it notifies that the occurrence was resolved.' }),
  created_at: timestamp,
  sent_at: nullableTimestamp,
  next_attempt_at: nullableTimestamp,
  retry_until: nullable(timestamp, 'Until when it is retried; null unless an attempt failed and another one follows.'),
  digest: nullable(Type.String(), 'Id of the digest. Deliveries with the same digest are sent as one message.'),
  variant: nullable(
    Type.Enum([...variantNames]),
    'Which variant of the message it has. Null: its notification does not compare two.',
  ),
};

export const Delivery = Type.Object(deliveryFields, { $id: 'Delivery' });
export const PastDelivery = Type.Object(
  {
    ...deliveryFields,
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    event: nullable(Type.String(), 'prj/app/evt; null when the event has been deleted.'),
    type: nullable(Type.String(), 'Channel type; null when the channel has been deleted.'),
  },
  { $id: 'PastDelivery' },
);

export const DeliveryFilter = Type.Object({
  status: Type.Optional(deliveryStatus),
  state: Type.Optional(refinedState),
  reason: optionalString({ maxLength: limits.slug, description: 'A stable code.' }),
  order: Type.Optional(Type.Enum(['id', 'attention'], { description: 'Default: `id`.' })),
  user: optionalString({ maxLength: limits.email, description: 'Username.' }),
  channel: optionalString({ description: 'Slug.' }),
});

export const causeParameter = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'Id of a cause, from *List causes of failures*.',
  examples: ['0123456789abcdef'],
});

export const ActivityFilter = Type.Object({
  user: optionalString({ minLength: 1, maxLength: 512, description: 'Username, or any address of the user.' }),
  status: Type.Optional(deliveryStatus),
  state: Type.Optional(refinedState),
  channel: optionalString({ maxLength: limits.slug, description: 'Slug.' }),
  type: optionalString({ maxLength: limits.slug, description: 'Channel type, such as `email` or `sms`.' }),
  since: Type.Optional(time('Only deliveries triggered at this time or later.')),
  until: Type.Optional(time('Only deliveries triggered before this time.')),
  cause: Type.Optional(causeParameter),
});

export const ReplayPreview = Type.Object(
  {
    deliveries: Type.Integer({ description: 'Deliveries that would be replayed.' }),
    checked: Type.Integer({
      description: `Deliveries that were checked, at most ${maxChecked}; the counts below refer to these.`,
    }),
    send: Type.Integer({ description: 'Deliveries that would be sent.' }),
    wait: Type.Integer({
      description: 'Deliveries that would wait for a pause or for quiet hours to end.',
    }),
    skip: Type.Integer({ description: 'Deliveries that would end without being sent.' }),
    reasons: Type.Array(
      Type.Object({
        effect: Type.Enum(['wait', 'skip']),
        reason: Type.String({ description: 'A stable code.' }),
        explanation: Type.String(),
        count: Type.Integer(),
      }),
      { description: 'Why some would wait or not be sent, most frequent first.' },
    ),
    expands: Type.Boolean({ description: 'Whether recipients are also looked up again, because that failed before.' }),
  },
  { $id: 'ReplayPreview' },
);

export const OccurrenceStep = Type.Object(
  {
    notification: nullable(Type.String(), 'Name; null when the notification has been deleted.'),
    number: Type.Integer({ description: 'Number of the run, starting at 1; a repeated step has several runs.' }),
    step: nullable(Type.Integer(), 'Number of the step; null for the notification that the occurrence was resolved.'),
    status: Type.Enum([...stepStatuses], {
      description:
        '`planned` for later, `running`, `done`, `skipped` because there was no one to notify, or `ended` by an earlier ' +
        'acknowledgement or resolution.',
    }),
    reason: nullable(
      Type.String(),
      'Why it was skipped or ended, or notified others than those on call: a stable code.',
    ),
    channels: Type.Array(Type.String(), { description: 'Slugs or types.' }),
    recipients: nullable(
      Type.String(),
      "The step's own distribution list, or its schedule as `on call: SLUG`, with the offset after a plus sign; null when it " +
        "uses the notification's recipients.",
    ),
    unless: nullableText,
    round_robin: Type.Boolean({ description: 'Whether it notifies only the recipient whose turn it is.' }),
    due_at: timestamp,
    ended_at: nullableTimestamp,
    messages: Type.Integer({ description: 'Number of messages.' }),
    suppressed: Type.Integer({ description: 'Number of suppressed deliveries.' }),
  },
  { $id: 'OccurrenceStep' },
);

export const OccurrenceResponse = Type.Object(
  {
    number: Type.Integer(),
    kind: Type.Enum([...responseKinds], {
      description:
        '`expired` and `snooze_ended`: an acknowledgement ended without anyone, and the steps run again. `severity_rose`: an alert ' +
        'became more serious, or a more serious one joined, which also ends an acknowledgement.',
    }),
    at: timestamp,
    by: nullable(Type.String(), 'A user, or the API key that was used.'),
    until: nullable(timestamp, 'Until when it was snoozed, or when the acknowledgement was to expire.'),
  },
  { $id: 'OccurrenceResponse' },
);

export const Answers = Type.Object(
  {
    acknowledged_at: nullableTimestamp,
    acknowledged_by: nullableText,
    acknowledged_until: nullable(timestamp, acknowledgedUntil),
    snoozed_by: nullableText,
    resolved_at: nullableTimestamp,
    resolved_by: nullableText,
    changed: Type.Boolean({
      description: 'False when it was already done, or is resolved or cancelled, so that this request changed nothing.',
    }),
    cancelled: Type.Integer({ description: 'Deliveries that were cancelled as a result.' }),
    missing: Type.Array(Type.String(), {
      description: 'With `ack: each`: usernames of recipients who have yet to acknowledge, at most 20.',
    }),
    missing_count: Type.Integer({ description: 'How many they are.' }),
  },
  { $id: 'Answers' },
);
