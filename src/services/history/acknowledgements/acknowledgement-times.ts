/** Times from trigger to acknowledgement, in milliseconds, since the metrics were last read. */
export class AcknowledgementTimes {
  readonly #times: number[] = [];

  add(ms: number): void {
    if (this.#times.length < 10_000) this.#times.push(ms);
  }

  take(): number[] {
    return this.#times.splice(0);
  }
}
