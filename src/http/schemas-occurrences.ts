/** The shapes of occurrences and their deliveries. */
import { Type } from 'typebox';
import { outcomes } from '../core/outcome.ts';
import { deliveryStatuses, occurrenceStatuses } from '../core/statuses.ts';
import { limits } from '../core/text.ts';
import { maybeMoment, maybeText, moment, url } from './schemas.ts';

const occurrenceFields = {
  identifier: Type.String({ format: 'uuid' }),
  event: Type.Union([Type.String(), Type.Null()], { description: 'prj/app/evt; null when it has been deleted.' }),
  status: Type.Enum([...occurrenceStatuses], { description: 'Where it is on its way through the engine.' }),
  outcome: Type.Enum([...outcomes], {
    description:
      'How it stands, in one word: `scheduled` for later, `held` by a pause, `expanding` while its recipients are looked ' +
      'up, `sending`, and at the end `sent`, `partly_failed`, `failed`, `nobody` (no recipients), `suppressed`, ' +
      '`cancelled` or `expired`.',
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
  },
  { $id: 'PastDelivery' },
);

export const DeliveryFilter = Type.Object({
  status: Type.Optional(deliveryStatus),
  user: Type.Optional(Type.String({ maxLength: limits.email, description: 'Username.' })),
  channel: Type.Optional(Type.String({ description: 'Slug.' })),
});
