/** Draining the outboxes of applications for as long as the service runs, each by itself. */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../core/errors.ts';
import type { OutboxSource } from '../core/outbox.ts';
import type { OutboxState } from '../db/outbox.ts';
import type { Deps } from './deps.ts';
import { type Drained, Outbox } from './outbox.ts';

/** The application's database tells nobody that something was written (see db/outbox-schema.ts): it is asked. */
const pause = { busyMs: 50, recentMs: 200, idleMs: 1_000, heldMs: 2_000 };
const recentlyMs = 60_000;
const backoffMs = { first: 1_000, most: 30_000 };
const lookEveryMs = 5_000;
/** Of rows that were refused, so many are named in the log at once. */
const mostNamed = 10;

export interface DrainStatus {
  /** Undefined: it could not be read lately. */
  state: OutboxState | undefined;
  taken: number;
  refused: number;
}

class Drain {
  readonly outbox: Outbox;
  readonly status: DrainStatus = { state: undefined, taken: 0, refused: 0 };
  readonly #deps: Deps;
  readonly #log: FastifyBaseLogger;
  readonly #isHeld: () => boolean;
  readonly #stopping = new AbortController();
  #lastRowAt = 0;
  #lookedAt = 0;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(source: OutboxSource, deps: Deps, log: FastifyBaseLogger, isHeld: () => boolean) {
    this.outbox = new Outbox(source);
    this.#deps = deps;
    this.#isHeld = isHeld;
    this.#log = log.child({ outbox: source.name });
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.outbox.close();
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const waitMs = await this.#round().catch(error => this.#failed(error));
      await sleepUnless(waitMs, this.#stopping.signal);
    }
  }

  /** Returns how long to wait before the next one. */
  async #round(): Promise<number> {
    // A copy of the database must not take what is the original's.
    if (this.#isHeld()) return pause.heldMs;
    const drained = await this.outbox.drain(this.#deps);
    if (this.#failures > 0) this.#log.info('the outbox is being drained again');
    this.#failures = 0;
    if (drained) this.#note(drained);
    if (Date.now() - this.#lookedAt > lookEveryMs) {
      this.#lookedAt = Date.now();
      this.status.state = await this.outbox.readState();
    }
    if (drained?.blocked) return this.#blocked(drained.blocked);
    if (drained?.isFull) return 0;
    if (drained && drained.done.length > 0) return pause.busyMs;
    return Date.now() - this.#lastRowAt < recentlyMs ? pause.recentMs : pause.idleMs;
  }

  #note({ done, failed }: Drained): void {
    this.status.taken += done.length;
    this.status.refused += failed.length;
    if (done.length + failed.length > 0) this.#lastRowAt = Date.now();
    for (const { seq, error } of failed.slice(0, mostNamed)) {
      this.#log.warn({ seq }, `a row of the outbox was refused: ${error}`);
    }
    if (failed.length > mostNamed) {
      this.#log.warn(`${failed.length - mostNamed} more rows of the outbox were refused: see belfry.outbox`);
    }
  }

  #blocked(error: AppError): number {
    const waitMs = (error.details.retryAfterSeconds ?? 1) * 1_000;
    this.#log.warn(`the outbox has to wait: ${error.message}`);
    return Math.min(waitMs, backoffMs.most);
  }

  #failed(error: unknown): number {
    this.status.state = undefined;
    const waitMs = Math.min(backoffMs.first * 2 ** this.#failures++, backoffMs.most);
    const message = `the outbox cannot be drained; trying again in ${waitMs / 1_000} s`;
    if (error instanceof AppError) this.#log.warn(`${message}: ${error.message}`);
    else this.#log.warn({ err: error }, message);
    return waitMs;
  }
}

export class OutboxDrains {
  readonly #drains: Drain[];

  /** Nothing is taken while `isHeld`. */
  constructor(sources: readonly OutboxSource[], deps: Deps, log: FastifyBaseLogger, isHeld: () => boolean) {
    this.#drains = sources.map(source => new Drain(source, deps, log, isHeld));
  }

  start(): void {
    for (const drain of this.#drains) drain.start();
  }

  /** What is being taken is finished. */
  async stop(): Promise<void> {
    await Promise.all(this.#drains.map(drain => drain.stop()));
  }

  listStatuses(): { source: OutboxSource; status: DrainStatus }[] {
    return this.#drains.map(({ outbox, status }) => ({ source: outbox.source, status }));
  }
}

function sleepUnless(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer);
      stopping.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stopping.addEventListener('abort', end);
    if (stopping.aborted) end();
  });
}
