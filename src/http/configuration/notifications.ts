import { Type } from 'typebox';
import type { NotificationEntry } from '../../core/configuration/document.ts';
import { changesSchemaOf, newSchemaOf, responseFieldsOf } from '../../core/configuration/entries.ts';
import { Message, notification, Overrides } from '../../core/configuration/nouns/notification.ts';
import { closed } from '../../core/configuration/nouns/schemas.ts';
import { AppError } from '../../core/errors.ts';
import { visibleUsers } from '../../core/identity/visible-users.ts';
import type { JsonObject } from '../../core/json.ts';
import { limits } from '../../core/text/text.ts';
import { deleteEntry } from '../../services/configuration/entries.ts';
import * as notifications from '../../services/configuration/notifications.ts';
import * as testSends from '../../services/configuration/try-out/test-sends.ts';
import type { Resources } from '../resolve.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, type Call, list, plain, slugsOf } from '../server/route.ts';
import { CascadeQuery, Deleted, deletionOptions } from '../server/schemas.ts';
import { TestResult } from './channels.ts';
import { VersionSummary, versionFields } from './layouts.ts';

const tag = 'Notifications';
const messageFields = { message: Message, overrides: Type.Optional(Overrides) };

const NewNotification = newSchemaOf('NewNotification', notification, messageFields);
const Changes = changesSchemaOf<notifications.NotificationFieldsEntry>('NotificationChanges', notification);
const NewMessage = Type.Object(messageFields, { $id: 'NewMessage', ...closed });

const messageSchemas = { message: Message, overrides: Overrides };

const Notification = Type.Object(
  {
    id: Type.Integer(),
    ...responseFieldsOf(notification),
    channels: Type.Array(Type.String(), { description: 'Slugs or types. With steps: the channels of all steps.' }),
    version: Type.Integer({ description: 'Current version of the message.' }),
    ...messageSchemas,
    missing_variables: Type.Array(
      Type.Object({
        name: Type.String({ description: 'As written in the template: order.total.' }),
        count: Type.Integer({ description: 'Number of messages rendered without it.' }),
        version: Type.Integer({ description: 'Version of the last message in which it was missing.' }),
        first_at: Type.String({ format: 'date-time' }),
        last_at: Type.String({ format: 'date-time' }),
      }),
      { description: 'Variables that were missing from the context. Not part of the ETag.' },
    ),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Notification' },
);

const MessageVersion = Type.Object({ ...versionFields, ...messageSchemas }, { $id: 'MessageVersion' });

/** Leaves out counters, which change without an edit and must not make an If-Match fail. */
function withoutCounters({ missing_variables: _, ...notification }: notifications.NotificationDetails) {
  return notification;
}

/**
 * Throws if the caller may not read all users: who is selected by an expression of one's choice, or how many, answers any
 * question about them.
 */
function requireExpressionRight({ caller, organization }: Call & Resources<'org'>, users: string | undefined): void {
  if (users === undefined || caller.grant.allows('user:read', { organization })) return;
  throw new AppError(
    caller.kind === 'account' ? 'role.permission' : 'key.permission',
    'recipients/users: an expression over users requires the permission user:read for the whole organization',
  );
}

const NotificationTest = Type.Object(
  {
    to: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.address,
        description: 'Address to send to. Not needed if the provider posts to a fixed room.',
      }),
    ),
    channel: Type.String({ minLength: 1, maxLength: limits.slug, description: 'Slug or type.' }),
    context: Type.Optional(
      Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, description: 'Free-form JSON.' }),
    ),
    user: Type.Optional(
      Type.String({ maxLength: limits.email, description: 'Username of the recipient to render for.' }),
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
  description: 'Recipients that an expression over users selects require `user:read` for the whole organization.',
  tag,
  status: 201,
  problems: [409],
  body: NewNotification,
  answer: Notification,
  handle: async call => {
    requireExpressionRight(call, call.body.recipients.users);
    const made = await notifications.createNotification(call.deps, slugsOf(call), call.body);
    return asCreated(call, `${apiPathOf(call)}n/${made.id}/`, made, withoutCounters(made));
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
    return withEtag(call, found, withoutCounters(found));
  },
});

export const updateNotification = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'updateNotification',
  summary: 'Update notification',
  description:
    'Updates everything but the message, which has its own endpoint. A new expression over users requires `user:read` for the ' +
    'whole organization.',
  tag,
  status: 200,
  problems: [409],
  body: Changes,
  answer: Notification,
  handle: async call => {
    const { deps, notification, body } = call;
    const isUnchanged = ifMatch(call);
    const check = (current: { recipients: NotificationEntry['recipients'] }) => {
      isUnchanged(current);
      const users = body.recipients?.users;
      if (users !== current.recipients.users) requireExpressionRight(call, users);
    };
    const changed = await notifications.updateNotification(deps, slugsOf(call), notification.id, body, check);
    return withEtag(call, changed, withoutCounters(changed));
  },
});

export const writeMessage = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'writeMessage',
  summary: 'Write message',
  description:
    'Creates a new current version, unless nothing differs. To restore an older version, send its content again.',
  tag,
  status: 200,
  body: NewMessage,
  answer: Notification,
  handle: async call => {
    const { deps, notification, body } = call;
    const changed = await notifications.writeMessage(deps, slugsOf(call), notification.id, body, ifMatch(call));
    return withEtag(call, changed, withoutCounters(changed));
  },
});

export const testNotification = plain(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'testNotification',
  summary: 'Test notification',
  description:
    "Sends one real message now, ignoring the filter, and returns the provider's answer. It can be sent to your own email " +
    'address and those of team members; any other address requires `channel:write`. No delivery is stored. Naming a ' +
    'user requires `user:read`.',
  tag,
  status: 200,
  body: NotificationTest,
  answer: TestResult,
  handle: ({ deps, caller, body, notification, organization, project, application, event }) => {
    const path = { organization, project, application, event };
    return testSends.testNotification(deps, path, notification, body, {
      visible: visibleUsers(caller.grant, path),
      mayReachAnyone: ({ projectId }) =>
        caller.grant.allows('channel:write', projectId === null ? { organization } : path),
    });
  },
});

export const listMessageVersions = list(['org', 'prj', 'app', 'evt', 'notification'], {
  id: 'listMessageVersions',
  summary: 'List message versions',
  description: 'Newest first.',
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
  description: 'Fails if there are objects below it, unless `cascade` is true. History is kept.',
  tag,
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => {
    const { deps, notification, query } = call;
    const kind = notifications.notification;
    return deleteEntry(deps, kind, slugsOf(call), notification.id, deletionOptions(query), ifMatch(call));
  },
});
