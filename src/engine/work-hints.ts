/**
 * Where there may be work. A claim that finds nothing costs as much as one that finds, and a busy worker asked nine times
 * a round for what only one queue had: so it looks where it was told of work, where it last found some, and about once a
 * second where a look at all queues finds something due.
 */
import { priorities } from '../core/trigger.ts';
import type { Queue } from '../db/turns.ts';
import { untilNext } from '../lib/until-next.ts';

/** Nothing that is due waits much longer than this. */
const lookEveryMs = 1_000;
const all: Queue[] = ['accepted', 'expanding', 'steps', 'deliveries'];

export class WorkHints {
  readonly #hints = new Set<string>();
  readonly #moreUntil = priorities.map(() => 0);
  #lookAt = 0;

  add(queue: Queue, priority: number): void {
    this.#hints.add(`${queue} ${priority}`);
  }

  addAll(): void {
    for (const priority of priorities.keys()) for (const queue of all) this.add(queue, priority);
  }

  /** New occurrences of the classes that a notification names; of one that names none, anything. */
  announced(payload: string): void {
    if (payload === '') this.addAll();
    else
      for (const priority of priorities.keys()) if (payload.includes(String(priority))) this.add('accepted', priority);
  }

  /** Whether to look there. What is announced while somebody looks counts for the next time. */
  take(queue: Queue, priority: number): boolean {
    return this.#hints.delete(`${queue} ${priority}`);
  }

  /** There is another page of an occurrence, also if it cannot be claimed right now. */
  expectMore(priority: number, now: number): void {
    this.add('expanding', priority);
    this.#moreUntil[priority] = now + 2 * lookEveryMs;
  }

  /** After a claim that did not find it: looks for it again, unless another worker has it by now. */
  remarkIfMore(priority: number, now: number): boolean {
    if (this.#moreUntil[priority]! < now) return false;
    this.add('expanding', priority);
    return true;
  }

  /** When to look at all queues again. */
  get lookAt(): number {
    return this.#lookAt;
  }

  isLookDue(now: number): boolean {
    if (now < this.#lookAt) return false;
    this.#lookAt = now + untilNext(lookEveryMs);
    return true;
  }
}
