/** Reads the recipients of a notification from a list, an expression over users, a schedule, or the trigger. */
import type { VisibleUsers } from '../core/identity/visible-users.ts';
import { fold, isEmail } from '../core/text/text.ts';
import type { TriggerOptions } from '../core/trigger.ts';
import { addMissingEmails } from '../db/audience/addresses.ts';
import {
  findProjectMembers,
  findRecipientsByNameAcrossTenants,
  listMembersAsRecipients,
  listUsersAsRecipients,
  type RecipientRecord,
} from '../db/audience/recipients.ts';
import { createMissingUsers } from '../db/audience/users.ts';
import type { PageRequest } from '../db/connection/page.ts';
import type { Db, Statements } from '../db/connection/pool.ts';
import { filterInSlices } from '../lib/load/slices.ts';
import { currentTime } from '../lib/time/clock.ts';
import type { EventPlan, PlannedNotification } from './event-plan.ts';
import type { Plans } from './plans.ts';
import { markSuppressed } from './suppressions.ts';

/** `key` detects whether the source is replaced while a fan-out is in progress. */
type Source = { key: string } & (
  | { list: string }
  | { picks: (user: unknown) => boolean }
  | { names: string[] }
  | OnCallSource
);

/** The users on call, or the fallback list of the schedule while no one is. */
interface OnCallSource {
  schedule: string;
  offset: number;
  isFallback: boolean;
}

/**
 * Returns the sources of a notification in reading order. Recipients named by the trigger go to the notifications with
 * `trigger: true`; if the event has none, to all of its notifications in addition to their lists.
 */
export function sourcesOf(notification: PlannedNotification, plan: EventPlan, options: TriggerOptions): Source[] {
  const { list, trigger, users, schedule, offset = 0 } = notification.recipients;
  const anyAsks = plan.notifications.some(one => one.recipients.trigger);
  const named = !notification.hasOwnRecipients && (trigger || !anyAsks) ? (options.recipients ?? []) : [];
  return [
    ...(list === undefined ? [] : [{ key: `list ${fold(list)}`, list }]),
    ...(notification.picks ? [{ key: `users ${users}`, picks: notification.picks }] : []),
    ...(schedule === undefined
      ? []
      : [
          { key: `schedule ${schedule} ${offset}`, schedule, offset, isFallback: false },
          { key: `fallback of ${schedule} ${offset}`, schedule, offset, isFallback: true },
        ]),
    ...(named.length > 0 ? [{ key: 'trigger', names: named }] : []),
  ];
}

interface RecipientPage {
  users: RecipientRecord[];
  /** The position after which the next page starts; undefined after the last page. */
  next: number | undefined;
  /** Whether a recipient was left out because of the organization's user limit. */
  isOverLimit?: boolean;
  /** Set if no one was on call. */
  gap?: 'schedule.no_one' | 'schedule.fallback' | undefined;
}

interface NamedUsers {
  users: RecipientRecord[];
  isOverLimit: boolean;
}

interface NamedRequest {
  organizationId: number;
  names: string[];
  resolve: (named: NamedUsers) => void;
  reject: (error: unknown) => void;
}

/** Whom a simulation may take into account. */
interface Visibility {
  projectId: number;
  visible: VisibleUsers;
}

/** Limits how many users an organization may have. */
export interface UserQuota {
  /** Reserves room for new users and returns how many of the requested ones may be created. */
  reserveUsers(trx: Db, organizationId: number, requested: number, now: number): Promise<number>;
}

interface ReaderDeps {
  db: Db;
  pool: Statements;
  plans: Pick<Plans, 'suppresses' | 'findSchedule'>;
}

/**
 * Reads recipients for all occurrences that are decided together: a page of a list is read once for all of them, and the
 * recipients they name are read in one statement. A reader lives as long as one claim, so that its cache is never stale.
 */
export class RecipientReader {
  readonly #deps: ReaderDeps;
  readonly #usage: UserQuota | undefined;
  readonly #visibility: Visibility | undefined;
  readonly #pages = new Map<string, Promise<RecipientRecord[]>>();
  #named: NamedRequest[] = [];

  /**
   * With `usage`, unknown emails become users, up to the organization's limit. Without it, as in a simulation, nothing is stored,
   * and users that the caller may not see are treated as if they did not exist.
   */
  constructor(deps: ReaderDeps, { usage, visibility }: { usage?: UserQuota; visibility?: Visibility }) {
    this.#deps = deps;
    this.#usage = usage;
    this.#visibility = visibility;
  }

