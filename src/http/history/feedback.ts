import { Type } from 'typebox';
import { feedbackReasons, feedbackTypes } from '../../core/feedback/event.ts';
import * as queries from '../../db/history/feedback/feedback.ts';
import { feedbackLimits } from '../../services/history/feedback/feedback.ts';
import { endpoints } from '../server/route.ts';
import { nullable, nullableText, time } from '../server/schemas.ts';

const { history, plain } = endpoints('Feedback');

const type = Type.Enum([...feedbackTypes]);

const eventFields = {
  id: Type.String({ format: 'uuid', description: 'Contains the time at which it was received.' }),
  type,
  permanent: nullable(
    Type.Boolean(),
    'Of bounces and deferrals: true if no message will ever arrive at this address, else false. Null for others.',
  ),
  reason: nullable(
    Type.Enum(Object.keys(feedbackReasons) as (keyof typeof feedbackReasons)[]),
    'Why it bounced or was deferred: a stable code.',
  ),
  detail: nullable(Type.String(), "The reporter's own words."),
  recipient: nullable(
    Type.String(),
    'The address that the reporter names. It differs from that of the delivery if the mail was forwarded.',
  ),
  source: Type.String({
    description: 'Name of the service that reported it; `smtp` for a mail, `belfry` for what Belfry recorded itself.',
  }),
  at: time('When it happened, according to the reporter.'),
};

const DeliveryFeedback = Type.Object(eventFields, { $id: 'DeliveryFeedback' });
const Feedback = Type.Object(
  {
    ...eventFields,
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    delivery: Type.Integer({ description: 'Id of the delivery.' }),
    address: nullable(Type.String(), 'The address that the message was sent to.'),
  },
  { $id: 'Feedback' },
);
const UnmatchedFeedback = Type.Object(
  {
    ...eventFields,
    message_id: nullable(Type.String(), 'Id of the message at the service.'),
    delivery_ref: nullableText,
  },
  { $id: 'UnmatchedFeedback' },
);

export const listDeliveryFeedback = plain(['org', 'identifier', 'delivery'], {
  id: 'listDeliveryFeedback',
  summary: 'List feedback of delivery',
  description:
    'What services and mail servers reported about the message after it was sent, oldest first. At most 1,000 events; of ' +
    'opens and clicks, one for each hour; of those that Belfry records itself, one open and one click of each link.',
  answer: Type.Array(DeliveryFeedback),
  handle: ({ deps, organization, occurrence, delivery }) =>
    queries.listDeliveryFeedback(deps.db, organization.id, occurrence.identifier, [delivery.id]),
});

export const listFeedback = history(['org'], {
  id: 'listFeedback',
  readsReplica: true,
  summary: 'List feedback',
  description: 'What services and mail servers reported about messages after they were sent, newest first.',
  query: Type.Object({ type: Type.Optional(type) }),
  item: Feedback,
  list: async ({ deps, organization, query }, page) => {
    const types = query.type ? [query.type] : feedbackTypes;
    const rows = await queries.listFeedback(deps.db, organization.id, types, page);
    return rows.map(({ occurrence_id: occurrence, delivery_id: delivery, ...event }) => ({
      ...event,
      occurrence,
      delivery,
    }));
  },
});

export const listUnmatchedFeedback = history(['org'], {
  id: 'listUnmatchedFeedback',
  readsReplica: true,
  summary: 'List unmatched feedback',
  description:
    'Reports about messages that were not found, newest first: test messages, messages that other programs sent with the ' +
    `same account of the service, and deleted ones. Kept for ${feedbackLimits.unmatchedDays} days.`,
  item: UnmatchedFeedback,
  list: ({ deps, organization }, page) => queries.listUnmatchedFeedback(deps.db, organization.id, page),
});
