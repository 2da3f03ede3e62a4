import { Type } from 'typebox';
import { keptAttempts } from '../../core/history/retries.ts';
import { deliveryStateOf } from '../../core/history/states.ts';
import { isUuid } from '../../core/ids.ts';
import { occurrenceChanges } from '../../core/message/message-updates.ts';
import * as queries from '../../db/history/delivery-history.ts';
import * as deliveries from '../../services/history/deliveries.ts';
import { previewReplay } from '../../services/history/replays.ts';
import { badCursor, endpoints, type Page } from '../server/route.ts';
import { nullable, nullableText, nullableTimestamp, time, timestamp } from '../server/schemas.ts';
import { Delivery, PastDelivery, ReplayPreview } from './schemas-occurrences.ts';

const { ordered, plain } = endpoints('Occurrences');

const Sandboxed = Type.Object(
  {
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    delivery: Type.Integer({ description: 'Id of the delivery.' }),
    user: nullable(Type.String(), 'Username; null when the user has been deleted.'),
    address: nullableText,
    channel: nullableText,
    type: nullable(Type.String(), 'Type of the channel.'),
    event: nullableText,
    notification: nullableText,
    sent_at: nullableTimestamp,
  },
  { $id: 'Sandboxed' },
);

const Attempt = Type.Object(
  {
    at: timestamp,
    provider: nullableText,
    outcome: Type.Enum(['sent', 'failed', 'unknown']),
    detail: nullable(Type.String(), "The provider's response or error message."),
    duration_ms: nullable(Type.Integer(), 'Duration of the provider call.'),
  },
  { $id: 'Attempt' },
);

const DeliveryUpdate = Type.Object(
  {
    at: time('When it was attempted. If it was not, when the occurrence was changed.'),
    change: Type.Enum([...occurrenceChanges], { description: 'What happened to the occurrence.' }),
    by: nullable(Type.String(), 'Who changed the occurrence, if that is known.'),
    action: nullable(
      Type.Enum(['update', 'retract']),
      'Whether the message was changed in place or removed; null while nothing was attempted.',
    ),
    outcome: Type.Enum(['done', 'waiting', 'retrying', 'failed', 'unsupported'], {
      description: '`unsupported`: the message cannot be changed, for the reason in `detail`. Nothing was attempted.',
    }),
    detail: nullable(Type.String(), "The provider's error message."),
    duration_ms: nullable(Type.Integer(), 'Duration of the provider call.'),
  },
  { $id: 'DeliveryUpdate' },
);

export function showDelivery<View extends deliveries.DeliveryView>(row: View) {
  return { ...row, state: deliveryStateOf(row) };
}

/** Parses a cursor: the occurrence and the delivery id of the last row of the previous page. */
export function pageBefore({ after, limit }: Page<string>): deliveries.PageBefore {
  if (after === '') return { before: undefined, limit };
  const [occurrence = '', id = '', ...more] = after.split('.');
  if (!isUuid(occurrence) || !/^\d{1,15}$/.test(id) || more.length > 0) throw badCursor();
  return { before: { occurrence, id: Number(id) }, limit };
}

/** Formats a cursor for `pageBefore`. */
export function cursorOf({ occurrence, id }: { occurrence: string; id: number }): string {
  return `${occurrence}.${id}`;
}

export function showPastDelivery(row: deliveries.PastDelivery) {
  return { ...showDelivery(row), cursor: cursorOf(row) };
}

export const retrieveDelivery = plain(['org', 'identifier', 'delivery'], {
  id: 'retrieveDelivery',
  summary: 'Retrieve delivery',
  answer: Delivery,
  handle: async ({ deps, organization, occurrence, delivery }) =>
    showDelivery(await deliveries.getDelivery(deps, organization.id, occurrence.identifier, delivery.id)),
});

export const previewRetry = plain(['org', 'identifier', 'delivery'], {
  id: 'previewRetry',
  summary: 'Preview retry',
  description: 'Returns what a retry of this delivery would do now. Nothing is sent.',
  answer: Type.Omit(ReplayPreview, []),
  handle: ({ deps, organization, occurrence, delivery }) =>
    previewReplay(deps, organization.id, occurrence.identifier, delivery.id),
});

export const retryDelivery = plain(['org', 'identifier', 'delivery'], {
  id: 'retryDelivery',
  summary: 'Retry delivery',
  description: 'Retries a delivery that failed or whose outcome is unknown.',
  answer: Delivery,
  handle: async ({ deps, organization, occurrence, delivery }) =>
    showDelivery(await deliveries.retry(deps, organization.id, occurrence.identifier, delivery.id)),
});

export const listAttempts = plain(['org', 'identifier', 'delivery'], {
  id: 'listAttempts',
  summary: 'List attempts',
  description:
    `The provider calls for this delivery, oldest first. Of those that failed, the first ${keptAttempts.first} and the last ` +
    `${keptAttempts.last} are kept; the delivery's \`attempts\` counts all of them.`,
  answer: Type.Array(Attempt),
  handle: async ({ deps, organization, occurrence, delivery }) => {
    const attempts = await deliveries.listAttempts(deps, organization.id, occurrence.identifier, delivery.id);
    return attempts.map(({ ms, ...rest }) => ({ ...rest, duration_ms: ms }));
  },
});

export const listDeliveryUpdates = plain(['org', 'identifier', 'delivery'], {
  id: 'listDeliveryUpdates',
  summary: 'List updates of delivery',
  description:
    'How this message was updated or retracted after it was sent, because the occurrence was acknowledged, resolved or ' +
    'cancelled, oldest first. Only the last 20 attempts are kept.',
  answer: Type.Array(DeliveryUpdate),
  handle: async ({ deps, organization, occurrence, delivery }) => {
    const updates = await deliveries.listUpdates(deps, organization.id, occurrence.identifier, delivery.id);
    return updates.map(({ ms, ...rest }) => ({ ...rest, duration_ms: ms }));
  },
});

export const listFailures = ordered(['org'], {
  id: 'listFailures',
  readsReplica: true,
  summary: 'List failures',
  description: 'Deliveries that failed or whose outcome is unknown, newest occurrences first.',
  item: PastDelivery,
  list: async ({ deps, organization }, page) =>
    (await queries.listFailedDeliveries(deps.db, organization.id, pageBefore(page))).map(showPastDelivery),
});

export const listSandbox = ordered(['org'], {
  id: 'listSandbox',
  readsReplica: true,
  summary: 'List sandbox messages',
  description:
    'Messages that the `sandbox` provider accepted instead of sending, newest occurrences first. *Retrieve message* returns ' +
    'the content.',
  item: Sandboxed,
  list: async ({ deps, organization }, page) => {
    const rows = await queries.listSandboxedDeliveries(deps.db, organization.id, pageBefore(page));
    return rows.map(row => ({ ...showPastDelivery(row), delivery: row.id }));
  },
});

export const listUserDeliveries = ordered(['org', 'username'], {
  id: 'listUserDeliveries',
  readsReplica: true,
  summary: 'List user deliveries',
  description: 'All deliveries to this user with their status, newest occurrences first.',
  tag: 'Users',
  item: PastDelivery,
  list: async ({ deps, organization, user }, page) =>
    (await queries.listUserDeliveries(deps.db, organization.id, user.id, pageBefore(page))).map(showPastDelivery),
});
