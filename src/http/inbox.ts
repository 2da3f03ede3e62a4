import { Type } from 'typebox';
import { limits, slugPattern } from '../core/text.ts';
import * as inbox from '../services/inbox.ts';
import { list, plain } from './route.ts';
import { closed, maybeMoment, moment } from './schemas.ts';

const tag = 'Inbox';

const states = {
  seen_at: maybeMoment,
  read_at: maybeMoment,
  archived_at: maybeMoment,
  acted_at: maybeMoment,
  action: Type.Union([Type.String(), Type.Null()], { description: 'Name of the action that was taken.' }),
};

export const InboxMessage = Type.Object(
  {
    id: Type.Integer(),
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    title: Type.String(),
    body: Type.String({ description: 'Plain text.' }),
    category: Type.Union([Type.String(), Type.Null()], { description: "Slug of the event's category." }),
    avatar: Type.Union([Type.String(), Type.Null()], { description: 'Address of a picture.' }),
    actions: Type.Array(
      Type.Object({
        name: Type.String(),
        label: Type.String(),
        url: Type.Union([Type.String(), Type.Null()], {
          description: 'Null: taking it triggers an event, or acknowledges the occurrence.',
        }),
      }),
    ),
    created_at: moment,
    ...states,
  },
  { $id: 'InboxMessage' },
);

const InboxFilter = Type.Object({
  unread: Type.Optional(Type.Boolean({ description: 'Only those that are unread, or only those that are read.' })),
  unseen: Type.Optional(Type.Boolean({ description: 'Only those that were not seen, or only those that were.' })),
  archived: Type.Optional(Type.Boolean({ description: 'Only what is archived; without it, only what is not.' })),
  category: Type.Optional(Type.String({ maxLength: limits.slug, description: 'Slug of a category.' })),
});

/** What a change of state changes. */
export function showStates(message: inbox.InboxMessage) {
  const { id, seen_at, read_at, archived_at, acted_at, action } = message;
  return {
    id,
    seen_at: (seen_at ?? read_at)?.toISOString() ?? null,
    read_at: read_at?.toISOString() ?? null,
    archived_at: archived_at?.toISOString() ?? null,
    acted_at: acted_at?.toISOString() ?? null,
    action,
  };
}

export function showMessage(message: inbox.InboxMessage) {
  const { occurrence_id, title, body, category, avatar, actions, created_at } = message;
  return {
    ...showStates(message),
    occurrence: occurrence_id,
    title,
    body,
    category,
    avatar,
    actions: (actions ?? []).map(({ name, label, url = null }) => ({ name, label, url })),
    created_at: created_at.toISOString(),
  };
}

const change = (verb: inbox.InboxChange, id: string, summary: string, description?: string) =>
  plain(['org', 'username', 'message'], {
    id,
    summary,
    description,
    tag,
    status: 200,
    answer: InboxMessage,
    handle: async ({ deps, organization, user, message }) =>
      showMessage(await inbox.changeMessage(deps, organization.id, user.id, message.id, verb)),
  });

export const listInbox = list(['org', 'username'], {
  id: 'listInbox',
  summary: 'List inbox',
  description: 'The newest first.',
  tag,
  query: InboxFilter,
  item: InboxMessage,
  list: async ({ deps, organization, user, query }, page) =>
    (await inbox.listInbox(deps, organization.id, user.id, query, page)).map(showMessage),
});

const unread = Type.Integer({ description: 'What is archived does not count.' });

export const countUnread = plain(['org', 'username'], {
  id: 'countUnread',
  summary: 'Count unread messages',
  tag,
  status: 200,
  answer: Type.Object({ unread }),
  handle: async ({ deps, organization, user }) => {
    const counts = await inbox.getCounts(deps, organization.id, user.id);
    return { unread: counts.unread };
  },
});

export const retrieveInboxCounts = plain(['org', 'username'], {
  id: 'retrieveInboxCounts',
  summary: 'Retrieve counts of the inbox',
  tag,
  status: 200,
  answer: Type.Object(
    { unread, unseen: Type.Integer({ description: 'Unread messages that were not even seen.' }) },
    { $id: 'InboxCounts' },
  ),
  handle: ({ deps, organization, user }) => inbox.getCounts(deps, organization.id, user.id),
});

export const readInbox = plain(['org', 'username'], {
  id: 'readInbox',
  summary: 'Mark all messages as read',
  tag,
  status: 200,
  answer: Type.Object({ read: Type.Integer({ description: 'Messages that were unread.' }) }),
  handle: async ({ deps, organization, user }) => ({
    read: await inbox.sweepInbox(deps, organization.id, user.id, 'read'),
  }),
});

export const seeInbox = plain(['org', 'username'], {
  id: 'seeInbox',
  summary: 'Mark all messages as seen',
  description: 'As when the list is opened: they stay unread.',
  tag,
  status: 200,
  answer: Type.Object({ seen: Type.Integer({ description: 'Messages that had not been seen.' }) }),
  handle: async ({ deps, organization, user }) => ({
    seen: await inbox.sweepInbox(deps, organization.id, user.id, 'seen'),
  }),
});

export const seeMessage = change('seen', 'seeMessage', 'Mark message as seen', 'It stays unread.');
export const readMessage = change(
  'read',
  'readMessage',
  'Mark message as read',
  'One that is read already keeps its time.',
);
export const unreadMessage = change('unread', 'unreadMessage', 'Mark message as unread');
export const archiveMessage = change(
  'archive',
  'archiveMessage',
  'Archive message',
  'It leaves the list, and the count of unread messages.',
);
export const unarchiveMessage = change(
  'unarchive',
  'unarchiveMessage',
  'Unarchive message',
  'It is back in the list, read or unread as it was.',
);

export const actOnMessage = plain(['org', 'username', 'message'], {
  id: 'actOnMessage',
  summary: 'Take an action of a message',
  description:
    'The first action is final, and the message is read. One with a link is only noted: to follow it is yours. One with an ' +
    'event triggers it, with the context of the original trigger and `inbox` (`message`, `occurrence`, `action`, ' +
    '`username`) beside it, and one with `acknowledge` acknowledges the occurrence; if that is refused, the action is not ' +
    'taken. The same action again changes nothing.',
  tag,
  status: 200,
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
  handle: async ({ deps, organization, user, message, body }) =>
    showMessage(await inbox.act(deps, organization, user, message.id, body.action)),
});
