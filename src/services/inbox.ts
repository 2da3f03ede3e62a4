/** In-app messages: stored when they are delivered, then read, put away and acted on by whoever they are for. */
import type pg from 'pg';
import { AppError, invalid } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import {
  findInboxMessage,
  getInboxCounts,
  type InboxCounts,
  type InboxFilter,
  type InboxMessage,
  listInbox as listRows,
  type NewInboxMessage,
  storeInboxMessagesAcrossTenants,
} from '../db/inbox.ts';
import {
  actOnInboxMessage,
  changeInboxMessage,
  type InboxChange,
  type InboxSweep,
  sweepInbox as sweepRows,
} from '../db/inbox-changes.ts';
import { findOccurrencesAcrossTenants } from '../db/occurrences.ts';
import type { PageRequest } from '../db/page.ts';
import { isUnavailable, sqlState } from '../db/pool.ts';
import { Batcher } from '../lib/batcher.ts';
import { acknowledge } from './acknowledgements.ts';
import type { Deps } from './deps.ts';
import { getEventPlace, triggerEvent } from './events.ts';

export type { InboxCounts, InboxMessage } from '../db/inbox.ts';
export type { InboxChange, InboxSweep } from '../db/inbox-changes.ts';

/** Messages that change in one transaction: so many are over in a moment and hold nobody up. */
const mostAtOnce = 1_000;

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

export async function getCounts({ db }: Deps, organizationId: number, userId: number): Promise<InboxCounts> {
  return getInboxCounts(db, organizationId, userId);
}

export async function hasMessage({ db }: Deps, organizationId: number, userId: number, id: number): Promise<boolean> {
  return (await findInboxMessage(db, organizationId, userId, id)) !== undefined;
}

/** One that is in that state already stays as it is. */
export async function changeMessage(
  { db }: Deps,
  organizationId: number,
  userId: number,
  id: number,
  change: InboxChange,
): Promise<InboxMessage> {
  await db.transaction().execute(trx => changeInboxMessage(trx, organizationId, userId, id, change));
  return getMessage({ db }, organizationId, userId, id);
}

/** Everything that is not archived. Returns how many changed. */
export async function sweepInbox(
  { db }: Deps,
  organizationId: number,
  userId: number,
  change: InboxSweep,
): Promise<number> {
  let sum = 0;
  for (;;) {
    const changed = await db.transaction().execute(trx => sweepRows(trx, organizationId, userId, change, mostAtOnce));
    sum += changed;
    if (changed < mostAtOnce) return sum;
  }
}

/**
 * Takes an action of a message; the first one is final. Where it triggers an event, that is done while the message is locked:
 * of two who choose at the same time one hears that it is late, and what cannot be triggered is not taken. The event gets what
 * the message was triggered with, and `inbox` beside it.
 */
export async function act(
  deps: Deps,
  organization: { id: number; slug: string },
  user: { id: number; username: string },
  id: number,
  name: string,
): Promise<InboxMessage> {
  const { db } = deps;
  const message = await getMessage(deps, organization.id, user.id, id);
  const action = message.actions?.find(one => one.name === name);
  if (!action) {
    const names = message.actions?.map(one => one.name).join(', ');
    throw invalid({ action: [names ? `must be one of ${names}` : 'cannot be taken: the message has no actions'] });
  }
  // Before the action is noted: it is final as well, and must not be claimed where it did not happen.
  if (action.acknowledge && (message.action ?? name) === name) {
    await acknowledge(deps, organization.id, message.occurrence_id, user.username);
  }
  const trigger = action.event && (await prepare(deps, organization, user, message, name, action.event));
  const isTaken = await db.transaction().execute(async trx => {
    const taken = await actOnInboxMessage(trx, organization.id, user.id, id, name);
    if (taken && trigger) await trigger();
    return taken;
  });
  const after = await getMessage(deps, organization.id, user.id, id);
  if (!isTaken && after.action !== name) {
    throw new AppError('message.acted', `the action ${after.action} has been taken already`);
  }
  return after;
}

/** What has to be asked of the database, before the transaction: inside it, nobody may wait for another connection. */
async function prepare(
  deps: Deps,
  organization: { id: number; slug: string },
  { username }: { username: string },
  { id, occurrence_id }: InboxMessage,
  action: string,
  event: string,
): Promise<() => Promise<string>> {
  const [prj = '', app = '', evt = ''] = event.split('/');
  const place = await getEventPlace(deps, { org: organization.slug, prj, app, evt });
  const [occurrence] = await findOccurrencesAcrossTenants(deps.pool, [
    { organizationId: organization.id, id: occurrence_id },
  ]);
  const inbox = { message: id, occurrence: occurrence_id, action, username };
  const context = { ...(occurrence?.context as JsonObject | undefined), inbox };
  // The same again, when an answer was lost, is the same occurrence.
  return () => triggerEvent(deps, place, { context, idempotencyKey: `inbox-${id}-${action}` });
}

async function getMessage(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  userId: number,
  id: number,
): Promise<InboxMessage> {
  const message = await findInboxMessage(db, organizationId, userId, id);
  if (!message) throw new AppError('message.not_found', 'the message has been deleted meanwhile');
  return message;
}
