import { Type } from 'typebox';
import { feedbackReasons, feedbackTypes } from '../../core/feedback/event.ts';
import * as queries from '../../db/history/feedback/feedback.ts';
import { feedbackLimits } from '../../services/history/feedback/feedback.ts';
import { history, plain } from '../server/route.ts';
import { nullableText } from '../server/schemas.ts';

const tag = 'Feedback';
const type = Type.Enum([...feedbackTypes]);

const eventFields = {
  id: Type.String({ format: 'uuid', description: 'Contains the time at which it was received.' }),
  type,
  permanent: Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'Of bounces and deferrals: true if no message will ever arrive at this address, else false. Null for others.',
  }),
  reason: Type.Union([Type.Enum(Object.keys(feedbackReasons) as (keyof typeof feedbackReasons)[]), Type.Null()], {
    description: 'Why it bounced or was deferred: a stable code.',
  }),
  detail: Type.Union([Type.String(), Type.Null()], { description: "The reporter's own words." }),
  recipient: Type.Union([Type.String(), Type.Null()], {
    description: 'The address that the reporter names. It differs from that of the delivery if the mail was forwarded.',
  }),
  source: Type.String({
    description: 'Name of the service that reported it; `smtp` for a mail, `belfry` for what Belfry recorded itself.',
  }),
  at: Type.String({ format: 'date-time', description: 'When it happened, according to the reporter.' }),
};

const DeliveryFeedback = Type.Object(eventFields, { $id: 'DeliveryFeedback' });
const Feedback = Type.Object(
  {
    ...eventFields,
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    delivery: Type.Integer({ description: 'Id of the delivery.' }),
    address: Type.Union([Type.String(), Type.Null()], { description: 'The address that the message was sent to.' }),
  },
  { $id: 'Feedback' },
);
const UnmatchedFeedback = Type.Object(
  {
    ...eventFields,
    message_id: Type.Union([Type.String(), Type.Null()], { description: 'Id of the message at the service.' }),
    delivery_ref: nullableText,
  },
  { $id: 'UnmatchedFeedback' },
);

function show<Event extends { at: Date }>({ at, ...event }: Event) {
  return { ...event, at: at.toISOString() };
}

export const listDeliveryFeedback = plain(['org', 'identifier', 'delivery'], {
  id: 'listDeliveryFeedback',
  summary: 'List feedback of delivery',
  description:
    'What services and mail servers reported about the message after it was sent, oldest first. At most 1,000 events; of ' +
    'opens and clicks, one for each hour; of those that Belfry records itself, one open and one click of each link.',
  tag,
  status: 200,
  answer: Type.Array(DeliveryFeedback),
  handle: async ({ deps, organization, occurrence, delivery }) =>
    (await queries.listDeliveryFeedback(deps.db, organization.id, occurrence.identifier, [delivery.id])).map(show),
});

export const listFeedback = history(['org'], {
  id: 'listFeedback',
  readsReplica: true,
  summary: 'List feedback',
  description: 'What services and mail servers reported about messages after they were sent, newest first.',
  tag,
  query: Type.Object({ type: Type.Optional(type) }),
  item: Feedback,
  list: async ({ deps, organization, query }, page) => {
    const types = query.type ? [query.type] : feedbackTypes;
    const rows = await queries.listFeedback(deps.db, organization.id, types, page);
    return rows.map(({ occurrence_id: occurrence, delivery_id: delivery, ...event }) => ({
      ...show(event),
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
  tag,
  item: UnmatchedFeedback,
  list: async ({ deps, organization }, page) =>
    (await queries.listUnmatchedFeedback(deps.db, organization.id, page)).map(show),
});
