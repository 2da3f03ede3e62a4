/** Where the recipients of a notification come from: a list, an expression over users, the trigger itself. */
import type pg from 'pg';
import { fold, isEmail } from '../core/text.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import { addMissingEmails } from '../db/addresses.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import {
  findRecipientsByNameAcrossTenants,
  listMembersAsRecipients,
  listUsersAsRecipients,
  type Person,
} from '../db/recipients.ts';
import { createMissingUsers } from '../db/users.ts';
import { filterInSlices } from '../lib/slices.ts';
import type { EventPlan, PlannedNotification } from './plans.ts';
import type { UsageMeter } from './usage-meter.ts';

/** `key` tells one from what may take its place while a fan-out is going on. */
export type Source = { key: string } & ({ list: string } | { picks: (user: unknown) => boolean } | { names: string[] });

/**
 * In the order of their reading. Whom the trigger names goes to the notifications that ask for it; where none of the
 * event's does, to all of them, besides their lists.
 */
export function sourcesOf(notification: PlannedNotification, plan: EventPlan, options: TriggerOptions): Source[] {
  const { list, trigger, users } = notification.recipients;
  const anyAsks = plan.notifications.some(one => one.recipients.trigger);
  const named = !notification.hasOwnRecipients && (trigger || !anyAsks) ? (options.recipients ?? []) : [];
  return [
    ...(list === undefined ? [] : [{ key: `list ${fold(list)}`, list }]),
    ...(notification.picks ? [{ key: `users ${users}`, picks: notification.picks }] : []),
    ...(named.length > 0 ? [{ key: 'trigger', names: named }] : []),
  ];
}

export interface RecipientPage {
  people: Person[];
  /** What the next page comes after; undefined after the last. */
  next: number | undefined;
  /** Whether somebody was left out because the organization may have no more users. */
  isOverLimit?: boolean;
}

interface Named {
  people: Person[];
  isOverLimit: boolean;
}

interface NamedRequest {
  organizationId: number;
  names: string[];
  resolve: (named: Named) => void;
  reject: (error: unknown) => void;
}

/**
 * Reads recipients for any number of occurrences that are decided together: a page of a list is read once for all of them,
 * and everybody whom they name by one statement. Lives as long as one claim, so that what it remembers is of that moment.
 */
export class RecipientReader {
  readonly #deps: { db: Db; pool: pg.Pool };
  readonly #usage: UsageMeter | undefined;
  readonly #pages = new Map<string, Promise<Person[]>>();
  #named: NamedRequest[] = [];

  /** With `usage`, an email of nobody becomes a user, as far as the organization may have more. In a simulation it only seems so. */
  constructor(deps: { db: Db; pool: pg.Pool }, usage?: UsageMeter) {
    this.#deps = deps;
    this.#usage = usage;
  }

  /** `mark` is called before each evaluation of a tenant's expression. */
  async read(plan: EventPlan, source: Source, page: PageRequest, mark: () => void): Promise<RecipientPage> {
    const organizationId = plan.organization.id;
    if ('names' in source) {
      const names = source.names.slice(page.after, page.after + page.limit);
      const { people, isOverLimit } = await this.#findNamed(organizationId, names);
      const next = page.after + names.length;
      return { people, next: next < source.names.length ? next : undefined, isOverLimit };
    }
    const people = await this.#readPage(organizationId, plan.project.id, source, page);
    const next = people.length < page.limit ? undefined : people.at(-1)!.position;
    if (!('picks' in source)) return { people, next };
    const picks = (person: Person) => {
      mark();
      return isPicked(source.picks, person);
    };
    return { people: await filterInSlices(people, picks), next };
  }

