import { Type } from 'typebox';
import { Message, NotificationEntry, Override } from '../core/configuration/document.ts';
import { Digest } from '../core/digest.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import type { JsonObject } from '../core/json.ts';
import { allows } from '../core/permissions.ts';
import { Step } from '../core/steps.ts';
import { limits } from '../core/text.ts';
import { Throttle } from '../core/throttle.ts';
import * as notifications from '../services/notifications.ts';
import { tryNotification } from '../services/trials.ts';
import { TestResult } from './channels.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { VersionSummary, versionFields } from './layouts.ts';
import { list, placeOf, plain, slugsOf } from './route.ts';
import { CascadeQuery, Deleted, deletionOf } from './schemas.ts';

const tag = 'Notifications';
const own = [
  ...['name', 'active', 'recipients', 'channels', 'steps', 'give_up_after', 'notify_resolved', 'filter', 'environs'],
  ...['extra_context', 'priority', 'throttle', 'digest'],
];
const words = ['message', 'overrides'];

const NewNotification = fieldsOf<NotificationEntry>('NewNotification', NotificationEntry, [...own, ...words]);
const Changes = changesOf<notifications.NotificationChanges>('NotificationChanges', NotificationEntry, own);
const NewMessage = fieldsOf<notifications.Words>('NewMessage', NotificationEntry, words);

const wordFields = {
  message: Message,
  overrides: Type.Record(Type.String(), Override, { description: 'What differs on a channel, by its slug or type.' }),
};

const Notification = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    active: Type.Boolean(),
    recipients: NotificationEntry.properties.recipients,
    channels: Type.Array(Type.String(), { description: 'Slugs or types; of all steps, where it has some.' }),
    steps: Type.Union([Type.Array(Step), Type.Null()], { description: 'Null: it tells everybody at once.' }),
    give_up_after: Type.Union([Type.String(), Type.Null()], { description: 'Of steps; null: 24h.' }),
    notify_resolved: Type.Boolean({ description: 'Whether those who were told hear that it is resolved.' }),
    filter: Type.Union([Type.String(), Type.Null()], { description: 'JMESPath over the context.' }),
    environs: Type.Union([Type.Array(Type.String()), Type.Null()]),
    extra_context: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'Free-form JSON.',
    }),
    throttle: Type.Union([Throttle, Type.Null()], { description: 'How much of it one person gets. Null: all.' }),
    digest: Type.Union([Digest, Type.Null()], { description: 'What gathers into one message. Null: nothing.' }),
    priority: Type.Union([Type.String(), Type.Null()], { description: 'urgent, normal or bulk; null: not stated.' }),
    version: Type.Integer({ description: 'Of the message.' }),
    ...wordFields,
    missing_variables: Type.Array(
      Type.Object({
        name: Type.String({ description: 'As the template writes it: order.total.' }),
        count: Type.Integer({ description: 'Messages that were written without it.' }),
        version: Type.Integer({ description: 'Of the message in which it was missing last.' }),
        first_at: Type.String({ format: 'date-time' }),
        last_at: Type.String({ format: 'date-time' }),
      }),
      { description: 'What messages asked for and the context did not have. Not part of the ETag.' },
    ),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Notification' },
);

const MessageVersion = Type.Object({ ...versionFields, ...wordFields }, { $id: 'MessageVersion' });

/** Counts change by themselves, and must not stand in the way of a change. */
function unchanging({ missing_variables: _, ...notification }: notifications.NotificationForm) {
  return notification;
}

const NotificationTest = Type.Object(
  {
    to: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.address, description: 'An address; not where a room is set.' }),
    ),
    channel: Type.String({ minLength: 1, maxLength: limits.slug, description: 'Slug or type.' }),
    context: Type.Optional(
      Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, description: 'Free-form JSON.' }),
    ),
    user: Type.Optional(
      Type.String({ maxLength: limits.email, description: 'Username of the one the words are about.' }),
    ),
  },
  { $id: 'NotificationTest', additionalProperties: false },
);

export const listNotifications = list(['org', 'prj', 'app', 'evt'], {
  id: 'listNotifications',
  summary: 'List notifications',
  tag,
  item: Notification,
  list: ({ deps, organization, event }, page) => notifications.listNotifications(deps, organization.id, event.id, page),
});

export const createNotification = plain(['org', 'prj', 'app', 'evt'], {
  id: 'createNotification',
  summary: 'Create notification',
  tag,
  status: 201,
  problems: [409],
  body: NewNotification,
  answer: Notification,
  handle: async call => {
    const made = await notifications.createNotification(call.deps, slugsOf(call), call.body);
    return created(call, `${placeOf(call)}n/${made.id}/`, made, unchanging(made));
  },
});

export const retrieveNotification = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'retrieveNotification',
  summary: 'Retrieve notification',
  tag,
  status: 200,
  answer: Notification,
  handle: async call => {
    const { deps, organization, event, notification } = call;
    const found = await notifications.getNotification(deps, organization.id, event.id, notification.id);
    return tagged(call, found, unchanging(found));
  },
});

export const patchNotification = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'patchNotification',
  summary: 'Change notification',
  description: 'Everything but its words: those are written as a new version of the message.',
  tag,
  status: 200,
  problems: [409],
  body: Changes,
  answer: Notification,
  handle: async call => {
    const { deps, notification, body } = call;
    const changed = await notifications.updateNotification(deps, slugsOf(call), notification.id, body, ifMatch(call));
    return tagged(call, changed, unchanging(changed));
  },
});

export const writeMessage = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'writeMessage',
  summary: 'Write message',
  description:
    'Becomes the current version; the same words again make none. An older version comes back by sending it once more.',
  tag,
  status: 200,
  body: NewMessage,
  answer: Notification,
  handle: async call => {
    const { deps, notification, body } = call;
    const changed = await notifications.writeWords(deps, slugsOf(call), notification.id, body, ifMatch(call));
    return tagged(call, changed, unchanging(changed));
  },
});

export const testNotification = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'testNotification',
  summary: 'Test notification',
  description:
    'Really sends its message to one address now, whatever its filter says, and tells the answer of the provider. ' +
    'Nothing is kept as a delivery. To name a user takes `user:read` as well.',
  tag,
  status: 200,
  body: NotificationTest,
  answer: TestResult,
  handle: ({ deps, caller, body, notification, organization, project, application, event }) => {
    const place = { organization, project, application, event };
    return tryNotification(deps, place, notification, body, allows(caller.permissions, 'user:read'));
  },
});

export const listMessageVersions = list(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'listMessageVersions',
  summary: 'List message versions',
  description: 'The newest first.',
  tag,
  item: VersionSummary,
  list: ({ deps, organization, notification }, page) =>
    notifications.listVersionsOfMessage(deps, organization.id, notification.id, page),
});

export const retrieveMessageVersion = plain(['org', 'prj', 'app', 'evt', 'notification', 'version'], {
  id: 'retrieveMessageVersion',
  summary: 'Retrieve message version',
  tag,
  status: 200,
  answer: MessageVersion,
  handle: async ({ deps, organization, notification, version }) =>
    (await notifications.findVersionOfMessage(deps, organization.id, notification.id, version.number))!,
});

export const deleteNotification = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'deleteNotification',
  summary: 'Delete notification',
  description: 'What has something below it is refused, unless `cascade` is given. History stays.',
  tag,
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call =>
    notifications.deleteNotification(
      call.deps,
      slugsOf(call),
      call.notification.id,
      deletionOf(call.query),
      ifMatch(call),
    ),
});
