/**
 * A cache that is invalidated by announcements. Every change in the database is announced with its scope, and a value
 * that was read before the announcement is not used after it. While no listener is connected, nothing is cached.
 */

import { Announcements, type Scope } from './announcements.ts';

export type Entries<T> = Map<string, Entry<T>>;

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

/** Only a backstop: announcements invalidate changed values. */
const maxAgeMs = 60_000;
const maxEntries = 100_000;

export class AnnouncedCache extends Announcements {
  readonly #reading = new WeakMap<object, Map<string, Reading>>();

  /** Returns the cached value at once, without a promise, so that the hot path awaits nothing; otherwise reads it. */
  getOrRead<T>(
    entries: Entries<T>,
    name: string,
    read: () => Promise<T | undefined>,
    scopeOf: (value: T) => Scope,
    isCacheable: (value: T) => unknown = () => true,
  ): T | undefined | Promise<T | undefined> {
    const entry = entries.get(name);
    if (entry && this.#isValid(entry)) return entry.value;
    const readAt = this.generation;
    // Concurrent callers share one read, unless a change has been announced since it began: the first page of a fan-out
    // would otherwise read the same message 500 times.
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
    const readAt = this.generation;
    return read().then(value => {
      if (value === undefined || !isCacheable(value)) {
        entries.delete(name);
        return value;
      }
      if (entries.size >= maxEntries) entries.clear();
      entries.set(name, { value, scope: scopeOf(value), readAt, expiresAt: performance.now() + maxAgeMs });
      return value;
    });
  }

  #isValid({ scope, readAt, expiresAt }: Entry<unknown>): boolean {
    return this.isCurrent(scope, readAt) && expiresAt > performance.now();
  }
}
