/**
 * Detects a backlog that is not being worked off, by the age of the oldest due work and by when each worker last finished
 * a round. A worker that runs but fails in every round looks healthy otherwise.
 */
import { type Priority, priorities } from '../../core/trigger.ts';
import type { Db } from '../../db/connection/pool.ts';
import { countBulkPausedAcrossTenants } from '../../db/history/feedback/reputation.ts';
import { type HoldSummary, summarizeHoldsAcrossTenants } from '../../db/history/holds.ts';
import { countGuardedAcrossTenants } from '../../db/history/stats/trigger-rates.ts';
import { findWebhookBacklogAcrossTenants } from '../../db/ledger/webhooks/queue.ts';
import { listLiveWorkersAcrossTenants, noteRoundAcrossTenants } from '../../db/ledger/workers.ts';
import { countDueAcrossTenants, listOldestDueAcrossTenants, type OldestDue } from '../../db/operations/health.ts';
import { findInstancePause } from '../../db/operations/instance.ts';
import { countOf } from '../../lib/count-of.ts';
import type { Deps } from '../deps.ts';

/** A worker without a finished round for this long is stuck: a round takes milliseconds, and an idle worker starts one every second. */
const maxRoundMs = 60_000;
/** How long work may be due before the backlog counts as unhealthy. Bulk may wait: a large mailing takes hours. */
const maxDueMs: Record<Priority, number> = { urgent: 600_000, normal: 600_000, bulk: 21_600_000 };
/** After this long without a finished round, the process should be restarted. */
const maxStuckMs = 300_000;
/** How often a worker stores that it has finished a round. */
const saveEveryMs = 10_000;

/** Tracks when the worker of this process last finished a round. */
export class WorkerRounds {
  readonly #db: Db;
  readonly #onError: (error: Error) => void;
  #finishedAt: number;
  #savedAt = Number.NEGATIVE_INFINITY;

  /** Until the first round is finished, its age counts from `now`. */
  constructor(db: Db, onError: (error: Error) => void, now: number) {
    this.#db = db;
    this.#onError = onError;
    this.#finishedAt = now;
  }

  get finishedAt(): number {
    return this.#finishedAt;
  }

