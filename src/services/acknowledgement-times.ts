/** How long people took to acknowledge since somebody last read the metrics; milliseconds from the trigger. */
export class AcknowledgementTimes {
  readonly #times: number[] = [];

  add(ms: number): void {
    if (this.#times.length < 10_000) this.#times.push(ms);
  }

  take(): number[] {
    return this.#times.splice(0);
  }
}
