/** Notifications of an event: recipients, conditions, channels and message. */

import type { NotificationEntry } from '../../core/configuration/document.ts';
import { type ChangesOf, mergeEntry } from '../../core/configuration/entries.ts';
import { toNotificationEntry } from '../../core/configuration/export.ts';
import type { NotificationFields, StoredMessage } from '../../core/configuration/nouns/notification.ts';
import { listMissingVariables } from '../../db/configuration/missing-variables.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import { listNotificationVersions } from '../../db/configuration/versions.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { readStates } from './declarative/read.ts';
import {
  type ChangeHooks,
  createEntry,
  gone,
  type Kind,
  type Precondition,
  renameEntry,
  requirePath,
  updateEntry,
} from './entries.ts';

interface Notification extends NotificationFields, StoredMessage {
  id: number;
  /** Current version of the message. */
  version: number;
  updated_at: string;
}

/** Includes counters that change without an edit, and so are not part of the ETag. */
export type NotificationDetails = Awaited<ReturnType<typeof getNotification>>;

export type MessageTexts = Pick<NotificationEntry, 'message' | 'overrides'>;

/** Everything but the message. */
export type NotificationFieldsEntry = Omit<NotificationEntry, keyof MessageTexts>;
type NotificationChanges = ChangesOf<NotificationFieldsEntry>;

export async function listNotifications(
  { db }: Deps,
  organizationId: number,
  eventId: number,
  { after, limit }: PageRequest,
) {
  const all = await readAll(db, organizationId, eventId);
  return addMissingVariables(db, organizationId, all.filter(({ id }) => id > after).slice(0, limit));
}

export async function getNotification({ db }: Deps, organizationId: number, eventId: number, id: number) {
  return withMissingVariables(db, organizationId, await read(db, organizationId, eventId, id));
}

export const notification: Kind<'notification', Notification> = {
  noun: 'notification',
  read: (db, { organization, event }, id) => read(db, organization.id, event!.id, id),
};

export async function createNotification(deps: Deps, slugs: Slugs, entry: NotificationEntry) {
  return { ...(await createEntry(deps, notification, slugs, entry)), missing_variables: [] };
}

/** Updates everything but the message. */
export async function updateNotification(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: NotificationChanges,
  check: Precondition<Notification>,
): Promise<NotificationDetails> {
  return showChanged(deps, slugs, id, changes, check, {
    prepare: async (trx, resolved, current) => {
      if (changes.name === undefined || changes.name === current.name) return;
      await renameEntry(deps, trx, 'notification', resolved, current, changes.name);
    },
    toEntry: current => mergeEntry({}, withoutAlternative(toEntry(current), changes)),
  });
}

/** Replaces the message and its overrides. Creates a new version if they differ. */
export async function writeMessage(
  deps: Deps,
  slugs: Slugs,
  id: number,
  { message, overrides }: MessageTexts,
  check: Precondition<Notification>,
): Promise<NotificationDetails> {
  return showChanged(deps, slugs, id, { message, overrides: overrides ?? null }, check, { toEntry });
}

async function showChanged(deps: Deps, slugs: Slugs, id: number, ...change: Change): Promise<NotificationDetails> {
  const changed = await updateEntry(deps, notification, slugs, id, ...change);
  const { organization } = await requirePath(deps.db, slugs);
  return withMissingVariables(deps.db, organization.id, changed);
}

type Change = [changes: object, check: Precondition<Notification>, hooks: ChangeHooks<Notification>];

async function withMissingVariables(db: Db, organizationId: number, notification: Notification) {
  return (await addMissingVariables(db, organizationId, [notification]))[0]!;
}

async function addMissingVariables(db: Db, organizationId: number, all: Notification[]) {
  const rows = await listMissingVariables(
    db,
    organizationId,
    all.map(({ id }) => id),
  );
  return all.map(notification => ({
    ...notification,
    missing_variables: rows
      .filter(row => row.notification_id === notification.id)
      .map(({ name, count, version, first_at, last_at }) => ({
        name,
        count,
        version,
        first_at: first_at.toISOString(),
        last_at: last_at.toISOString(),
      })),
  }));
}

async function read(db: Db, organizationId: number, eventId: number, id: number): Promise<Notification> {
  const found = (await readAll(db, organizationId, eventId)).find(one => one.id === id);
  if (!found) throw gone('notification');
  return found;
}

async function readAll(db: Db, organizationId: number, eventId: number): Promise<Notification[]> {
  const states = (await readStates(db, organizationId, 'notification', { event: eventId })).get(eventId) ?? [];
  const versions = await listNotificationVersions(db, organizationId, eventId);
  return states.flatMap(state => {
    const latest = versions.find(({ id }) => id === state.id);
    // The notification was deleted between the two reads.
    if (!latest) return [];
    const { content: _, ...fields } = state;
    const { throttle = null, digest = null, canary = null, message, overrides = {} } = toNotificationEntry(state);
    const { id, version, updated_at } = latest;
    return [
      {
        ...fields,
        throttle,
        digest,
        canary,
        id,
        version,
        message,
        overrides,
        updated_at: updated_at.toISOString(),
      },
    ];
  });
}

function toEntry(notification: Notification): NotificationEntry {
  const { id: _, version: _v, updated_at: _u, channels, notify_resolved, ...entry } = notification;
  const own = entry.steps === null ? { channels } : { notify_resolved };
  return mergeEntry({}, { ...entry, ...own }) as NotificationEntry;
}

/** Steps replace channels, and channels replace steps. */
function withoutAlternative(entry: NotificationEntry, { channels, steps }: NotificationChanges): NotificationEntry {
  if (steps && channels === undefined) return { ...entry, channels: undefined };
  if (channels && !steps) {
    const none = { steps: undefined, give_up_after: undefined, acknowledgement_expires: undefined, ack: undefined };
    return { ...entry, ...none, notify_resolved: undefined };
  }
  return entry;
}
