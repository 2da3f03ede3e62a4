/**
 * Limits how many tasks run at once, in all and for each group. Groups take turns, so that one with many or slow tasks does
 * not delay those of others.
 */
interface Task<Group> {
  group: Group;
  startedAt: number;
  stop: AbortController;
}

export class FairSlots<Group = number> {
  readonly #max: number;
  readonly #maxPerGroup: number;
  readonly #guaranteedMs: number;
  /** Running tasks, oldest first. */
  readonly #tasks = new Set<Task<Group>>();
  readonly #running = new Map<Group, number>();
  /** Waiting tasks by group, in the order of their turns. */
  readonly #waiting = new Map<Group, (() => void)[]>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * `maxPerGroup` is less than `max`, so that there is always a slot for another group soon. A task that has run for
   * `guaranteedMs` is given up when a group that runs none needs its slot, so that hanging tasks of any number of groups stop
   * no other group.
   */
  constructor(max: number, maxPerGroup: number, { guaranteedMs = Number.POSITIVE_INFINITY } = {}) {
    this.#max = max;
    this.#maxPerGroup = maxPerGroup;
    this.#guaranteedMs = guaranteedMs;
  }

  /** The signal is aborted when the task is given up. */
  async run<T>(group: Group, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!this.#canStart(group)) {
      await new Promise<void>(resolve => {
        const queue = this.#waiting.get(group);
        if (queue) queue.push(resolve);
        else this.#waiting.set(group, [resolve]);
        this.#freeSlot();
      });
    } else {
      this.#count(group, 1);
    }
    const task = { group, startedAt: performance.now(), stop: new AbortController() };
    this.#tasks.add(task);
    try {
      return await work(task.stop.signal);
    } finally {
      this.#tasks.delete(task);
      this.#count(group, -1);
      this.#startWaiting();
    }
  }

  /** Gives up the oldest task of the groups that run the most, if its guaranteed time is over. Returns how long that still takes. */
  giveUpOldest(): number {
    const most = Math.max(...this.#running.values());
    for (const { group, startedAt, stop } of this.#tasks) {
      if (stop.signal.aborted || this.#running.get(group) !== most) continue;
      const left = startedAt + this.#guaranteedMs - performance.now();
      if (left <= 0) stop.abort();
      return Math.max(0, left);
    }
    return Number.POSITIVE_INFINITY;
  }

  get #total(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0);
  }

  #canStart(group: Group): boolean {
    return this.#countOf(group) < this.#maxPerGroup && this.#total < this.#max;
  }

  #countOf(group: Group): number {
    return this.#running.get(group) ?? 0;
  }

  #count(group: Group, change: 1 | -1): void {
    const count = this.#countOf(group) + change;
    if (count > 0) this.#running.set(group, count);
    else this.#running.delete(group);
  }

  #startWaiting(): void {
    // Groups that run fewer tasks first.
    const turns = [...this.#waiting].sort(([a], [b]) => this.#countOf(a) - this.#countOf(b));
    for (const [next, queue] of turns) {
      if (!this.#canStart(next)) continue;
      this.#waiting.delete(next);
      const start = queue.shift()!;
      // Behind the others: its next turn comes after theirs.
      if (queue.length > 0) this.#waiting.set(next, queue);
      this.#count(next, 1);
      start();
    }
    this.#freeSlot();
  }

  /** Gives up a task if a group waits that runs none, now or when a task has run for long enough. */
  #freeSlot(): void {
    if (this.#timer || this.#guaranteedMs === Number.POSITIVE_INFINITY) return;
    if (this.#total < this.#max || [...this.#waiting.keys()].every(group => this.#running.has(group))) return;
    const left = this.giveUpOldest();
    if (left === 0 || left === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#freeSlot();
    }, left).unref();
  }
}
