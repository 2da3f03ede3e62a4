/** Notifications of an event one by one: who is told, when, by which channels, and in which words. */
import type { NotificationEntry } from '../core/configuration/document.ts';
import { toNotificationEntry } from '../core/configuration/export.ts';
import type { StoredMessage } from '../core/configuration/state.ts';
import type { Digest } from '../core/digest.ts';
import { mergeEntry } from '../core/entries.ts';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Step } from '../core/steps.ts';
import type { Throttle } from '../core/throttle.ts';
import type { Priority } from '../core/trigger.ts';
import { findMessageVersion, listMessageVersions } from '../db/messages.ts';
import { listMissingVariables } from '../db/missing-variables.ts';
import * as rows from '../db/notifications.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { record } from './audit.ts';
import { readNotifications } from './declarative-read.ts';
import type { Deps } from './deps.ts';
import {
  type Check,
  change,
  createdBy,
  type Deleted,
  type Deletion,
  deleteEntry,
  exists,
  putEntry,
  requirePlace,
} from './entries.ts';
import { showVersion, showVersions } from './versions.ts';

export interface Notification {
  id: number;
  name: string;
  active: boolean;
  recipients: NotificationEntry['recipients'];
  /** Of all steps, where it has some. */
  channels: string[];
  steps: Step[] | null;
  give_up_after: string | null;
  notify_resolved: boolean;
  filter: string | null;
  environs: string[] | null;
  extra_context: JsonObject;
  /** Null: not stated. */
  priority: Priority | null;
  throttle: Throttle | null;
  digest: Digest | null;
  /** Of the message. */
  version: number;
  message: NotificationEntry['message'];
  overrides: NonNullable<NotificationEntry['overrides']>;
  updated_at: string;
}

/** A variable that messages asked for and the context did not have. */
export interface Missing {
  name: string;
  /** Messages that were written without it. */
  count: number;
  /** Of the message in which it was missing last. */
  version: number;
  first_at: string;
  last_at: string;
}

/** With what is counted, and changes by itself. */
export interface NotificationForm extends Notification {
  missing_variables: Missing[];
}

export type Words = Pick<NotificationEntry, 'message' | 'overrides'>;

export type NotificationChanges = {
  [field in Exclude<keyof NotificationEntry, keyof Words>]?: NotificationEntry[field] | null;
} & { name?: string };

export async function listNotifications(
  { db }: Deps,
  organizationId: number,
  eventId: number,
  { after, limit }: PageRequest,
): Promise<NotificationForm[]> {
  const all = await readAll(db, organizationId, eventId);
  return withMissing(db, organizationId, all.filter(({ id }) => id > after).slice(0, limit));
}

export async function findNotification({ db }: Deps, organizationId: number, eventId: number, id: number) {
  return rows.findNotification(db, organizationId, eventId, id);
}

export async function getNotification(
  { db }: Deps,
  organizationId: number,
  eventId: number,
  id: number,
): Promise<NotificationForm> {
  return complete(db, organizationId, await read(db, organizationId, eventId, id));
}

export async function createNotification(
  deps: Deps,
  slugs: Slugs,
  entry: NotificationEntry,
): Promise<NotificationForm> {
  return change(deps, slugs, async trx => {
    const { organization, event } = await requirePlace(trx, slugs);
    const id = createdBy(await putEntry(deps, trx, slugs, 'notifications', entry), 'name', entry);
    return { ...(await read(trx, organization.id, event!.id, id)), missing_variables: [] };
  });
}