  #readPage(
    organizationId: number,
    projectId: number,
    source: Exclude<Source, { names: string[] }>,
    page: PageRequest,
  ): Promise<Person[]> {
    const { pool } = this.#deps;
    const isList = 'list' in source;
    const key = [organizationId, isList ? `${projectId} ${source.key}` : '', page.after, page.limit].join('/');
    let reading = this.#pages.get(key);
    if (!reading) {
      reading = isList
        ? listMembersAsRecipients(pool, organizationId, projectId, fold(source.list), page)
        : listUsersAsRecipients(pool, organizationId, page);
      this.#pages.set(key, reading);
    }
    return reading;
  }

  #findNamed(organizationId: number, names: string[]): Promise<Named> {
    return new Promise((resolve, reject) => {
      this.#named.push({ organizationId, names, resolve, reject });
      // Whoever asks in the same turn of the event loop is answered together.
      if (this.#named.length === 1) setImmediate(() => this.#answerNamed());
    });
  }

  async #answerNamed(): Promise<void> {
    const requests = this.#named;
    this.#named = [];
    try {
      const wanted = new Map<string, Wanted>();
      for (const { organizationId, names } of requests) {
        for (const email of names) {
          const username = fold(email);
          wanted.set(nameOf(organizationId, username), { organizationId, username, email });
        }
      }
      const found = await this.#find(wanted);
      const missing = [...wanted].filter(([name, { email }]) => !found.has(name) && isEmail(email));
      if (!this.#usage) for (const [name, one] of missing) found.set(name, strangerOf(one));
      const left = this.#usage && missing.length > 0 ? await this.#create(this.#usage, missing, found) : undefined;
      for (const { organizationId, names, resolve } of requests) {
        const keys = names.map(name => nameOf(organizationId, fold(name)));
        const people = new Set(keys.map(key => found.get(key)));
        people.delete(undefined);
        resolve({
          people: [...people] as Person[],
          isOverLimit: left !== undefined && keys.some(key => left.has(key)),
        });
      }
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }

  async #find(wanted: Map<string, Wanted>): Promise<Map<string, Person>> {
    const people = await findRecipientsByNameAcrossTenants(this.#deps.pool, [...wanted.values()]);
    return new Map(people.map(person => [nameOf(person.organization_id, person.username), person]));
  }

  /** As when recipients are added to a list. Returns those for whom the organization had no room. */
  async #create(usage: UsageMeter, missing: [string, Wanted][], found: Map<string, Person>): Promise<Set<string>> {
    const left = new Set<string>();
    for (const [organizationId, some] of Map.groupBy(missing, ([, one]) => one.organizationId)) {
      await this.#deps.db.transaction().execute(async trx => {
        const room = await usage.takeRoomForUsers(trx, organizationId, some.length, Date.now());
        for (const [name] of some.slice(room)) left.add(name);
        const people = some.slice(0, room).map(([, { username, email }]) => ({ username, email }));
        if (people.length === 0) return;
        await createMissingUsers(trx, organizationId, people);
        await addMissingEmails(
          trx,
          organizationId,
          people.map(({ username }) => username),
        );
      });
    }
    for (const [name, person] of await this.#find(new Map(missing))) found.set(name, person);
    return left;
  }
}

interface Wanted {
  organizationId: number;
  username: string;
  email: string;
}

function nameOf(organizationId: number, username: string): string {
  return `${organizationId}/${username}`;
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
  'username' | 'email' | 'first_name' | 'last_name' | 'locked' | 'locale' | 'timezone' | 'custom_fields'
>;

/** As expressions and templates see a user. */
export function describeUser(user: UserFacts) {
  const { username, email, first_name, last_name, locked, locale, timezone, custom_fields } = user;
  return { username, email, first_name, last_name, locked, locale, timezone, custom_fields };
}

/** Somebody who is no user yet. */
export function strangerOf({ username, email }: { username: string; email: string }): Person {
  return {
    organization_id: 0,
    position: 0,
    user_id: 0,
    username,
    email,
    first_name: '',
    last_name: '',
    locked: false,
    locale: null,
    custom_fields: {},
    memberships: null,
    version: 0,
    choices: null,
    link_generation: 0,
    timezone: null,
    quiet_hours: null,
    addresses: [{ name: 'email', value: email, disabled: false }],
  };
}
