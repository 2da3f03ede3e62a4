/** In-app messages: stored on delivery, then read, archived and acted on by their recipient. */
import type pg from 'pg';
import { AppError, invalid } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import {
  findInboxMessage,
  type InboxMessage,
  type NewInboxMessage,
  storeInboxMessagesAcrossTenants,
} from '../../db/audience/inbox.ts';
import {
  actOnInboxMessage,
  changeInboxMessage,
  changeInboxMessages,
  type InboxBulkChange,
  type InboxChange,
} from '../../db/audience/inbox-changes.ts';
import { isUnavailable, sqlState } from '../../db/connection/pool.ts';
import { findOccurrencesAcrossTenants } from '../../db/history/occurrences.ts';
import { noteAction } from '../../db/ledger/expand/canaries.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import { resolveEventPath } from '../configuration/events.ts';
import type { Deps } from '../deps.ts';
import { acknowledge } from '../history/acknowledgements/acknowledgements.ts';
import { triggerEvent } from '../history/triggers.ts';

export type { InboxMessage } from '../../db/audience/inbox.ts';
export type { InboxChange } from '../../db/audience/inbox-changes.ts';

/** Messages per transaction: few enough to hold the locks only briefly. */
const messagesPerTransaction = 1_000;

/** `add` resolves once the message is committed. A message whose user has been deleted fails alone. */
export type InboxWriter = Batcher<NewInboxMessage, undefined>;

export function createInboxWriter(pool: pg.Pool): InboxWriter {
  return new Batcher(
    async messages => {
      await storeInboxMessagesAcrossTenants(pool, messages);
      return messages.map(() => undefined);
    },
    {
      maxPerBatch: 500,
      isItemError: error => sqlState(error) !== undefined && !isUnavailable(error),
    },
  );
}

/** A message that is already in that state is left unchanged. */
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

/** Changes all messages that are not archived. Returns how many changed. */
export async function changeAllMessages(
  { db }: Deps,
  organizationId: number,
  userId: number,
  change: InboxBulkChange,
): Promise<number> {
  let sum = 0;
  for (;;) {
    const changed = await db
      .transaction()
      .execute(trx => changeInboxMessages(trx, organizationId, userId, change, messagesPerTransaction));
    sum += changed;
    if (changed < messagesPerTransaction) return sum;
  }
}

/**
 * Takes an action of a message; the first action is final. If it triggers an event, it does so while the message is
 * locked: of two concurrent calls one fails, and if the trigger fails the action is not taken. The event receives the
 * context of the original trigger plus `inbox`.
 */
export async function takeAction(
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
  // Acknowledges before storing the action: both are final, and the action must not be stored if this fails.
  if (action.acknowledge && (message.action ?? name) === name) {
    await acknowledge(deps, organization.id, message.occurrence_id, user.username, user.id);
  }
  const trigger = action.event && (await prepareTrigger(deps, organization, user, message, name, action.event));
  const isTaken = await db.transaction().execute(async trx => {
    const taken = await actOnInboxMessage(trx, organization.id, user.id, id, name);
    if (taken && trigger) await trigger();
    return taken;
  });
  const after = await getMessage(deps, organization.id, user.id, id);
  if (!isTaken && after.action !== name) {
    throw new AppError('message.acted', `the action ${after.action} has already been taken`);
  }
  await noteAction(db, organization.id, message.occurrence_id, id);
  return after;
}

/** Runs the queries of the trigger before the transaction, which must not wait for a second connection. */
async function prepareTrigger(
  deps: Deps,
  organization: { id: number; slug: string },
  { username }: { username: string },
  { id, occurrence_id }: InboxMessage,
  action: string,
  event: string,
): Promise<() => Promise<string>> {
  const [prj = '', app = '', evt = ''] = event.split('/');
  const place = await resolveEventPath(deps, { org: organization.slug, prj, app, evt });
  const [occurrence] = await findOccurrencesAcrossTenants(deps.pool, [
    { organizationId: organization.id, id: occurrence_id },
  ]);
  const inbox = { message: id, occurrence: occurrence_id, action, username };
  const context = { ...(occurrence?.context as JsonObject | undefined), inbox };
  // A retry after a lost response returns the same occurrence.
  return () => triggerEvent(deps, place, { context, idempotencyKey: `inbox-${id}-${action}` });
}

async function getMessage(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  userId: number,
  id: number,
): Promise<InboxMessage> {
  const message = await findInboxMessage(db, organizationId, userId, id);
  if (!message) throw new AppError('message.not_found', 'the message has been deleted');
  return message;
}
