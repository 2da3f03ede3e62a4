/**
 * What requests ask again and again (keys, sessions, the places that paths name, channels), kept in memory and true:
 * every change in the database is announced with its organization or account, and what was read before the announcement
 * is not believed after it. While nobody listens for announcements, nothing is kept.
 */
import { type Channel, listAllChannels } from '../db/channels.ts';
import { findKeyAcrossTenants, type Key } from '../db/keys.ts';
import { findPlaceAcrossTenants, type Place, type Slugs } from '../db/places.ts';
import type { Db } from '../db/pool.ts';
import { findSessionAcrossTenants, type Session } from '../db/sessions.ts';

export type Known<T> = Map<string, Entry<T>>;

/** What an announcement is about: the id of an organization, or an account. */
export type Scope = number | `account ${number}`;

interface Entry<T> {
  value: T;
  scope: Scope;
  /** The announcement that had been heard when reading began. */
  readAt: number;
  expiresAt: number;
}

interface Reading {
  readAt: number;
  answer: Promise<unknown>;
}

/** A backstop only: announcements are what keeps it true. */
const lifeMs = 60_000;
const mostEntries = 100_000;

export class Directory {
  readonly #db: Db;
  readonly #keys = new Map<string, Entry<Key>>();
  readonly #sessions = new Map<string, Entry<Session>>();
  readonly #places = new Map<string, Entry<Place>>();
  readonly #channels = new Map<string, Entry<Channel[]>>();
  readonly #reading = new WeakMap<object, Map<string, Reading>>();
  readonly #forgotten = new Map<Scope, number>();
  #heard = 0;
  #everythingForgotten = 0;
  #listening = false;

  constructor(db: Db) {
    this.#db = db;
  }

  listening(): void {
    this.#everythingForgotten = ++this.#heard;
    this.#listening = true;
  }

  get isListening(): boolean {
    return this.#listening;
  }

  deaf(): void {
    this.#listening = false;
  }

  forget(scope: Scope): void {
    this.#forgotten.set(scope, ++this.#heard);
  }

  /** What the database announced. */
  heard(payload: string): void {
    this.forget(payload.startsWith('account ') ? (payload as Scope) : Number(payload));
  }

  findKey(id: string): Key | undefined | Promise<Key | undefined> {
    return this.recall(
      this.#keys,
      id,
      () => findKeyAcrossTenants(this.#db, id),
      key => key.organization_id,
    );
  }

  findSession(tokenHash: Buffer): Session | undefined | Promise<Session | undefined> {
    return this.recall(
      this.#sessions,
      tokenHash.toString('base64'),
      () => findSessionAcrossTenants(this.#db, tokenHash),
      session => `account ${session.account.id}`,
    );
  }

  /** As far down as the slugs lead. */
  findPlace(slugs: Slugs): Place | undefined | Promise<Place | undefined> {
    return this.recall(
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
      (await this.recall(
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
   * What is known under this name, or what reading finds. Answers at once, without a promise, when it is known: the hot
   * path awaits nothing.
   */
  recall<T>(
    known: Known<T>,
    name: string,
    read: () => Promise<T | undefined>,
    scopeOf: (value: T) => Scope,
    worthKeeping: (value: T) => unknown = () => true,
  ): T | undefined | Promise<T | undefined> {
    const entry = known.get(name);
    if (entry && this.#isTrue(entry)) return entry.value;
    const readAt = this.#heard;
    // Of many who ask at once one reads for all, unless a change has been announced since it began: the first page of a
    // fan-out asked 500 times for the same message.
    const reading = this.#reading.get(known)?.get(name);
    if (reading?.readAt === readAt) return reading.answer as Promise<T | undefined>;
    const answer = this.#read(known, name, read, scopeOf, worthKeeping);
    const readings = this.#reading.get(known) ?? new Map<string, Reading>();
    this.#reading.set(known, readings.set(name, { readAt, answer }));
    const done = () => void (readings.get(name)?.answer === answer && readings.delete(name));
    answer.then(done, done);
    return answer;
  }

  #read<T>(
    known: Known<T>,
    name: string,
    read: () => Promise<T | undefined>,
    scopeOf: (value: T) => Scope,
    worthKeeping: (value: T) => unknown,
  ): Promise<T | undefined> {
    const readAt = this.#heard;
    return read().then(value => {
      if (value === undefined || !worthKeeping(value)) {
        known.delete(name);
        return value;
      }
      if (known.size >= mostEntries) known.clear();
      known.set(name, { value, scope: scopeOf(value), readAt, expiresAt: Date.now() + lifeMs });
      return value;
    });
  }

  #isTrue(entry: Entry<unknown>): boolean {
    return (
      this.#listening &&
      entry.readAt >= this.#everythingForgotten &&
      entry.readAt >= (this.#forgotten.get(entry.scope) ?? 0) &&
      entry.expiresAt > Date.now()
    );
  }
}