  /** `mark` is called before each evaluation of a tenant's expression. */
  async read(
    plan: EventPlan,
    source: Source,
    page: PageRequest & { now: number },
    mark: () => void,
  ): Promise<RecipientPage> {
    const organizationId = plan.organization.id;
    if ('names' in source) {
      const names = source.names.slice(page.after, page.after + page.limit);
      const { users, isOverLimit } = await this.#findNamed(organizationId, names);
      const next = page.after + names.length;
      return { users, next: next < source.names.length ? next : undefined, isOverLimit };
    }
    if ('schedule' in source) return this.#readOnCall(plan, source, page);
    const users = await this.#readPage(organizationId, plan.project.id, source, page);
    const next = users.length < page.limit ? undefined : users.at(-1)!.position;
    if (!('picks' in source)) return { users, next };
    const picks = (user: RecipientRecord) => {
      mark();
      return isPicked(source.picks, user);
    };
    const picked = await filterInSlices(users, picks);
    if (this.#visibility?.visible !== 'project') return { users: picked, next };
    return { users: await filterVisible(this.#deps.pool, picked, plan.project.id, 'project'), next };
  }

  /** Locked and deleted users count as absent: someone has to be notified. */
  async #readOnCall(
    { organization, project }: EventPlan,
    { schedule: slug, offset, isFallback }: OnCallSource,
    page: PageRequest & { now: number },
  ): Promise<RecipientPage> {
    const schedule = await this.#deps.plans.findSchedule(organization.id, project.id, slug);
    const users = await this.#findUsers(organization.id, schedule?.usersAt(page.now, offset) ?? []);
    const isCovered = users.some(({ locked }) => !locked);
    const fallback = schedule?.fallback ?? null;
    if (!isFallback) return { users, next: undefined, gap: isCovered || fallback ? undefined : 'schedule.no_one' };
    // Once a page of the list was notified, the others are.
    if (fallback === null || (isCovered && page.after === 0)) return { users: [], next: undefined };
    const list = { key: `list ${fold(fallback)}`, list: fallback };
    const members = await this.#readPage(organization.id, project.id, list, page);
    const next = members.length < page.limit ? undefined : members.at(-1)!.position;
    const isEmpty = members.length === 0 && page.after === 0;
    return { users: members, next, gap: isEmpty ? 'schedule.no_one' : 'schedule.fallback' };
  }

  /** Reads users once for all occurrences. None are created. */
  #findUsers(organizationId: number, usernames: readonly string[]): Promise<RecipientRecord[]> {
    if (usernames.length === 0) return Promise.resolve([]);
    const key = JSON.stringify([organizationId, usernames]);
    let reading = this.#pages.get(key);
    if (!reading) {
      const wanted = usernames.map(username => ({ organizationId, username }));
      reading = findRecipientsByNameAcrossTenants(this.#deps.pool, wanted).then(users =>
        markSuppressed(this.#deps, users),
      );
      this.#pages.set(key, reading);
    }
    return reading;
  }

  #readPage(
    organizationId: number,
    projectId: number,
    source: Exclude<Source, { names: string[] } | OnCallSource>,
    page: PageRequest,
  ): Promise<RecipientRecord[]> {
    const { pool } = this.#deps;
    const isList = 'list' in source;
    const key = [organizationId, isList ? `${projectId} ${source.key}` : '', page.after, page.limit].join('/');
    let reading = this.#pages.get(key);
    if (!reading) {
      reading = isList
        ? listMembersAsRecipients(pool, organizationId, projectId, fold(source.list), page)
        : listUsersAsRecipients(pool, organizationId, page);
      reading = reading.then(users => markSuppressed(this.#deps, users));
      this.#pages.set(key, reading);
    }
    return reading;
  }

  #findNamed(organizationId: number, names: string[]): Promise<NamedUsers> {
    return new Promise((resolve, reject) => {
      this.#named.push({ organizationId, names, resolve, reject });
      // Requests of the same turn of the event loop are answered together.
      if (this.#named.length === 1) setImmediate(() => this.#answerNamed());
    });
  }

  async #answerNamed(): Promise<void> {
    const requests = this.#named;
    this.#named = [];
    try {
      const requested = new Map<string, NamedRecipient>();
      for (const { organizationId, names } of requests) {
        for (const email of names) {
          const username = fold(email);
          requested.set(keyOf(organizationId, username), { organizationId, username, email });
        }
      }
      const found = await this.#find(requested);
      const missing = [...requested].filter(([name, { email }]) => !found.has(name) && isEmail(email));
      if (!this.#usage) for (const [name, one] of missing) found.set(name, unknownRecipient(one));
      const overLimit = this.#usage && missing.length > 0 ? await this.#create(this.#usage, missing, found) : undefined;
      // Whether an unknown address is suppressed is not visible either.
      const isRestricted = this.#visibility !== undefined && this.#visibility.visible !== 'all';
      await markSuppressed(
        this.#deps,
        [...found.values()].filter(({ user_id }) => !isRestricted || user_id !== 0),
      );
      for (const { organizationId, names, resolve } of requests) {
        const keys = names.map(name => keyOf(organizationId, fold(name)));
        const users = new Set(keys.map(key => found.get(key)));
        users.delete(undefined);
        resolve({
          users: [...users] as RecipientRecord[],
          isOverLimit: overLimit !== undefined && keys.some(key => overLimit.has(key)),
        });
      }
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }

  async #find(requested: Map<string, NamedRecipient>): Promise<Map<string, RecipientRecord>> {
    const { pool } = this.#deps;
    const found = await findRecipientsByNameAcrossTenants(pool, [...requested.values()]);
    const { projectId = 0, visible = 'all' } = this.#visibility ?? {};
    const users = await filterVisible(pool, found, projectId, visible);
    return new Map(users.map(user => [keyOf(user.organization_id, user.username), user]));
  }

  /** Creates users and adds them to `found`. Returns the keys of those over the organization's user limit. */
  async #create(
    usage: UserQuota,
    missing: [string, NamedRecipient][],
    found: Map<string, RecipientRecord>,
  ): Promise<Set<string>> {
    const overLimit = new Set<string>();
    for (const [organizationId, some] of Map.groupBy(missing, ([, one]) => one.organizationId)) {
      await this.#deps.db.transaction().execute(async trx => {
        const room = await usage.reserveUsers(trx, organizationId, some.length, currentTime());
        for (const [name] of some.slice(room)) overLimit.add(name);
        const users = some.slice(0, room).map(([, { username, email }]) => ({ username, email }));
        if (users.length === 0) return;
        await createMissingUsers(trx, organizationId, users);
        await addMissingEmails(
          trx,
          organizationId,
          users.map(({ username }) => username),
        );
      });
    }
    for (const [name, user] of await this.#find(new Map(missing))) found.set(name, user);
    return overLimit;
  }
}

/** Leaves out the users of an organization that the caller may not see. */
export async function filterVisible(
  pool: Statements,
  users: RecipientRecord[],
  projectId: number,
  visible: VisibleUsers,
): Promise<RecipientRecord[]> {
  if (visible === 'all' || users.length === 0) return users;
  if (visible === 'none') return [];
  const ids = users.map(({ user_id }) => user_id);
  const members = await findProjectMembers(pool, users[0]!.organization_id, projectId, ids);
  return users.filter(({ user_id }) => members.has(user_id));
}

/** A recipient named by a trigger. */
interface NamedRecipient {
  organizationId: number;
  username: string;
  email: string;
}

function keyOf(organizationId: number, username: string): string {
  return `${organizationId}/${username}`;
}

/** Returns whether the expression selects the user. One that fails, such as `length()` of a missing field, does not. */
export function isPicked(picks: (user: unknown) => boolean, user: RecipientRecord): boolean {
  try {
    return picks(describeUser(user));
  } catch {
    return false;
  }
}

export type UserFacts = Pick<
  RecipientRecord,
  'username' | 'email' | 'first_name' | 'last_name' | 'locked' | 'locale' | 'timezone' | 'custom_fields'
>;

/** Returns the user as expressions and templates see it. */
export function describeUser(user: UserFacts) {
  const { username, email, first_name, last_name, locked, locale, timezone, custom_fields } = user;
  return { username, email, first_name, last_name, locked, locale, timezone, custom_fields };
}

/** Returns a recipient that is not a user yet. */
export function unknownRecipient({
  organizationId = 0,
  username,
  email,
}: Partial<NamedRecipient> & { username: string; email: string }): RecipientRecord {
  return {
    organization_id: organizationId,
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
