/** The shapes of occurrences and their deliveries. */
import { Type } from 'typebox';
import { outcomes } from '../core/outcome.ts';
import { deliveryStatuses, occurrenceStatuses, stepStatuses } from '../core/statuses.ts';
import { limits } from '../core/text.ts';
import { mostChecked } from '../services/replays.ts';
import { maybeMoment, maybeText, moment, url } from './schemas.ts';

const occurrenceFields = {
  identifier: Type.String({ format: 'uuid' }),
  event: Type.Union([Type.String(), Type.Null()], { description: 'prj/app/evt; null when it has been deleted.' }),
  status: Type.Enum([...occurrenceStatuses], { description: 'Where it is on its way through the engine.' }),
  outcome: Type.Enum([...outcomes], {
    description:
      'How it stands, in one word: `scheduled` for later, `held` by a pause, `expanding` while its recipients are looked ' +
      'up, `sending`, and at the end `sent`, `partly_failed`, `failed`, `nobody` (no recipients), `suppressed`, ' +
      '`cancelled` or `expired`. With steps: `escalating` while more may come, `acknowledged`, `resolved`, or ' +
      '`unacknowledged` when the steps are over and nobody answered.',
  }),
  scheduled_for: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'When it will be sent, if that is later.',
  }),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'Why it came to nothing, or stopped before everybody was reached.',
  }),
  created_at: moment,
  completed_at: maybeMoment,
  correlation_id: maybeText,
  trace_id: Type.Optional(
    Type.String({ description: 'Of the trace that it belongs to, in hexadecimal. Absent: it was not traced.' }),
  ),
  acknowledged_at: maybeMoment,
  acknowledged_by: Type.Union([Type.String(), Type.Null()], { description: 'A person, or the key that was used.' }),
  resolved_at: maybeMoment,
  resolved_by: maybeText,
  dedup_key: maybeText,
  triggers: Type.Integer({ description: 'How many joined it by their `dedup_key`, the first one included.' }),
  counts: Type.Object(
    {
      pending: Type.Integer({ description: 'Waiting, being sent or to be tried again.' }),
      sent: Type.Integer(),
      failed: Type.Integer(),
      suppressed: Type.Integer(),
      cancelled: Type.Integer(),
      expired: Type.Integer(),
      unknown: Type.Integer(),
    },
    { description: 'Deliveries by status.' },
  ),
};

export const OccurrenceSummary = Type.Object(occurrenceFields, { $id: 'OccurrenceSummary' });
export const Occurrence = Type.Object(
  {
    ...occurrenceFields,
    context: Type.Record(Type.String(), Type.Unknown()),
    options: Type.Record(Type.String(), Type.Unknown()),
    deliveries: url('The list of deliveries.'),
  },
  { $id: 'Occurrence' },
);

export const OccurrenceFilter = Type.Object({
  project: Type.Optional(Type.String({ description: 'Slug.' })),
  application: Type.Optional(Type.String({ description: 'Slug.' })),
  event: Type.Optional(Type.String({ description: 'Slug.' })),
  status: Type.Optional(Type.Enum([...occurrenceStatuses])),
  outcome: Type.Optional(Type.Enum([...outcomes])),
  unacknowledged: Type.Optional(
    Type.Boolean({ description: 'True: only those that somebody is to acknowledge, and nobody has.' }),
  ),
  correlation_id: Type.Optional(Type.String({ maxLength: limits.name })),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.name,
      description: 'What the identifier begins with, or the correlation id.',
    }),
  ),
  since: Type.Optional(moment),
  until: Type.Optional(moment),
});

const deliveryStatus = Type.Enum([...deliveryStatuses]);

const deliveryFields = {
  id: Type.Integer(),
  user: Type.Union([Type.String(), Type.Null()], { description: 'The username; null when the user has been deleted.' }),
  address: maybeText,
  channel: Type.Union([Type.String(), Type.Null()], { description: 'Slug.' }),
  notification: Type.Union([Type.String(), Type.Null()], { description: 'Name.' }),
  status: deliveryStatus,
  reason: Type.Union([Type.String(), Type.Null()], { description: 'A stable code.' }),
  detail: Type.Union([Type.String(), Type.Null()], { description: "The provider's own words." }),
  attempts: Type.Integer(),
  provider: maybeText,
  step: Type.Union([Type.Integer(), Type.Null()], { description: 'The run of a step that it belongs to, from 1 on.' }),
  resolved: Type.Boolean({ description: 'Whether it tells that the occurrence is resolved.' }),
  created_at: moment,
  sent_at: maybeMoment,
  next_attempt_at: maybeMoment,
  digest: Type.Union([Type.String(), Type.Null()], {
    description: 'The digest that carries it: deliveries of the same one went out as one message.',
  }),
};

