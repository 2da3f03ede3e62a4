import { Type } from 'typebox';
import * as inbox from '../services/inbox.ts';
import { list, plain } from './route.ts';
import { maybeMoment, moment } from './schemas.ts';

const tag = 'Inbox';

const InboxMessage = Type.Object(
  {
    id: Type.Integer(),
    occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    title: Type.String(),
    body: Type.String({ description: 'Plain text.' }),
    created_at: moment,
    read_at: maybeMoment,
    archived_at: maybeMoment,
  },
  { $id: 'InboxMessage' },
);

const InboxFilter = Type.Object({
  unread: Type.Optional(Type.Boolean({ description: 'Only those that are unread, or only those that are read.' })),
  archived: Type.Optional(Type.Boolean({ description: 'Only what is archived; without it, only what is not.' })),
});

function show({ occurrence_id, created_at, read_at, archived_at, ...message }: inbox.InboxMessage) {
  return {
    ...message,
    occurrence: occurrence_id,
    created_at: created_at.toISOString(),
    read_at: read_at?.toISOString() ?? null,
    archived_at: archived_at?.toISOString() ?? null,
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
      show(await inbox.changeMessage(deps, organization.id, user.id, message.id, verb)),
  });

export const listInbox = list(['org', 'username'], {
  id: 'listInbox',
  summary: 'List inbox',
  description: 'The newest first.',
  tag,
  query: InboxFilter,
  item: InboxMessage,
  list: async ({ deps, organization, user, query }, page) =>
    (await inbox.listInbox(deps, organization.id, user.id, query, page)).map(show),
});

export const countUnread = plain(['org', 'username'], {
  id: 'countUnread',
  summary: 'Count unread messages',
  tag,
  status: 200,
  answer: Type.Object({
    unread: Type.Integer({ description: `Counted up to ${inbox.mostCounted}; what is archived does not count.` }),
  }),
  handle: async ({ deps, organization, user }) => ({
    unread: await inbox.countUnreadMessages(deps, organization.id, user.id),
  }),
});

export const readInbox = plain(['org', 'username'], {
  id: 'readInbox',
  summary: 'Mark all messages as read',
  tag,
  status: 200,
  answer: Type.Object({ read: Type.Integer({ description: 'Messages that were unread.' }) }),
  handle: async ({ deps, organization, user }) => ({ read: await inbox.readAll(deps, organization.id, user.id) }),
});

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
