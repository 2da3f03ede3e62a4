/**
 * Runs the engine in its own thread, so that rendering never delays accepting triggers, and each can fail without the other.
 *
 * | the thread           | then                                                                                    |
 * | -------------------- | --------------------------------------------------------------------------------------- |
 * | exits unexpectedly   | the work it was processing counts a crash, and a new thread starts                      |
 * | blocks for too long  | it is terminated, and the same follows                                                  |
 * | cannot start         | on the first start, the service does not start; later the start is retried with backoff |
 *
 * The messages that it was sending are recovered as after the death of any worker: see worker.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker as Thread } from 'node:worker_threads';
import type { ConnectionFacts } from '../core/operations/instance.ts';
import type { NewOccurrence } from '../db/ledger/accept/accept.ts';
import type { KeySource } from '../lib/secrets/keyring.ts';
import type { TraceSettings } from '../lib/telemetry/trace-settings.ts';
import type { MetricValues } from './telemetry/fast-metrics.ts';
import { type MarkedWork, WorkMarker } from './work-marker.ts';

export interface ThreadSettings {
  url: string;
  keys: KeySource;
  /** Identifies the database. */
  surroundings: ConnectionFacts;
  outboundAllow: readonly string[];
  /** Organizations that may use the AWS role of the process. */
  awsRoleFor?: readonly string[];
  /** Whether the API runs in the same process. */
  sharesProcessWithApi: boolean;
  /** The public URL, for links in messages. */
  baseUrl?: string | undefined;
  /** The address in acknowledge links. */
  linkUrl?: string | undefined;
  traces?: TraceSettings | undefined;
}

/** The data that the thread starts with. */
export interface ThreadData {
  settings: ThreadSettings;
  marker: SharedArrayBuffer;
}

/** A request to the thread. Triggers that are offered are not stored yet. */
export type ThreadRequest = 'stop' | 'metrics' | { offer: number; triggers: NewOccurrence[] };

/** A message from the thread. */
export type ThreadReport =
  | { kind: 'started' }
  | { kind: 'log'; level: 'info' | 'warn' | 'error'; fields: object; message: string }
  /** The worker finished a round under this id. */
  | { kind: 'round'; worker: number }
  | { kind: 'missing-variables'; total: number }
  /** What it has stored of an offer. */
  | { kind: 'accepted'; offer: number; ids: string[] }
  | { kind: 'metrics'; metrics: MetricValues };

interface SupervisorLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface SupervisorOptions {
  /** The file that the thread runs. */
  entry: URL;
  /** A thread whose event loop is blocked for this long is terminated. */
  stalledMs: number;
  /** The thread's heap limit. Exceeding it ends only the thread. */
  heapMb: number;
  settings: ThreadSettings;
  log: SupervisorLog;
  /** Called when processing this work has ended the thread. */
  onCrash(marked: MarkedWork): Promise<void>;
  onReport(report: ThreadReport): void;
}

