import { setTimeout as sleep } from 'node:timers/promises';

/** Runs rounds until it is stopped: the next one begins after the pause that the last one returned, or when it is woken. */
export class PollLoop {
  readonly #round: () => Promise<number>;
  readonly #onError: (error: unknown) => number;
  readonly #stop = new AbortController();
  #wake: () => void = () => {};
  #running: Promise<void> | undefined;

  /** Both return how many milliseconds to wait until the next round. */
  constructor(round: () => Promise<number>, onError: (error: unknown) => number) {
    this.#round = round;
    this.#onError = onError;
  }

  get isStopping(): boolean {
    return this.#stop.signal.aborted;
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
      const pauseMs = await this.#round().catch(this.#onError);
      const timer = new AbortController();
      await Promise.race([woken, sleep(pauseMs, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
  }
}
