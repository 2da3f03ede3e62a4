/** Runs work that a caller does not wait for. It is awaited before the process ends; failures are reported, not thrown. */
export class Background {
  readonly #onError: (error: unknown) => void;
  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  run(work: () => Promise<unknown>): void {
    const running = work().catch(this.#onError);
    this.#inFlight.add(running);
    void running.finally(() => this.#inFlight.delete(running));
  }

  async drain(): Promise<void> {
    await Promise.all(this.#inFlight);
  }
}
