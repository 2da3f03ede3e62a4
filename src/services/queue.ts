/**
 * Whether what is due is being worked on: how long the first of it has been due, and when a worker last finished a round
 * of its work. A worker that lives but fails in every round looks well from outside; only this tells.
 */
import { type Priority, priorities } from '../core/trigger.ts';
import { countDueAcrossTenants, listOverdueAcrossTenants, type Overdue } from '../db/health.ts';
import type { Db } from '../db/pool.ts';
import { findWebhookBacklogAcrossTenants } from '../db/webhook-queue.ts';
import { listLiveWorkersAcrossTenants, noteRoundAcrossTenants } from '../db/workers.ts';
import type { Deps } from './deps.ts';
import { readInstancePause } from './instance.ts';

/** A round takes milliseconds, and an idle worker begins one every second. */
const roundLimitMs = 60_000;
/** What has been due for longer than this is stuck. Bulk is meant to wait: a large mailing takes hours. */
const overdueLimitMs: Record<Priority, number> = { urgent: 600_000, normal: 600_000, bulk: 21_600_000 };
/** How often a worker writes down that it has finished a round. */
const noteEveryMs = 10_000;

/** The rounds that the worker of this process has finished. */
export class WorkerRounds {
  readonly #db: Db;
  readonly #onError: (error: Error) => void;
  #finishedAt: number;
  #notedAt = 0;

  /** A worker that has not finished a round yet is measured from its beginning. */
  constructor(db: Db, onError: (error: Error) => void, now: number) {
    this.#db = db;
    this.#onError = onError;
    this.#finishedAt = now;
  }

  get finishedAt(): number {
    return this.#finishedAt;
  }

  /** In memory at once, for this process; in the database now and then, for everybody. */
  finished(workerId: number, now: number): void {
    this.#finishedAt = now;
    if (now - this.#notedAt < noteEveryMs) return;
    this.#notedAt = now;
    noteRoundAcrossTenants(this.#db, workerId).catch(this.#onError);
  }
}

/** Counted no further for each class and queue. */
const mostCounted = 100_000;

export interface Backlog {
  /** Workers that are running, wherever. */
  workers: number;
  /** Because the database may be a copy: see instance.ts. */
  isPaused: boolean;
  /** How long the oldest message to a webhook has been due. */
  webhooksAgeMs: number;
  /** What is due and not yet being worked on. */
  classes: { name: Priority; size: number; ageMs: number }[];
}

/** For metrics. */
export async function readBacklog({ db, pool }: Pick<Deps, 'db' | 'pool'>): Promise<Backlog> {
  const overdue = await listOverdueAcrossTenants(db);
  // Mostly nothing is due, and then there is nothing to count.
  const due = overdue.length === 0 ? [] : await countDueAcrossTenants(db, mostCounted);
  const workers = await listLiveWorkersAcrossTenants(db);
  const isPaused = (await readInstancePause({ db })) !== undefined;
  const classes = [...priorities.entries()].map(([priority, name]) => ({
    name,
    size: due.find(one => one.priority === priority)?.count ?? 0,
    ageMs: overdue.find(one => one.priority === priority)?.ms ?? 0,
  }));
  const webhooksAgeMs = (await findWebhookBacklogAcrossTenants(pool)) * 1_000;
  return { workers: workers.length, isPaused, webhooksAgeMs, classes };
}

/** For `belfry doctor`: of all workers, wherever they run. Throws what is wrong. */
export async function examineQueue(db: Db): Promise<string> {
  const overdue = await listOverdueAcrossTenants(db);
  const workers = await listLiveWorkersAcrossTenants(db);
  const waited = Math.max(0, ...overdue.map(({ ms }) => ms));
  if (workers.length === 0 && waited > roundLimitMs) {
    throw new Error(`${tellOldest(overdue)}, and no worker is running: start one with \`belfry serve\``);
  }
  const stuck = workers.filter(({ sinceRoundMs }) => sinceRoundMs > roundLimitMs);
  if (stuck.length > 0) {
    const longest = Math.max(...stuck.map(({ sinceRoundMs }) => sinceRoundMs));
    const who = `${stuck.length} of ${workers.length} running workers`;
    throw new Error(`${tellOldest(overdue)}; ${who} finished no round for ${duration(longest)}: ${seeLog}`);
  }
  refuseOverdue(overdue);
  return `${tellOldest(overdue)}; ${workers.length === 0 ? 'no worker is running' : tellRounds(workers)}`;
}

/**
 * For the readiness of one process. Where a worker belongs to it, that worker has to work and to keep up. A process that
 * only accepts triggers goes on doing so without workers, since it stores them for good: it tells, and stays ready.
 */
export async function readQueue(db: Db, rounds: WorkerRounds | undefined, now: number): Promise<string> {
  const overdue = await listOverdueAcrossTenants(db);
  if (!rounds) {
    const workers = await listLiveWorkersAcrossTenants(db);
    return `${tellOldest(overdue)}; ${workers.length === 0 ? 'no worker is running' : tellRounds(workers)}`;
  }
  const sinceMs = now - rounds.finishedAt;
  if (sinceMs > roundLimitMs) {
    throw new Error(`${tellOldest(overdue)}; this worker finished no round for ${duration(sinceMs)}: ${seeLog}`);
  }
  refuseOverdue(overdue);
  return `${tellOldest(overdue)}; this worker finished a round ${duration(sinceMs)} ago`;
}

const seeLog = 'its log says why';

function refuseOverdue(overdue: Overdue[]): void {
  for (const { priority, ms } of overdue) {
    const name = priorities[priority]!;
    const limitMs = overdueLimitMs[name];
    if (ms <= limitMs) continue;
    throw new Error(
      `${tellOldest(overdue)}; ${name} messages may be due for ${duration(limitMs)} at the most: ` +
        'the workers cannot keep up, so add some with `belfry serve --role worker`, or look into their logs',
    );
  }
}

function tellOldest(overdue: Overdue[]): string {
  if (overdue.length === 0) return 'nothing is due';
  const { priority, ms } = overdue.toSorted((a, b) => b.ms - a.ms)[0]!;
  return `the oldest message, a ${priorities[priority]} one, has been due for ${duration(ms)}`;
}

function tellRounds(workers: { sinceRoundMs: number }[]): string {
  const last = Math.min(...workers.map(({ sinceRoundMs }) => sinceRoundMs));
  const many = workers.length === 1 ? '1 worker is running' : `${workers.length} workers are running`;
  return `${many}, the last round was finished ${duration(last)} ago`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