  /** Updates the time in memory, and every few seconds in the database, where other processes read it. */
  recordRound(workerId: number, now: number): void {
    this.#finishedAt = now;
    if (now - this.#savedAt < saveEveryMs) return;
    this.#savedAt = now;
    noteRoundAcrossTenants(this.#db, workerId).catch(this.#onError);
  }
}

/** Returns whether only a restart can help: the worker finishes no round, although the database answers and nothing is paused. */
export async function isStuck({ db }: Pick<Deps, 'db'>, rounds: WorkerRounds, now: number): Promise<boolean> {
  if (now - rounds.finishedAt < maxStuckMs) return false;
  try {
    return !(await findInstancePause(db));
  } catch {
    return false;
  }
}

/** The count of due work stops here, per class and queue. */
const maxCounted = 100_000;

export interface Backlog {
  /** Running workers of all processes. */
  workers: number;
  /** Whether sending is paused because the database may be a copy: see instance.ts. */
  isPaused: boolean;
  /** Email channels whose bulk messages the reputation guard holds. */
  bulkPausedChannels: number;
  /** Keys, events and applications that the rate guard has paused. */
  guardedRates: number;
  holds: HoldSummary;
  /** How long the oldest webhook message has been due. */
  webhooksAgeMs: number;
  /** Due work that no worker has claimed, per priority class. */
  classes: { name: Priority; size: number; ageMs: number }[];
}

/** Reads the backlog for the metrics. */
export async function readBacklog({ db, pool }: Pick<Deps, 'db' | 'pool'>): Promise<Backlog> {
  const oldestDue = await listOldestDueAcrossTenants(db);
  // Usually nothing is due, which saves the more expensive count.
  const due = oldestDue.length === 0 ? [] : await countDueAcrossTenants(db, maxCounted);
  const workers = await listLiveWorkersAcrossTenants(db);
  const isPaused = (await findInstancePause(db)) !== undefined;
  const classes = [...priorities.entries()].map(([priority, name]) => ({
    name,
    size: due.find(one => one.priority === priority)?.count ?? 0,
    ageMs: oldestDue.find(one => one.priority === priority)?.ms ?? 0,
  }));
  const webhooksAgeMs = (await findWebhookBacklogAcrossTenants(pool)) * 1_000;
  const bulkPausedChannels = await countBulkPausedAcrossTenants(db);
  const guardedRates = await countGuardedAcrossTenants(db);
  const holds = await summarizeHoldsAcrossTenants(db);
  return { workers: workers.length, isPaused, bulkPausedChannels, guardedRates, holds, webhooksAgeMs, classes };
}

/** Checks the backlog and the workers of all processes, for `belfry doctor`. Throws an error that says what is wrong. */
export async function checkFleetQueue(db: Db): Promise<string> {
  const oldestDue = await listOldestDueAcrossTenants(db);
  const workers = await listLiveWorkersAcrossTenants(db);
  const waited = Math.max(0, ...oldestDue.map(({ ms }) => ms));
  if (workers.length === 0 && waited > maxRoundMs) {
    throw new Error(`${describeOldest(oldestDue)}; no worker is running: start one with \`belfry serve\``);
  }
  const stuck = workers.filter(({ sinceRoundMs }) => sinceRoundMs > maxRoundMs);
  if (stuck.length > 0) {
    const longest = Math.max(...stuck.map(({ sinceRoundMs }) => sinceRoundMs));
    const who = `${stuck.length} of ${countOf(workers.length, 'running worker')} ${stuck.length === 1 ? 'has' : 'have'}`;
    throw new Error(`${describeOldest(oldestDue)}; ${who} not finished a round for ${duration(longest)}: ${checkLogs}`);
  }
  requireWithinLimits(oldestDue);
  return `${describeOldest(oldestDue)}; ${workers.length === 0 ? 'no worker is running' : describeWorkers(workers)}`;
}

/**
 * Checks the backlog for the readiness of one process. The worker of this process, if it has one, must finish rounds and
 * keep up. A process that only accepts triggers stays ready without workers, because it stores triggers durably; it only
 * reports that no worker is running.
 */
export async function checkProcessQueue(db: Db, rounds: WorkerRounds | undefined, now: number): Promise<string> {
  const oldestDue = await listOldestDueAcrossTenants(db);
  if (!rounds) {
    const workers = await listLiveWorkersAcrossTenants(db);
    return `${describeOldest(oldestDue)}; ${workers.length === 0 ? 'no worker is running' : describeWorkers(workers)}`;
  }
  const sinceMs = now - rounds.finishedAt;
  if (sinceMs > maxRoundMs) {
    throw new Error(
      `${describeOldest(oldestDue)}; this worker has not finished a round for ${duration(sinceMs)}: ${checkLogs}`,
    );
  }
  requireWithinLimits(oldestDue);
  return `${describeOldest(oldestDue)}; this worker finished a round ${duration(sinceMs)} ago`;
}

const checkLogs = 'check the log of the worker for errors';

function requireWithinLimits(oldestDue: OldestDue[]): void {
  for (const { priority, ms } of oldestDue) {
    const name = priorities[priority]!;
    const limitMs = maxDueMs[name];
    if (ms <= limitMs) continue;
    throw new Error(
      `${describeOldest(oldestDue)}; ${name} work must not wait longer than ${duration(limitMs)}: the workers cannot keep ` +
        'up. Add workers with `belfry serve --role worker`, or check the logs of the workers for errors',
    );
  }
}

function describeOldest(oldestDue: OldestDue[]): string {
  if (oldestDue.length === 0) return 'nothing is due';
  const { priority, ms } = oldestDue.toSorted((a, b) => b.ms - a.ms)[0]!;
  return `the oldest due work (${priorities[priority]} priority) has waited ${duration(ms)}`;
}

function describeWorkers(workers: { sinceRoundMs: number }[]): string {
  const last = Math.min(...workers.map(({ sinceRoundMs }) => sinceRoundMs));
  return `${countOf(workers.length, 'worker')} ${workers.length === 1 ? 'is' : 'are'} running, last round finished ${duration(last)} ago`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
