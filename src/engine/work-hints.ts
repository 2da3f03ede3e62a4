/**
 * Remembers which queues may have work. A claim that finds nothing costs as much as one that does, and a busy worker
 * made nine of them per round when only one queue had work. Therefore it claims where work was announced, where it last
 * found some, and where a scan of all queues, about once a second, finds something due.
 */
import { priorities } from '../core/trigger.ts';
import type { Queue } from '../db/ledger/round-robin.ts';
import { alignedDelayMs } from '../lib/time/aligned-delay.ts';

/** The maximum delay of due work that was not announced. */
const scanEveryMs = 1_000;
const allQueues: Queue[] = ['accepted', 'expanding', 'steps', 'deliveries'];

export class WorkHints {
  readonly #hints = new Set<string>();
  readonly #expectedUntil = priorities.map(() => 0);
  #nextScanAt = 0;

  add(queue: Queue, priority: number): void {
    this.#hints.add(`${queue} ${priority}`);
  }

  addAll(): void {
    for (const priority of priorities.keys()) for (const queue of allQueues) this.add(queue, priority);
  }

  /**
   * Adds hints for the priority classes of new occurrences that a notification names; an empty one may mean any work.
   */
  addAnnounced(payload: string): void {
    if (payload === '') this.addAll();
    else
      for (const priority of priorities.keys()) if (payload.includes(String(priority))) this.add('accepted', priority);
  }

  /**
   * Removes a hint and returns whether it was there. Work announced during the claim that follows adds the hint again.
   */
  take(queue: Queue, priority: number): boolean {
    return this.#hints.delete(`${queue} ${priority}`);
  }

  /** Adds a hint for the next page of an occurrence, which other transactions may keep from being claimed right now. */
  expectMore(priority: number, now: number): void {
    this.add('expanding', priority);
    this.#expectedUntil[priority] = now + 2 * scanEveryMs;
  }

  /**
   * After a claim that found nothing, adds the hint for an expected page again, until another worker must have taken
   * it.
   */
  reAddIfExpected(priority: number, now: number): boolean {
    if (this.#expectedUntil[priority]! < now) return false;
    this.add('expanding', priority);
    return true;
  }

  /** When to scan all queues again. */
  get nextScanAt(): number {
    return this.#nextScanAt;
  }

  startScanIfDue(now: number): boolean {
    if (now < this.#nextScanAt) return false;
    this.#nextScanAt = now + alignedDelayMs(scanEveryMs);
    return true;
  }
}
