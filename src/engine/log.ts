import type { Logger } from 'pino';

/** The logger that the engine's modules use. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>;

const warnEveryMs = 60_000;
const maxCauses = 1_000;

/** Logs the causes that make many messages wait once a minute each. */
export class RareWarnings {
  readonly #log: Log;
  /** By the message of the error. */
  readonly #warnedAt = new Map<string, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  warn(fields: { err: Error }, message: string): void {
    const now = performance.now();
    const cause = fields.err.message;
    if (now - (this.#warnedAt.get(cause) ?? Number.NEGATIVE_INFINITY) < warnEveryMs) return;
    if (this.#warnedAt.size >= maxCauses) this.#warnedAt.clear();
    this.#warnedAt.set(cause, now);
    this.#log.warn(fields, message);
  }
}
