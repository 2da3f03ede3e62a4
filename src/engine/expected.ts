/**
 * Where there may be work. A claim that finds nothing takes as many turns as one that finds, and a busy worker asked six
 * times a round for what only one class had: so it looks where somebody told it of work, where it last found some, and
 * now and then everywhere.
 */
import { priorities } from '../core/trigger.ts';

export type Kind = 'occurrences' | 'deliveries';

/** Nothing that is due waits longer than this. */
const lookEveryMs = 1_000;

export class Expected {
  readonly #places = new Set<string>();
  readonly #moreUntil = priorities.map(() => 0);
  #everywhereAt = 0;

  add(kind: Kind, priority: number): void {
    this.#places.add(`${kind} ${priority}`);
  }

  /** Occurrences of the classes that a notification names; of one that names none, anything. */
  announced(payload: string): void {
    for (const priority of priorities.keys()) {
      if (payload === '' || payload.includes(String(priority))) this.add('occurrences', priority);
      if (payload === '') this.add('deliveries', priority);
    }
  }

  /** Whether to look there. What is announced while somebody looks counts for the next time. */
  take(kind: Kind, priority: number): boolean {
    return this.#places.delete(`${kind} ${priority}`);
  }

  /** There is another page of an occurrence, also if it cannot be had right now. */
  more(priority: number, now: number): void {
    this.#moreUntil[priority] = now + 2 * lookEveryMs;
  }

  /** Whether there is, unless another worker has it by now; then it is looked for again, too. */
  hasMore(priority: number, now: number): boolean {
    if (this.#moreUntil[priority]! < now) return false;
    this.add('occurrences', priority);
    return true;
  }

  /** When everything is looked for again. */
  get everywhereAt(): number {
    return this.#everywhereAt;
  }

  pass(now: number): void {
    if (now < this.#everywhereAt) return;
    this.#everywhereAt = now + lookEveryMs;
    this.announced('');
  }
}
