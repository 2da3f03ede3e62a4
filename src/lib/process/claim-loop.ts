import { type LoopOptions, PollLoop } from './poll-loop.ts';

interface Work<Claimed> {
  /** What is processed at the same time, in all and of one group: its slow servers delay only its own. */
  max: { all: number; group: number };
  /** While true, nothing is claimed. */
  isPaused: () => boolean;
  /** Claims what is due, of none of the groups `except`. Groups take turns: those after `after` come first. */
  claim(turn: { after: number; except: number[] }): Promise<Claimed | undefined>;
  groupOf(claimed: Claimed): number;
  /** Never throws. The signal is aborted when the loop is stopped. */
  process(claimed: Claimed, signal: AbortSignal): Promise<void>;
  /** Returns how long to wait if nothing ends before. */
  findPauseMs?(): Promise<number>;
}

/** Processes what is due, claimed one by one: as many at the same time as there are slots. The end of one starts the next round. */
export class ClaimLoop<Claimed> {
  readonly #work: Work<Claimed>;
  readonly #loop: PollLoop;
  /** The group of each. */
  readonly #running = new Map<Promise<void>, number>();
  #after = 0;

  constructor(work: Work<Claimed>, options: LoopOptions) {
    this.#work = work;
    const round = async () => {
      await this.#startDue();
      return work.findPauseMs?.() ?? options.everyMs;
    };
    this.#loop = new PollLoop(round, options);
  }

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Claims nothing more, and waits for what is being processed. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all(this.#running.keys());
  }

  /** Processes all that is due, without being started. */
  async runDue(): Promise<void> {
    for (;;) {
      await this.#startDue();
      if (this.#running.size === 0) return;
      await Promise.race(this.#running.keys());
    }
  }

  async #startDue(): Promise<void> {
    const { max, isPaused, claim, groupOf, process } = this.#work;
    const { signal } = this.#loop;
    while (!signal.aborted && !isPaused() && this.#running.size < max.all) {
      const counts = Map.groupBy(this.#running.values(), group => group);
      const except = [...counts].filter(([, own]) => own.length >= max.group).map(([group]) => group);
      const claimed = await claim({ after: this.#after, except });
      if (!claimed) return;
      this.#after = groupOf(claimed);
      const running = process(claimed, signal).finally(() => {
        this.#running.delete(running);
        this.#loop.wake();
      });
      this.#running.set(running, this.#after);
    }
  }
}
