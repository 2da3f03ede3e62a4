import { Type } from 'typebox';
import { isUuid } from '../core/ids.ts';
import * as deliveries from '../services/deliveries.ts';
import { previewReplay } from '../services/replays.ts';
import { badCursor, ordered, type Page, plain } from './route.ts';
import { maybeMoment, maybeText, moment } from './schemas.ts';
import { Delivery, PastDelivery, ReplayPreview } from './schemas-occurrences.ts';

const tag = 'Occurrences';

const Sandboxed = Type.Object(
  {
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    delivery: Type.Integer({ description: 'Id of the delivery.' }),
    user: Type.Union([Type.String(), Type.Null()], { description: 'The username; null when it has been deleted.' }),
    address: maybeText,
    channel: maybeText,
    type: Type.Union([Type.String(), Type.Null()], { description: 'Of the channel.' }),
    event: maybeText,
    notification: maybeText,
    sent_at: maybeMoment,
  },
  { $id: 'Sandboxed' },
);

const Attempt = Type.Object(
  {
    at: moment,
    provider: maybeText,
    outcome: Type.Enum(['sent', 'failed', 'unknown']),
    detail: Type.Union([Type.String(), Type.Null()], { description: "The provider's own words." }),
    duration_ms: Type.Union([Type.Integer(), Type.Null()], { description: 'How long the provider took.' }),
  },
  { $id: 'Attempt' },
);

export function showDelivery<View extends deliveries.DeliveryView>(row: View) {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    sent_at: row.sent_at?.toISOString() ?? null,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  };
}

/** Where the page before ended: an identifier and the id of a delivery. */
export function pageBefore({ after, limit }: Page<string>): deliveries.PageBefore {
  if (after === '') return { before: undefined, limit };
  const [occurrence = '', id = '', ...more] = after.split('.');
  if (!isUuid(occurrence) || !/^\d{1,15}$/.test(id) || more.length > 0) throw badCursor();
  return { before: { occurrence, id: Number(id) }, limit };
}

/** What `pageBefore` reads. */
export function cursorOf({ occurrence, id }: { occurrence: string; id: number }): string {
  return `${occurrence}.${id}`;
}

export function showPast(row: deliveries.PastDelivery) {
  return { ...showDelivery(row), cursor: cursorOf(row) };
}

export const retrieveDelivery = plain(['org', 'identifier', 'delivery'], {
  id: 'retrieveDelivery',
  summary: 'Retrieve delivery',
  tag,
  status: 200,
  answer: Delivery,
  handle: async ({ deps, organization, occurrence, delivery }) =>
    showDelivery(await deliveries.getDelivery(deps, organization.id, occurrence.identifier, delivery.id)),
});

export const previewRetry = plain(['org', 'identifier', 'delivery'], {
  id: 'previewRetry',
  summary: 'Preview retry',
  description: 'What a retry of this delivery would do if it were asked for now. Nothing is sent.',
  tag,
  status: 200,
  answer: Type.Omit(ReplayPreview, []),
  handle: ({ deps, organization, occurrence, delivery }) =>
    previewReplay(deps, organization.id, occurrence.identifier, delivery.id),
});

export const retryDelivery = plain(['org', 'identifier', 'delivery'], {
  id: 'retryDelivery',
  summary: 'Retry delivery',
  description: 'Sends one again that failed, or whose outcome is unknown.',
  tag,
  status: 200,
  answer: Delivery,
  handle: async ({ deps, organization, occurrence, delivery }) =>
    showDelivery(await deliveries.retry(deps, organization.id, occurrence.identifier, delivery.id)),
});

export const listAttempts = plain(['org', 'identifier', 'delivery'], {
  id: 'listAttempts',
  summary: 'List attempts',
  description: 'Each time that a provider was called for this delivery, the oldest first; of failed ones the last 20.',
  tag,
  status: 200,
  answer: Type.Array(Attempt),
  handle: async ({ deps, organization, occurrence, delivery }) => {
    const attempts = await deliveries.listAttempts(deps, organization.id, occurrence.identifier, delivery.id);
    return attempts.map(({ at, ms, ...rest }) => ({ ...rest, at: at.toISOString(), duration_ms: ms }));
  },
});

export const listFailures = ordered(['org'], {
  id: 'listFailures',
  summary: 'List failures',
  description: 'Deliveries that failed or whose outcome is unknown, those of the newest occurrences first.',
  tag,
  item: PastDelivery,
  list: async ({ deps, organization }, page) =>
    (await deliveries.listFailedDeliveries(deps, organization.id, pageBefore(page))).map(showPast),
});

export const listSandbox = ordered(['org'], {
  id: 'listSandbox',
  summary: 'List sandbox messages',
  description:
    'What the `sandbox` provider took instead of sending it, those of the newest occurrences first. The message itself ' +
    'is at the delivery: *Retrieve message*.',
  tag,
  item: Sandboxed,
  list: async ({ deps, organization }, page) => {
    const rows = await deliveries.listSandboxedDeliveries(deps, organization.id, pageBefore(page));
    return rows.map(row => ({ ...showPast(row), delivery: row.id }));
  },
});

export const listUserDeliveries = ordered(['org', 'username'], {
  id: 'listUserDeliveries',
  summary: 'List user deliveries',
  description: 'What became of everything meant for this user, that of the newest occurrences first.',
  tag: 'Users',
  item: PastDelivery,
  list: async ({ deps, organization, user }, page) =>
    (await deliveries.listUserDeliveries(deps, organization.id, user.id, pageBefore(page))).map(showPast),
});
