/**
 * What requests ask again and again (keys, sessions, the places that paths name, channels), kept in memory and true:
 * every change in the database is announced with its organization or account, and what was read before the announcement
 * is not believed after it. While nobody listens for announcements, nothing is kept.
 */
import { type Channel, listAllChannels } from '../db/channels.ts';
import { findKeyAcrossTenants, type Key } from '../db/keys.ts';
import { findPlaceAcrossTenants, type Place, type Slugs } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import { findSessionAcrossTenants, type Session } from '../db/sessions.ts';

export type Entries<T> = Map<string, Entry<T>>;

/** What an announcement is about: the id of an organization, or an account. */
export type Scope = number | `account ${number}`;

interface Entry<T> {
  value: T;
  scope: Scope;
  /** The generation at which reading began. */
  readAt: number;
  expiresAt: number;
}

interface Reading {
  readAt: number;
  answer: Promise<unknown>;
}

/** A backstop only: announcements are what keeps it true. */
const maxAgeMs = 60_000;
const mostEntries = 100_000;

export class TenantCache {
  readonly #db: Db;
  readonly #keys = new Map<string, Entry<Key>>();
  readonly #sessions = new Map<string, Entry<Session>>();
  readonly #places = new Map<string, Entry<Place>>();
  readonly #channels = new Map<string, Entry<Channel[]>>();
  readonly #reading = new WeakMap<object, Map<string, Reading>>();
  readonly #invalidatedAt = new Map<Scope, number>();
  #generation = 0;
  #allInvalidatedAt = 0;
  #isConnectedNow = false;

  constructor(db: Db) {
    this.#db = db;
  }

  connected(): void {
    this.#allInvalidatedAt = ++this.#generation;
    this.#isConnectedNow = true;
  }

  get isConnected(): boolean {
    return this.#isConnectedNow;
  }

  disconnected(): void {
    this.#isConnectedNow = false;
  }

  invalidate(scope: Scope): void {
    this.#invalidatedAt.set(scope, ++this.#generation);
  }

  /** What the database announced. */
  announced(payload: string): void {
    this.invalidate(payload.startsWith('account ') ? (payload as Scope) : Number(payload));
  }

  findKey(id: string): Key | undefined | Promise<Key | undefined> {
    return this.getOrRead(
      this.#keys,
      id,
      () => findKeyAcrossTenants(this.#db, id),
      key => key.organization_id,
    );
  }

  findSession(tokenHash: Buffer): Session | undefined | Promise<Session | undefined> {
    return this.getOrRead(
      this.#sessions,
      tokenHash.toString('base64'),
      () => findSessionAcrossTenants(this.#db, tokenHash),
      session => `account ${session.account.id}`,
    );
  }

  /** As far down as the slugs lead. */
  findPlace(slugs: Slugs): Place | undefined | Promise<Place | undefined> {
    return this.getOrRead(
      this.#places,
      `${slugs.org}/${slugs.prj ?? ''}/${slugs.app ?? ''}/${slugs.evt ?? ''}`,
      () => findPlaceAcrossTenants(this.#db, slugs),
      place => place.organization.id,
      // A path that leads nowhere would fill the memory with what somebody mistyped.
      place => (!slugs.prj || place.project) && (!slugs.app || place.application) && (!slugs.evt || place.event),
    );
  }

  /** What the events of a project may use: its own channels first, then the organization's. */
  async listUsableChannels(organizationId: number, projectId: number): Promise<Channel[]> {
    const all =
      (await this.getOrRead(
        this.#channels,
        String(organizationId),
        () => listAllChannels(this.#db, organizationId),
        () => organizationId,
      )) ?? [];
    return [
      ...all.filter(channel => channel.project_id === projectId),
      ...all.filter(channel => channel.project_id === null),
    ];
  }

  /**
   * What is known under this name, or what reading finds. Answers at once, without a promise, when it is entries: the hot
   * path awaits nothing.
   */
  getOrRead<T>(
    entries: Entries<T>,
    name: string,
    read: () => Promise<T | undefined>,
    scopeOf: (value: T) => Scope,
    isCacheable: (value: T) => unknown = () => true,
  ): T | undefined | Promise<T | undefined> {
    const entry = entries.get(name);
    if (entry && this.#isValid(entry)) return entry.value;
    const readAt = this.#generation;
    // Of many who ask at once one reads for all, unless a change has been announced since it began: the first page of a
    // fan-out asked 500 times for the same message.
    const reading = this.#reading.get(entries)?.get(name);
    if (reading?.readAt === readAt) return reading.answer as Promise<T | undefined>;
    const answer = this.#read(entries, name, read, scopeOf, isCacheable);
    const readings = this.#reading.get(entries) ?? new Map<string, Reading>();
    this.#reading.set(entries, readings.set(name, { readAt, answer }));
    const done = () => void (readings.get(name)?.answer === answer && readings.delete(name));
    answer.then(done, done);
    return answer;
  }

  #read<T>(
    entries: Entries<T>,
    name: string,
    read: () => Promise<T | undefined>,
    scopeOf: (value: T) => Scope,
    isCacheable: (value: T) => unknown,
  ): Promise<T | undefined> {
    const readAt = this.#generation;
    return read().then(value => {
      if (value === undefined || !isCacheable(value)) {
        entries.delete(name);
        return value;
      }
      if (entries.size >= mostEntries) entries.clear();
      entries.set(name, { value, scope: scopeOf(value), readAt, expiresAt: Date.now() + maxAgeMs });
      return value;
    });
  }

  #isValid(entry: Entry<unknown>): boolean {
    return (
      this.#isConnectedNow &&
      entry.readAt >= this.#allInvalidatedAt &&
      entry.readAt >= (this.#invalidatedAt.get(entry.scope) ?? 0) &&
      entry.expiresAt > Date.now()
    );
  }
}
