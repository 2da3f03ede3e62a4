import { Type } from 'typebox';
import { optionalBoolean, optionalString } from '../../core/optional.ts';
import { textFor, type Viewer } from '../../core/text/live-text.ts';
import { limits, slugPattern } from '../../core/text/text.ts';
import * as queries from '../../db/audience/inbox.ts';
import * as inbox from '../../services/audience/inbox.ts';
import { type Caller, endpoints } from '../server/route.ts';
import { closed, nullable, nullableTimestamp, timestamp } from '../server/schemas.ts';

const { list, plain } = endpoints('Inbox');

const states = {
  seen_at: nullableTimestamp,
  read_at: nullableTimestamp,
  archived_at: nullableTimestamp,
  acted_at: nullableTimestamp,
  action: nullable(Type.String(), 'Name of the action that was taken, if any.'),
};

export const InboxMessage = Type.Object(
  {
    id: Type.Integer(),
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    title: Type.String(),
    body: Type.String({ description: 'Plain text.' }),
    category: nullable(Type.String(), "Slug of the event's category."),
    avatar: nullable(Type.String(), 'URL of an image.'),
    actions: Type.Array(
      Type.Object({
        name: Type.String(),
        label: Type.String(),
        url: nullable(Type.String(), 'Null when the action triggers an event or acknowledges the occurrence.'),
      }),
    ),
    created_at: timestamp,
    ...states,
  },
  { $id: 'InboxMessage' },
);

const InboxFilter = Type.Object({
  unread: optionalBoolean({ description: 'True: only unread messages. False: only read ones.' }),
  unseen: optionalBoolean({ description: 'True: only unseen messages. False: only seen ones.' }),
  archived: optionalBoolean({ description: 'True: only archived messages. Default: only the others.' }),
  category: optionalString({ maxLength: limits.slug, description: 'Slug of a category.' }),
});

/** Returns the fields that a state change can affect. */
export function showStates(message: inbox.InboxMessage) {
  const { id, seen_at, read_at, archived_at, acted_at, action } = message;
  return { id, seen_at: seen_at ?? read_at, read_at, archived_at, acted_at, action };
}

/** Returns who looks at an inbox: links in its messages work for the recipient only. */
export function viewerOf({ kind }: Caller): Viewer {
  return kind === 'recipient' ? 'recipient' : 'other';
}

export function showMessage(message: inbox.InboxMessage, viewer: Viewer) {
  const { occurrence_id, title, body, category, avatar, actions, created_at } = message;
  return {
    ...showStates(message),
    occurrence: occurrence_id,
    title: textFor(viewer, title),
    body: textFor(viewer, body),
    category,
    avatar: avatar && textFor(viewer, avatar),
    actions: (actions ?? []).map(({ name, label, url }) => ({
      name,
      label: textFor(viewer, label),
      url: url === undefined ? null : textFor(viewer, url),
    })),
    created_at,
  };
}

const change = (verb: inbox.InboxChange, id: string, summary: string, description?: string) =>
  plain(['org', 'username', 'message'], {
    id,
    summary,
    description,
    answer: InboxMessage,
    handle: async ({ deps, organization, user, message, caller }) =>
      showMessage(await inbox.changeMessage(deps, organization.id, user.id, message.id, verb), viewerOf(caller)),
  });

export const listInbox = list(['org', 'username'], {
  id: 'listInbox',
  summary: 'List inbox',
  description:
    'Newest first. Links that acknowledge, unsubscribe or change preferences work only if the recipient’s own token is used: ' +
    'with an API key or in the console they lead to a page that explains this.',
  query: InboxFilter,
  item: InboxMessage,
  list: async ({ deps, organization, user, query, caller }, page) => {
    const messages = await queries.listInbox(deps.db, organization.id, user.id, query, page);
    return messages.map(message => showMessage(message, viewerOf(caller)));
  },
});

const unread = Type.Integer({ description: 'Unread messages that are not archived.' });

export const countUnread = plain(['org', 'username'], {
  id: 'countUnread',
  summary: 'Count unread messages',
  answer: Type.Object({ unread }),
  handle: async ({ deps, organization, user }) => {
    const counts = await queries.getInboxCounts(deps.db, organization.id, user.id);
    return { unread: counts.unread };
  },
});

export const retrieveInboxCounts = plain(['org', 'username'], {
  id: 'retrieveInboxCounts',
  summary: 'Retrieve inbox counts',
  answer: Type.Object(
    { unread, unseen: Type.Integer({ description: 'Unread messages that were not seen yet.' }) },
    { $id: 'InboxCounts' },
  ),
  handle: ({ deps, organization, user }) => queries.getInboxCounts(deps.db, organization.id, user.id),
});

export const readInbox = plain(['org', 'username'], {
  id: 'readInbox',
  summary: 'Mark all messages as read',
  answer: Type.Object({ read: Type.Integer({ description: 'Messages that were unread.' }) }),
  handle: async ({ deps, organization, user }) => ({
    read: await inbox.changeAllMessages(deps, organization.id, user.id, 'read'),
  }),
});

export const seeInbox = plain(['org', 'username'], {
  id: 'seeInbox',
  summary: 'Mark all messages as seen',
  description: 'For when the user opens the inbox: the messages stay unread.',
  answer: Type.Object({ seen: Type.Integer({ description: 'Messages that had not been seen.' }) }),
  handle: async ({ deps, organization, user }) => ({
    seen: await inbox.changeAllMessages(deps, organization.id, user.id, 'seen'),
  }),
});

export const seeMessage = change('seen', 'seeMessage', 'Mark message as seen', 'The message stays unread.');
export const readMessage = change(
  'read',
  'readMessage',
  'Mark message as read',
  'A message that is already read keeps its time.',
);
export const unreadMessage = change('unread', 'unreadMessage', 'Mark message as unread');
export const archiveMessage = change(
  'archive',
  'archiveMessage',
  'Archive message',
  'Removes the message from the list and from the unread count.',
);
export const unarchiveMessage = change(
  'unarchive',
  'unarchiveMessage',
  'Unarchive message',
  'Returns the message to the list, read or unread as before.',
);

export const actOnMessage = plain(['org', 'username', 'message'], {
  id: 'actOnMessage',
  summary: 'Take action of message',
  description:
    'The first action is final and marks the message as read. An action with a link is only recorded: your client opens the ' +
    'link. An action with an event triggers it with the context of the original trigger plus `inbox` (`message`, ' +
    '`occurrence`, `action`, `username`). An action with `acknowledge` acknowledges the occurrence. If that fails, the ' +
    'action is not taken. Repeating the same action changes nothing.',
  problems: [400, 409, 429, 503],
  body: Type.Object(
    {
      action: Type.String({
        maxLength: limits.slug,
        pattern: slugPattern,
        patternHint: 'must be the name of an action',
      }),
    },
    { $id: 'InboxActionTaken', ...closed },
  ),
  answer: InboxMessage,
  handle: async ({ deps, organization, user, message, body, caller }) =>
    showMessage(await inbox.takeAction(deps, organization, user, message.id, body.action), viewerOf(caller)),
});