export const Delivery = Type.Object(deliveryFields, { $id: 'Delivery' });
export const PastDelivery = Type.Object(
  {
    ...deliveryFields,
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    event: Type.Union([Type.String(), Type.Null()], { description: 'prj/app/evt; null when it has been deleted.' }),
    type: Type.Union([Type.String(), Type.Null()], { description: 'Of the channel; null when it has been deleted.' }),
  },
  { $id: 'PastDelivery' },
);

export const DeliveryFilter = Type.Object({
  status: Type.Optional(deliveryStatus),
  reason: Type.Optional(Type.String({ maxLength: limits.slug, description: 'A stable code.' })),
  order: Type.Optional(Type.Enum(['id', 'attention'], { description: '`id`, unless told.' })),
  user: Type.Optional(Type.String({ maxLength: limits.email, description: 'Username.' })),
  channel: Type.Optional(Type.String({ description: 'Slug.' })),
});

export const ActivityFilter = Type.Object({
  user: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, description: 'Username, or any address of the user.' }),
  ),
  status: Type.Optional(deliveryStatus),
  channel: Type.Optional(Type.String({ maxLength: limits.slug, description: 'Slug.' })),
  type: Type.Optional(Type.String({ maxLength: limits.slug, description: 'Of the channel: email, sms, …' })),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Triggered then or later.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Triggered before then.' })),
});

export const ReplayPreview = Type.Object(
  {
    deliveries: Type.Integer({ description: 'Deliveries that would be tried again.' }),
    checked: Type.Integer({
      description: `How many of them were looked at, ${mostChecked} at the most: the counts below are of these.`,
    }),
    send: Type.Integer({ description: 'Those that would be handed to a provider.' }),
    wait: Type.Integer({
      description: 'Those that would wait: something is paused, or it is quiet for the recipient.',
    }),
    skip: Type.Integer({ description: 'Those that would end without being sent.' }),
    reasons: Type.Array(
      Type.Object({
        prospect: Type.Enum(['wait', 'skip']),
        reason: Type.String({ description: 'A stable code.' }),
        explanation: Type.String(),
        count: Type.Integer(),
      }),
      { description: 'Why some would wait or not be sent, the most frequent first.' },
    ),
    expands: Type.Boolean({ description: 'Whether recipients are looked up again too, as that was set aside.' }),
  },
  { $id: 'ReplayPreview' },
);

export const OccurrenceStep = Type.Object(
  {
    notification: Type.Union([Type.String(), Type.Null()], { description: 'Name; null when it has been deleted.' }),
    number: Type.Integer({ description: 'Of the run, from 1 on: a step that is repeated has several.' }),
    step: Type.Union([Type.Integer(), Type.Null()], { description: 'Of the step. Null: it tells of the resolution.' }),
    status: Type.Enum([...stepStatuses], {
      description:
        '`planned` for later, `running`, `done`, `skipped` because nobody was to be told, `ended` by an answer before it came.',
    }),
    reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it was skipped or ended: a stable code.' }),
    channels: Type.Array(Type.String(), { description: 'Slugs or types.' }),
    recipients: Type.Union([Type.String(), Type.Null()], {
      description: "A list of its own. Null: the notification's.",
    }),
    unless: maybeText,
    due_at: moment,
    ended_at: maybeMoment,
    told: Type.Integer({ description: 'Messages.' }),
    suppressed: Type.Integer({ description: 'Those that were not to be sent.' }),
  },
  { $id: 'OccurrenceStep' },
);

export const Answers = Type.Object(
  {
    acknowledged_at: maybeMoment,
    acknowledged_by: maybeText,
    resolved_at: maybeMoment,
    resolved_by: maybeText,
    changed: Type.Boolean({ description: 'False: somebody was first, and this changed nothing.' }),
    cancelled: Type.Integer({ description: 'Messages that are not sent because of it.' }),
  },
  { $id: 'Answers' },
);
