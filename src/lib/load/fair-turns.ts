/**
 * Runs expensive synchronous work one task at a time. Groups take turns, and after each task the event loop is left to
 * other work for three times as long as the task took, so that all of them together use at most a quarter of the thread.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const idleFactor = 3;

export class FairTurns {
  /** Queues in the order of their turns; groups without work have none. */
  readonly #queues = new Map<number, (() => void)[]>();
  #isRunning = false;

  run(group: number, work: () => void): void {
    const queue = this.#queues.get(group);
    if (queue) queue.push(work);
    else this.#queues.set(group, [work]);
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#runAll();
  }

  async #runAll(): Promise<void> {
    // A group that is set again during the iteration is visited again after the others.
    for (const [group, queue] of this.#queues) {
      setImmediate(queue.shift()!);
      this.#queues.delete(group);
      if (queue.length > 0) this.#queues.set(group, queue);
      const startedAt = performance.now();
      // Runs after the work and the promise callbacks that it triggers.
      await new Promise(setImmediate);
      await sleep(idleFactor * (performance.now() - startedAt));
    }
    this.#isRunning = false;
  }
}