/** How long a scrape waits for the engine's metrics: a blocked engine has none. */
const metricsTimeoutMs = 2_000;
/** How long triggers wait for the engine before the API stores them itself. */
const offerMs = 25;
const restartMs = { first: 500, max: 30_000 };
/** A thread that ran for this long is restarted without delay. */
const stableAfterMs = 60_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #marker = new WorkMarker();
  #thread: Thread | undefined;
  #stopping = false;
  #restarting: Promise<void> | undefined;
  /** Who waits for the answer to each offer. */
  readonly #offers = new Map<number, (accepted: ReadonlySet<string>) => void>();
  #lastOffer = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Resolves when the engine is running. */
  async start(): Promise<void> {
    await this.#launch();
  }

  /** Lets the thread finish the work in flight, and terminates it after the timeout. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping = true;
    const thread = this.#thread;
    if (!thread) return;
    const ended = new Promise<void>(resolve => thread.once('exit', () => resolve()));
    thread.postMessage('stop' satisfies ThreadRequest);
    await Promise.race([ended, sleep(withinMs, undefined, { ref: false })]);
    await thread.terminate();
    await this.#restarting;
  }

  /** Whether the engine can decide triggers right away. */
  get isReady(): boolean {
    return this.#thread !== undefined && this.#marker.isReady;
  }

  /**
   * Offers triggers to the engine, and returns the ids of those that it has stored in time. It may still store others a moment
   * later: storing a trigger that is stored already has no effect.
   */
  accept(triggers: NewOccurrence[]): Promise<ReadonlySet<string>> {
    const offer = ++this.#lastOffer;
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#offers.delete(offer);
        // It is busy, and says so itself once it is not.
        this.#marker.isReady = false;
        resolve(new Set());
      }, offerMs);
      this.#offers.set(offer, accepted => {
        clearTimeout(timer);
        this.#offers.delete(offer);
        resolve(accepted);
      });
      this.#thread?.postMessage({ offer, triggers } satisfies ThreadRequest);
    });
  }

  /** Returns the engine's metrics; undefined when it is not running or does not answer. */
  async readMetrics(): Promise<MetricValues | undefined> {
    const thread = this.#thread;
    if (!thread) return undefined;
    const timer = new AbortController();
    const { promise, resolve } = Promise.withResolvers<MetricValues | undefined>();
    const onMessage = (report: ThreadReport) => {
      if (report.kind === 'metrics') resolve(report.metrics);
    };
    const onExit = () => resolve(undefined);
    thread.on('message', onMessage).once('exit', onExit);
    thread.postMessage('metrics' satisfies ThreadRequest);
    try {
      return await Promise.race([promise, sleep(metricsTimeoutMs, undefined, { ref: false, signal: timer.signal })]);
    } finally {
      thread.off('message', onMessage).off('exit', onExit);
      timer.abort();
    }
  }

  async #launch(): Promise<void> {
    const data: ThreadData = { settings: this.#options.settings, marker: this.#marker.memory };
    const thread = new Thread(this.#options.entry, {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMb },
    });
    this.#thread = thread;
    this.#marker.clear();
    const launchedAt = performance.now();
    let stopWatching = () => {};
    let failure: unknown;
    let isStarted = false;
    thread.on('error', error => {
      failure = error;
    });
    await new Promise<void>((resolve, reject) => {
      thread.on('message', (report: ThreadReport) => {
        if (report.kind === 'started') {
          isStarted = true;
          stopWatching = this.#watch(thread);
          resolve();
        } else if (report.kind === 'log') this.#options.log[report.level](report.fields, report.message);
        else if (report.kind === 'accepted') this.#offers.get(report.offer)?.(new Set(report.ids));
        this.#options.onReport(report);
      });
      thread.once('exit', code => {
        stopWatching();
        this.#marker.isReady = false;
        if (this.#thread === thread) this.#thread = undefined;
        if (this.#stopping) return resolve();
        if (!isStarted) return reject(failure ?? new Error(`the engine's thread exited with code ${code}`));
        this.#restarting = this.#restart(failure, performance.now() - launchedAt);
      });
    });
  }

  async #restart(failure: unknown, ranMs: number): Promise<void> {
    const { log, onCrash } = this.#options;
    const marked = this.#marker.read();
    log.error({ err: failure, ...marked }, "the engine's thread ended; starting another");
    let pauseMs = ranMs > stableAfterMs ? 0 : restartMs.first;
    while (!this.#stopping) {
      await sleep(pauseMs);
      try {
        if (marked) await onCrash(marked);
        if (!this.#stopping) await this.#launch();
        return;
      } catch (error) {
        pauseMs = Math.min(restartMs.max, 2 * pauseMs || restartMs.first);
        log.error({ err: error, retryInMs: pauseMs }, "the engine's thread could not be started; trying again");
      }
    }
  }

  /** Terminates the thread when its event loop is blocked for too long. */
  #watch(thread: Thread): () => void {
    const { stalledMs, log } = this.#options;
    let beats = this.#marker.beats;
    let changedAt = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      // This thread may have been suspended as well, for example by a sleeping laptop. Then nothing is known about the
      // other.
      if (this.#marker.beats !== beats || now - changedAt > 2 * stalledMs) {
        beats = this.#marker.beats;
        changedAt = now;
      } else if (now - changedAt > stalledMs) {
        log.error({ ...this.#marker.read() }, `the engine's thread was blocked for ${stalledMs} ms; terminating it`);
        void thread.terminate();
      }
    }, stalledMs / 6);
    timer.unref();
    return () => clearInterval(timer);
  }
}
