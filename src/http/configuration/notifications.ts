import { Type } from 'typebox';
import { changesSchemaOf, responseFieldsOf } from '../../core/configuration/entries.ts';
import { Message, notification, type StoredMessage } from '../../core/configuration/nouns/notification.ts';
import { Overrides } from '../../core/configuration/nouns/parts/message-texts.ts';
import { closed } from '../../core/configuration/nouns/schemas.ts';
import { Variants, type VariantTexts } from '../../core/decision/guards/variants.ts';
import { Step } from '../../core/decision/steps.ts';
import { AppError } from '../../core/errors.ts';
import type { ObjectPath } from '../../core/identity/permissions.ts';
import { visibleUsers } from '../../core/identity/visible-users.ts';
import { canonicalJson, type JsonObject } from '../../core/json.ts';
import { limits } from '../../core/text/text.ts';
import * as notifications from '../../services/configuration/notifications.ts';
import * as testSends from '../../services/configuration/try-out/test-sends.ts';
import { listVersions } from '../../services/configuration/versions.ts';
import type { Resources } from '../resolve.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { type Call, list, plain, slugsOf } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';
import { TestResult } from './channels.ts';
import { bodiesOf, entryEndpoints } from './entry-endpoints.ts';
import { VersionSummary, versionFields } from './layouts.ts';

const tag = 'Notifications';
const { more: messageFields, ...fieldsOnly } = notification;

const NewMessage = Type.Object(messageFields!, { $id: 'NewMessage', ...closed });

const messageSchemas = { message: Message, overrides: Overrides };

const Notification = Type.Object(
  {
    id: Type.Integer(),
    ...responseFieldsOf(notification),
    channels: Type.Array(Type.String(), { description: 'Slugs or types. With steps: the channels of all steps.' }),
    steps: nullable(
      Type.Array(Type.Object({ ...Step.properties, channels: Type.Array(Type.String()) })),
      'They run one after the other until the occurrence is acknowledged. Null: none.',
    ),
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

const MessageVersion = Type.Object(
  {
    ...versionFields,
    ...messageSchemas,
    variant: Type.Optional(
      Type.Unsafe<VariantTexts>({
        ...Variants.properties.b,
        description: 'Texts of the second variant, if there was one.',
      }),
    ),
  },
  { $id: 'MessageVersion' },
);

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

/** Throws if the caller may not write messages: the texts of a second variant are settings of the canary. */
function requireTextsRight({ caller, organization, project, application }: Call & ObjectPath): void {
  if (caller.grant.allows('template:write', { organization, project, application })) return;
  throw new AppError(
    caller.kind === 'account' ? 'role.permission' : 'key.permission',
    'canary/variants/b: changing the texts of a message requires the permission template:write',
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

export const entry = entryEndpoints(['org', 'prj', 'app', 'evt'], 'notification', {
  kind: notifications.notification,
  tag,
  at: 'n',
  bodies: {
    ...bodiesOf('notification'),
    update: changesSchemaOf<notifications.NotificationFieldsEntry>('NotificationChanges', fieldsOnly),
  },
  answer: Notification,
  cascades: true,
  list: ({ deps, organization, event }, page) =>
    notifications.listNotifications(deps, organization.id, event!.id, page),
  create: call => {
    requireExpressionRight(call, call.body.recipients.users);
    return notifications.createNotification(call.deps, slugsOf(call), call.body);
  },
  retrieve: ({ deps, organization, event }, id) => notifications.getNotification(deps, organization.id, event!.id, id),
  update: (call, id, isUnchanged) => {
    const { deps, body } = call;
    return notifications.updateNotification(deps, slugsOf(call), id, body, current => {
      isUnchanged(current);
      const users = body.recipients?.users;
      if (users !== current.recipients.users) requireExpressionRight(call, users);
      const texts = body.canary?.variants?.b;
      if (texts && canonicalJson(texts) !== canonicalJson(current.canary?.variants?.b ?? null)) requireTextsRight(call);
    });
  },
  tagOf: withoutCounters,
  descriptions: {
    create: 'Recipients that an expression over users selects require `user:read` for the whole organization.',
    update:
      'Updates everything but the message, which has its own endpoint. A new expression over users requires `user:read` for the ' +
      'whole organization, and new texts of a second variant of the message require `template:write`.',
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
    listVersions(deps, organization.id, 'notification', notification.id, page),
});

export const retrieveMessageVersion = plain(['org', 'prj', 'app', 'evt', 'notification', 'version'], {
  id: 'retrieveMessageVersion',
  summary: 'Retrieve message version',
  tag,
  status: 200,
  answer: MessageVersion,
  handle: ({ version: { content, ...version } }) => ({ ...version, ...(content as unknown as StoredMessage) }),
});
