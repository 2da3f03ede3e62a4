import { Type } from 'typebox';
import { Message, NotificationEntry, Override } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import type { JsonObject } from '../core/json.ts';
import { allows } from '../core/permissions.ts';
import { limits } from '../core/text.ts';
import { Throttle } from '../core/throttle.ts';
import {
  createNotification,
  findVersionOfMessage,
  getNotification,
  listNotifications,
  listVersionsOfMessage,
  type NotificationChanges,
  type NotificationForm,
  updateNotification,
  type Words,
  writeWords,
} from '../services/notifications.ts';
import { tryNotification } from '../services/trials.ts';
import { TestResult } from './channels.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { VersionSummary, versionFields } from './layouts.ts';
import { list, placeOf, plain, type Route, slugsOf } from './route.ts';

const tag = 'Notifications';
const own = ['name', 'active', 'recipients', 'channels', 'filter', 'environs', 'extra_context', 'priority', 'throttle'];
const words = ['message', 'overrides'];

const NewNotification = fieldsOf<NotificationEntry>('NewNotification', NotificationEntry, [...own, ...words]);
const Changes = changesOf<NotificationChanges>('NotificationChanges', NotificationEntry, own);
const NewMessage = fieldsOf<Words>('NewMessage', NotificationEntry, words);

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
    channels: Type.Array(Type.String(), { description: 'Slugs or types.' }),
    filter: Type.Union([Type.String(), Type.Null()], { description: 'JMESPath over the context.' }),
    environs: Type.Union([Type.Array(Type.String()), Type.Null()]),
    extra_context: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'Free-form JSON.',
    }),
    throttle: Type.Union([Throttle, Type.Null()], { description: 'How much of it one person gets. Null: all.' }),
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
export function unchanging({ missing_variables: _, ...notification }: NotificationForm) {
  return notification;
}

const path = '/api/o/:org/p/:prj/a/:app/e/:evt/n/';
const one = `${path}:notification/` as const;

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

export const notificationRoutes: Route[] = [
  list({
    path,
    permission: 'notification:read',
    id: 'listNotifications',
    summary: 'List notifications',
    tag,
    item: Notification,
    list: ({ deps, organization, event }, page) => listNotifications(deps, organization.id, event.id, page),
  }),
  plain({
    method: 'POST',
    path,
    permission: 'notification:write',
    id: 'createNotification',
    summary: 'Create notification',
    tag,
    status: 201,
    problems: [409],
    body: NewNotification,
    answer: Notification,
    handle: async call => {
      const made = await createNotification(call.deps, slugsOf(call), call.body);
      return created(call, `${placeOf(call)}n/${made.id}/`, made, unchanging(made));
    },
  }),
  plain({
    method: 'GET',
    path: one,
    permission: 'notification:read',
    id: 'retrieveNotification',
    summary: 'Retrieve notification',
    tag,
    status: 200,
    answer: Notification,
    handle: async call => {
      const { deps, organization, event, notification } = call;
      const found = await getNotification(deps, organization.id, event.id, notification.id);
      return tagged(call, found, unchanging(found));
    },
  }),
  plain({
    method: 'PATCH',
    path: one,
    permission: 'notification:write',
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
      const changed = await updateNotification(deps, slugsOf(call), notification.id, body, ifMatch(call));
      return tagged(call, changed, unchanging(changed));
    },
  }),
  plain({
    method: 'PUT',
    path: `${one}message/`,
    permission: 'template:write',
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
      const changed = await writeWords(deps, slugsOf(call), notification.id, body, ifMatch(call));
      return tagged(call, changed, unchanging(changed));
    },
  }),
  plain({
    method: 'POST',
    path: `${one}test/`,
    permission: 'event:trigger',
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
  }),
  list({
    path: `${one}versions/`,
    permission: 'template:read',
    id: 'listMessageVersions',
    summary: 'List message versions',
    description: 'The newest first.',
    tag,
    item: VersionSummary,
    list: ({ deps, organization, notification }, page) =>
      listVersionsOfMessage(deps, organization.id, notification.id, page),
  }),
  plain({
    method: 'GET',
    path: `${one}versions/:version/`,
    permission: 'template:read',
    id: 'retrieveMessageVersion',
    summary: 'Retrieve message version',
    tag,
    status: 200,
    answer: MessageVersion,
    handle: async ({ deps, organization, notification, version }) =>
      (await findVersionOfMessage(deps, organization.id, notification.id, version.number))!,
  }),
];
