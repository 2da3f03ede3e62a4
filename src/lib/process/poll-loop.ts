import { setTimeout as sleep } from 'node:timers/promises';

export interface LoopOptions {
  log: { warn(fields: object, message: string): void };
  /** What a round does, as the log names it when it fails. */
  task: string;
  /** Until the next round, if a round does not return another time. */
  everyMs: number;
}

/** Runs rounds until it is stopped: the next one begins after the pause that the last one returned, or when it is woken. */
export class PollLoop {
  readonly #round: () => Promise<number> | Promise<void>;
  readonly #options: LoopOptions;
  readonly #stop = new AbortController();
  #wake: () => void = () => {};
  #running: Promise<void> | undefined;

  /** A round returns how many milliseconds to wait until the next one. */
  constructor(round: () => Promise<number> | Promise<void>, options: LoopOptions) {
    this.#round = round;
    this.#options = options;
  }

  /** Aborted when the loop is stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isStopping(): boolean {
    return this.signal.aborted;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Begins the next round now, or right after the current one. */
  wake(): void {
    this.#wake();
  }

  /** Resolves after the current round. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.isStopping) {
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve;
      });
      const pauseMs = await this.#runOnce();
      const timer = new AbortController();
      await Promise.race([woken, sleep(pauseMs, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
  }

  async #runOnce(): Promise<number> {
    const { log, task, everyMs } = this.#options;
    try {
      return (await this.#round()) ?? everyMs;
    } catch (error) {
      log.warn({ err: error }, `${task} failed; trying again`);
      return everyMs;
    }
  }
}

/** A timer may fire slightly early. */
const timerMarginMs = 2;

/** Returns how long to wait for what is due in so many milliseconds, at most `maxMs`; 0: it is due. Null: nothing is. */
export function waitFor(dueInMs: number | null, maxMs: number): number {
  if (dueInMs === null) return maxMs;
  return dueInMs > 0 ? Math.min(dueInMs + timerMarginMs, maxMs) : 0;
}

/** The longest sleep. Less than the shortest time in which something new becomes due, so that nothing is overlooked. */
const lookAheadMs = 5_000;
/** When nothing that is due may be processed, such as while its organization is being moved. */
export const blockedMs = 1_000;

interface DueWork {
  /** While true, nothing is processed. */
  isPaused: () => boolean;
  /** Returns in how many milliseconds the next one is due; null: none is within the time. */
  findNextDue(withinMs: number): Promise<number | null>;
  /** Claims and processes what is due. Returns how many there were. */
  processDue(): Promise<number>;
}

/** Returns a round that processes what is due and sleeps until the next one is, so that an idle service asks rarely. */
export function dueRound({ isPaused, findNextDue, processDue }: DueWork): () => Promise<number> {
  return async () => {
    if (isPaused()) return lookAheadMs;
    const waitMs = waitFor(await findNextDue(2 * lookAheadMs), lookAheadMs);
    if (waitMs > 0) return waitMs;
    return (await processDue()) > 0 ? 0 : blockedMs;
  };
}
