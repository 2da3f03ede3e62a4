/** Drains the outboxes of applications while the service runs, each independently of the others. */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../core/errors.ts';
import type { OutboxSource } from '../../core/operations/outbox.ts';
import type { OutboxState } from '../../db/operations/outbox.ts';
import { PollLoop } from '../../lib/process/poll-loop.ts';
import { redact } from '../../lib/secrets/redact.ts';
import type { Deps } from '../deps.ts';
import { type DrainResult, Outbox } from './outbox.ts';

/** Polling intervals: the outbox sends no NOTIFY (see db/operations/outbox-schema.ts). */
const pollMs = { busy: 50, recent: 200, idle: 1_000, held: 2_000 };
const recentlyMs = 60_000;
const backoffMs = { first: 1_000, max: 30_000 };
const readStateEveryMs = 5_000;
/** Rejected rows per batch that are logged individually. */
const maxLogged = 10;

export interface DrainStatus {
  /** Undefined while the outbox cannot be reached. */
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
  readonly #loop: PollLoop;
  #lastRowAt = Number.NEGATIVE_INFINITY;
  #stateReadAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** The code of the error that blocks the outbox, which is logged once. */
  #blockedBy: string | undefined;

  constructor(source: OutboxSource, deps: Deps, log: FastifyBaseLogger, isHeld: () => boolean) {
    this.outbox = new Outbox(source);
    this.#deps = deps;
    this.#isHeld = isHeld;
    this.#log = log.child({ outbox: source.name });
    const round = () => this.#round().catch(error => this.#failed(error));
    this.#loop = new PollLoop(round, { log: this.#log, task: 'draining the outbox', everyMs: pollMs.idle });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.outbox.close();
  }

  /** Returns how many milliseconds to wait before the next round. */
  async #round(): Promise<number> {
    // A copy of our database must not drain rows that belong to the original.
    if (this.#isHeld()) return pollMs.held;
    const drained = await this.outbox.drain(this.#deps);
    if (this.#failures > 0) this.#log.info('the outbox is being drained again');
    this.#failures = 0;
    if (drained) this.#record(drained);
    if (performance.now() - this.#stateReadAt > readStateEveryMs) {
      this.#stateReadAt = performance.now();
      this.status.state = await this.outbox.readState();
    }
    if (drained?.blocked) return this.#blocked(drained.blocked);
    if (drained) this.#blockedBy = undefined;
    if (drained?.hasMore) return 0;
    if (drained && drained.done.length > 0) return pollMs.busy;
    return performance.now() - this.#lastRowAt < recentlyMs ? pollMs.recent : pollMs.idle;
  }

  #record({ done, failed }: DrainResult): void {
    this.status.taken += done.length;
    this.status.refused += failed.length;
    if (done.length + failed.length > 0) this.#lastRowAt = performance.now();
    for (const { seq, error } of failed.slice(0, maxLogged)) {
      this.#log.warn({ seq }, `an outbox row was rejected: ${redact(error)}`);
    }
    if (failed.length > maxLogged) {
      this.#log.warn(
        `${failed.length - maxLogged} more outbox rows were rejected: see the column error of belfry.outbox`,
      );
    }
  }

  #blocked(error: AppError): number {
    const waitMs = (error.details.retryAfterSeconds ?? 1) * 1_000;
    if (error.code !== this.#blockedBy) this.#log.warn(`draining the outbox has to wait: ${error.message}`);
    this.#blockedBy = error.code;
    return Math.min(waitMs, backoffMs.max);
  }

  #failed(error: unknown): number {
    this.status.state = undefined;
    const waitMs = Math.min(backoffMs.first * 2 ** this.#failures++, backoffMs.max);
    const message = `draining the outbox failed; retrying in ${waitMs / 1_000} s`;
    if (error instanceof AppError) this.#log.warn(`${message}: ${error.message}`);
    else this.#log.warn({ err: error }, message);
    return waitMs;
  }
}

export class OutboxDrains {
  readonly #drains: Drain[];

  /** Nothing is drained while `isHeld()`. */
  constructor(sources: readonly OutboxSource[], deps: Deps, log: FastifyBaseLogger, isHeld: () => boolean) {
    this.#drains = sources.map(source => new Drain(source, deps, log, isHeld));
  }

  start(): void {
    for (const drain of this.#drains) drain.start();
  }

  /** Finishes the batches in progress. */
  async stop(): Promise<void> {
    await Promise.all(this.#drains.map(drain => drain.stop()));
  }

  listStatuses(): { source: OutboxSource; status: DrainStatus }[] {
    return this.#drains.map(({ outbox, status }) => ({ source: outbox.source, status }));
  }
}
