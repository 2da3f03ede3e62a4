/** In-app messages: stored when they are delivered, then read and put away by whoever they are for. */
import type pg from 'pg';
import { AppError } from '../core/errors.ts';
import {
  changeInboxMessage,
  countUnread,
  hasInboxMessage,
  type InboxChange,
  type InboxFilter,
  listInbox as listRows,
  type NewInboxMessage,
  readWholeInbox,
  storeInboxMessagesAcrossTenants,
} from '../db/inbox.ts';
import type { PageRequest } from '../db/page.ts';
import { isUnavailable, sqlState } from '../db/pool.ts';
import { Batcher } from '../lib/batcher.ts';
import type { Deps } from './deps.ts';

export type { InboxChange, InboxMessage } from '../db/inbox.ts';

/** Further than this nobody wants to know, and counting stays cheap whatever has piled up. */
export const mostCounted = 1_000;

/** Adding resolves when the message is stored for good. One whose user was deleted meanwhile fails alone. */
export type InboxWriter = Batcher<NewInboxMessage, undefined>;

export function createInboxWriter(pool: pg.Pool): InboxWriter {
  return new Batcher(
    async messages => {
      await storeInboxMessagesAcrossTenants(pool, messages);
      return messages.map(() => undefined);
    },
    {
      mostPerBatch: 500,
      mostWaiting: Number.POSITIVE_INFINITY,
      full: () => new Error('never'),
      isItemsFault: error => sqlState(error) !== undefined && !isUnavailable(error),
    },
  );
}

export async function listInbox(
  { db }: Deps,
  organizationId: number,
  userId: number,
  filter: InboxFilter,
  page: PageRequest,
) {
  return listRows(db, organizationId, userId, filter, page);
}

export async function countUnreadMessages({ db }: Deps, organizationId: number, userId: number): Promise<number> {
  return countUnread(db, organizationId, userId, mostCounted);
}

export async function hasMessage({ db }: Deps, organizationId: number, userId: number, id: number): Promise<boolean> {
  return hasInboxMessage(db, organizationId, userId, id);
}

export async function changeMessage(
  { db }: Deps,
  organizationId: number,
  userId: number,
  id: number,
  change: InboxChange,
) {
  const message = await changeInboxMessage(db, organizationId, userId, id, change);
  if (!message) throw new AppError('message.not_found', 'the message has been deleted meanwhile');
  return message;
}

export async function readAll({ db }: Deps, organizationId: number, userId: number): Promise<number> {
  return readWholeInbox(db, organizationId, userId);
}