export async function deleteNotification(
  deps: Deps,
  slugs: Slugs,
  id: number,
  deletion: Deletion,
  check: Check<Notification>,
): Promise<Deleted> {
  const doomed = {
    noun: 'notification' as const,
    read: (trx: Db, { organization, event }: Place) => read(trx, organization.id, event!.id, id),
    check,
    nameOf: ({ name }: Notification) => name,
    delete: (trx: Db, { organization }: Place) => rows.deleteNotification(trx, organization.id, id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

/** Everything but the words. */
export async function updateNotification(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: NotificationChanges,
  check: Check<Notification>,
): Promise<NotificationForm> {
  return changeOne(deps, slugs, id, check, async (trx, place, current) => {
    if (changes.name !== undefined && changes.name !== current.name) {
      await rename(deps, trx, place, current, changes.name);
    }
    const kept = mergeEntry({}, withoutOther(toEntry(current), changes));
    const entry = mergeEntry(kept, changes) as NotificationEntry;
    await putEntry(deps, trx, slugs, 'notifications', entry);
  });
}

/** The words, which become a new version when they differ. */
export async function writeWords(
  deps: Deps,
  slugs: Slugs,
  id: number,
  { message, overrides }: Words,
  check: Check<Notification>,
): Promise<NotificationForm> {
  return changeOne(deps, slugs, id, check, async (trx, _place, current) => {
    const entry = { ...toEntry(current), message, overrides };
    if (!overrides) delete entry.overrides;
    await putEntry(deps, trx, slugs, 'notifications', entry);
  });
}

async function changeOne(
  deps: Deps,
  slugs: Slugs,
  id: number,
  check: Check<Notification>,
  work: (trx: Db, place: Required<Place>, current: Notification) => Promise<void>,
): Promise<NotificationForm> {
  return change(deps, slugs, async trx => {
    const place = (await requirePlace(trx, slugs)) as Required<Place>;
    const current = await read(trx, place.organization.id, place.event.id, id);
    check(current);
    await work(trx, place, current);
    return complete(trx, place.organization.id, await read(trx, place.organization.id, place.event.id, id));
  });
}

/** In a file a notification is known by its name: there another name is another notification. */
async function rename(deps: Deps, trx: Db, place: Required<Place>, current: Notification, name: string) {
  const { organization, project, application, event } = place;
  if (!(await rows.renameNotification(trx, organization.id, current.id, name))) throw exists('name', name);
  const path = [project.slug, application.slug, event.slug, current.name].join('/');
  await record(deps, trx, organization.id, {
    action: 'update',
    noun: 'notification',
    path,
    before: { name: current.name },
    after: { name },
  });
}

export async function listVersionsOfMessage({ db }: Deps, organizationId: number, id: number, page: PageRequest) {
  return showVersions(page, at => listMessageVersions(db, organizationId, id, at));
}

/** Undefined when there is none of that number. */
export async function findVersionOfMessage({ db }: Deps, organizationId: number, id: number, version: number) {
  const row = await findMessageVersion(db, organizationId, id, version);
  return row && { ...showVersion(row), ...(row.content as unknown as StoredMessage) };
}

async function complete(db: Db, organizationId: number, notification: Notification): Promise<NotificationForm> {
  return (await withMissing(db, organizationId, [notification]))[0]!;
}

async function withMissing(db: Db, organizationId: number, all: Notification[]): Promise<NotificationForm[]> {
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
  if (!found) throw new AppError('notification.not_found', 'the notification has been deleted meanwhile');
  return found;
}

async function readAll(db: Db, organizationId: number, eventId: number): Promise<Notification[]> {
  const states = (await readNotifications(db, organizationId, { event: eventId })).get(eventId) ?? [];
  const stamps = await rows.listNotificationStamps(db, organizationId, eventId);
  return states.flatMap(state => {
    const stamp = stamps.find(({ id }) => id === state.id);
    // Deleted between the two reads.
    if (!stamp) return [];
    const entry = toNotificationEntry(state);
    return [
      {
        id: stamp.id,
        name: entry.name,
        active: state.active,
        recipients: entry.recipients,
        channels: state.channels,
        steps: entry.steps ?? null,
        give_up_after: entry.give_up_after ?? null,
        notify_resolved: entry.notify_resolved ?? false,
        filter: entry.filter ?? null,
        environs: entry.environs ?? null,
        extra_context: (entry.extra_context ?? {}) as JsonObject,
        priority: entry.priority ?? null,
        throttle: entry.throttle ?? null,
        digest: entry.digest ?? null,
        version: stamp.version,
        message: entry.message,
        overrides: entry.overrides ?? {},
        updated_at: stamp.updated_at.toISOString(),
      },
    ];
  });
}

function toEntry(notification: Notification): NotificationEntry {
  const { id: _, version: _v, updated_at: _u, channels, notify_resolved, ...entry } = notification;
  const own = entry.steps === null ? { channels } : { notify_resolved };
  return mergeEntry({}, { ...entry, ...own }) as NotificationEntry;
}

/** Whoever gives steps takes the channels away, and the other way round. */
function withoutOther(entry: NotificationEntry, { channels, steps }: NotificationChanges): NotificationEntry {
  if (steps && channels === undefined) return { ...entry, channels: undefined };
  if (channels && !steps) return { ...entry, steps: undefined, give_up_after: undefined, notify_resolved: undefined };
  return entry;
}
