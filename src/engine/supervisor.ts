/**
 * Runs the engine in a thread of its own, so that accepting triggers is never late because of rendering, and a failure of
 * one restarts without the other.
 *
 * | the thread               | then                                                                                     |
 * | ------------------------ | ---------------------------------------------------------------------------------------- |
 * | ends although not asked  | what it was working on is counted against that, and another thread starts                |
 * | stands still for too long | it is ended, and the same follows                                                        |
 * | cannot start at all      | at the first start, the service does not start; later it is tried again, slower and slower |
 *
 * The messages that it was sending are recovered as after any other death of a worker: see worker.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker as Thread } from 'node:worker_threads';
import type { Surroundings } from '../core/instance.ts';
import type { KeySource } from '../lib/keyring.ts';
import type { TraceSettings } from '../lib/trace-settings.ts';
import type { MetricValues } from './tallies.ts';
import { type Marked, WorkMarker } from './work-marker.ts';

export interface ThreadSettings {
  url: string;
  keys: KeySource;
  /** By which the database is recognised. */
  surroundings: Surroundings;
  outboundAllow: readonly string[];
  /** Whether the API is in the same process. */
  isBesideApi: boolean;
  /** The public address, for the links in messages. */
  baseUrl?: string | undefined;
  traces?: TraceSettings | undefined;
}

/** What the thread is started with. */
export interface ThreadData {
  settings: ThreadSettings;
  marker: SharedArrayBuffer;
}

/** What the thread is asked for. */
export type ThreadRequest = 'stop' | 'metrics';

/** What the thread tells. */
export type ThreadReport =
  | { kind: 'started' }
  | { kind: 'log'; level: 'info' | 'warn' | 'error'; fields: object; message: string }
  /** The worker finished a round under this identity. */
  | { kind: 'round'; worker: number }
  | { kind: 'missing-variables'; total: number }
  | { kind: 'metrics'; metrics: MetricValues };

interface SupervisorLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface SupervisorOptions {
  /** The file that the thread runs. */
  entry: URL;
  /** A thread that does not turn for so long is ended. */
  stalledMs: number;
  /** Of its memory. Beyond it the thread ends, and nothing else with it. */
  heapMb: number;
  settings: ThreadSettings;
  log: SupervisorLog;
  /** Processing this has ended the thread. */
  onCrash(marked: Marked): Promise<void>;
  onReport(report: ThreadReport): void;
}

/** Whoever reads metrics does not wait for longer: an engine that stands still has nothing to tell. */
const metricsMs = 2_000;
const restartMs = { first: 500, longest: 30_000 };
/** A thread that ran for so long starts at once when it ends. */
const soundAfterMs = 60_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #marker = new WorkMarker();
  #thread: Thread | undefined;
  #stopping = false;
  #restarting: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Resolves when the engine works. */
  async start(): Promise<void> {
    await this.#launch();
  }

  /** Lets it finish what is in flight; ends it where that takes too long. */
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

  /** What the engine counts about itself; undefined when it is not there, or does not answer. */
  async readMetrics(): Promise<MetricValues | undefined> {
    const thread = this.#thread;
    if (!thread) return undefined;
    const timer = new AbortController();
    const { promise, resolve } = Promise.withResolvers<MetricValues | undefined>();
    const hear = (report: ThreadReport) => {
      if (report.kind === 'metrics') resolve(report.metrics);
    };
    const gone = () => resolve(undefined);
    thread.on('message', hear).once('exit', gone);
    thread.postMessage('metrics' satisfies ThreadRequest);
    try {
      return await Promise.race([promise, sleep(metricsMs, undefined, { ref: false, signal: timer.signal })]);
    } finally {
      thread.off('message', hear).off('exit', gone);
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
    const launchedAt = Date.now();
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
        this.#options.onReport(report);
      });
      thread.once('exit', code => {
        stopWatching();
        if (this.#thread === thread) this.#thread = undefined;
        if (this.#stopping) return resolve();
        if (!isStarted) return reject(failure ?? new Error(`the engine's thread ended with ${code}`));
        this.#restarting = this.#restart(failure, Date.now() - launchedAt);
      });
    });
  }

  async #restart(failure: unknown, ranMs: number): Promise<void> {
    const { log, onCrash } = this.#options;
    const marked = this.#marker.read();
    log.error({ err: failure, ...marked }, "the engine's thread ended; starting another");
    let pauseMs = ranMs > soundAfterMs ? 0 : restartMs.first;
    while (!this.#stopping) {
      await sleep(pauseMs);
      try {
        if (marked) await onCrash(marked);
        if (!this.#stopping) await this.#launch();
        return;
      } catch (error) {
        pauseMs = Math.min(restartMs.longest, 2 * pauseMs || restartMs.first);
        log.error({ err: error, retryInMs: pauseMs }, "the engine's thread could not be started; trying again");
      }
    }
  }

  /** Ends a thread that has not turned for too long. */
  #watch(thread: Thread): () => void {
    const { stalledMs, log } = this.#options;
    let beats = this.#marker.beats;
    let changedAt = Date.now();
    const timer = setInterval(() => {
      const now = Date.now();
      // This thread may itself have been held up, say by a laptop's sleep: then nothing is known of the other.
      if (this.#marker.beats !== beats || now - changedAt > 2 * stalledMs) {
        beats = this.#marker.beats;
        changedAt = now;
      } else if (now - changedAt > stalledMs) {
        log.error({ ...this.#marker.read() }, `the engine's thread has stood still for ${stalledMs} ms: ending it`);
        void thread.terminate();
      }
    }, stalledMs / 6);
    timer.unref();
    return () => clearInterval(timer);
  }
}
