/** Where the recipients of a notification come from: a list, an expression over users, the trigger itself. */
import { fold, isEmail } from '../core/text.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import { addMissingEmails } from '../db/addresses.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { findRecipientsByName, listMembersAsRecipients, listUsersAsRecipients, type Person } from '../db/recipients.ts';
import { createMissingUsers } from '../db/users.ts';
import { filterInSlices } from '../lib/slices.ts';
import type { EventPlan, PlannedNotification } from './plans.ts';

export type Source = { list: string } | { picks: (user: unknown) => boolean } | { names: string[] };

/**
 * In the order of their reading. Whom the trigger names goes to the notifications that ask for it; where none of the
 * event's does, to all of them, besides their lists.
 */
export function sourcesOf(notification: PlannedNotification, plan: EventPlan, options: TriggerOptions): Source[] {
  const { list, trigger } = notification.recipients;
  const anyAsks = plan.notifications.some(one => one.recipients.trigger);
  const named = trigger || !anyAsks ? (options.recipients ?? []) : [];
  return [
    ...(list === undefined ? [] : [{ list }]),
    ...(notification.picks ? [{ picks: notification.picks }] : []),
    ...(named.length > 0 ? [{ names: named }] : []),
  ];
}

/** A page of them, and what the next one comes after; undefined after the last. */
export async function readRecipients(
  db: Db,
  plan: EventPlan,
  source: Source,
  page: PageRequest,
  makeUsers: boolean,
): Promise<{ people: Person[]; next: number | undefined }> {
  const organizationId = plan.organization.id;
  if ('names' in source) {
    const names = source.names.slice(page.after, page.after + page.limit);
    const people = await findNamed(db, organizationId, names, makeUsers);
    const next = page.after + names.length;
    return { people, next: next < source.names.length ? next : undefined };
  }
  const people =
    'list' in source
      ? await listMembersAsRecipients(db, organizationId, plan.project.id, fold(source.list), page)
      : await listUsersAsRecipients(db, organizationId, page);
  const next = people.length < page.limit ? undefined : people.at(-1)!.position;
  if (!('picks' in source)) return { people, next };
  return { people: await filterInSlices(people, person => isPicked(source.picks, person)), next };
}

/** An expression that cannot be evaluated on a user, say `length()` of a field that only some have, is not true of them. */
export function isPicked(picks: (user: unknown) => boolean, person: Person): boolean {
  try {
    return picks(describeUser(person));
  } catch {
    return false;
  }
}

export type UserFacts = Pick<
  Person,
  'username' | 'email' | 'first_name' | 'last_name' | 'locked' | 'locale' | 'custom_fields'
>;

/** As expressions and templates see a user. */
export function describeUser({ username, email, first_name, last_name, locked, locale, custom_fields }: UserFacts) {
  return { username, email, first_name, last_name, locked, locale, custom_fields };
}

/** As when recipients are added to a list, an address of nobody becomes a user; in a simulation it only seems so. */
async function findNamed(db: Db, organizationId: number, names: string[], makeUsers: boolean): Promise<Person[]> {
  const usernames = names.map(fold);
  const found = await findRecipientsByName(db, organizationId, usernames);
  const known = new Set(found.map(person => person.username));
  const missing = names.filter(name => !known.has(fold(name)) && isEmail(name));
  const people = new Map(missing.map(email => [fold(email), { username: fold(email), email }]));
  if (!makeUsers) return [...found, ...[...people.values()].map(imagine)];
  if (people.size === 0) return found;
  await db.transaction().execute(async trx => {
    await createMissingUsers(trx, organizationId, [...people.values()]);
    await addMissingEmails(trx, organizationId, [...people.keys()]);
  });
  return findRecipientsByName(db, organizationId, usernames);
}

/** Somebody who is no user yet. */
export function imagine({ username, email }: { username: string; email: string }): Person {
  return {
    position: 0,
    user_id: 0,
    username,
    email,
    first_name: '',
    last_name: '',
    locked: false,
    locale: null,
    custom_fields: {},
    version: 0,
    addresses: [{ name: 'email', value: email, disabled: false }],
  };
}
