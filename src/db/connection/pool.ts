/** Connection pools. `Db`, the first parameter of every query function, is a pool or a transaction on it. */

import type { Socket } from 'node:net';
import { Kysely, PostgresDialect, type Selectable, sql } from 'kysely';
import pg from 'pg';
import { AppError } from '../../core/errors.ts';
import { serverUrls } from '../../core/operations/database-url.ts';
import { PrimaryClient } from './primary.ts';
import type { Tables } from './types.ts';

export type Db = Kysely<Tables>;
/** Where a statement runs on its own: on any connection of a pool, or on a certain one. */
export type Statements = Pick<pg.Pool, 'query'>;
/** Columns of a row, as they are read. */
export type Row<
  Table extends keyof Tables,
  Column extends keyof Selectable<Tables[Table]> = keyof Selectable<Tables[Table]>,
> = Pick<Selectable<Tables[Table]>, Column>;

export interface Database {
  db: Db;
  pool: pg.Pool;
  /** A dedicated connection for storing triggers: slow queries never delay them. */
  writer: pg.Pool;
  /** A dedicated connection for large triggers, so that small ones never wait for them. Opened on first use. */
  largeWriter: pg.Pool;
  close(): Promise<void>;
}

const minSupportedVersion = 15;
const defaultSilenceMs = 5_000;
const writerSilenceMs = 2_000;
/** How long a connection has to respond once another one has gone silent. */
const suspectMs = 500;

// Identifiers are bigint in the database and stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
/** Of bigint[], whose elements would be text. */
const int8Array: number = 1016;
pg.types.setTypeParser(int8Array, (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number)));

/**
 * How often prepared statements are planned again. A plan that was made while a table was empty is kept long after it has
 * filled: a claim then reads every delivery, 7 ms instead of 0.2. A busy connection replans after 2, 4, 8 seconds and so
 * on, as its tables grow relatively less over time, and replanning every 2 seconds took 5 % of PostgreSQL's time. An idle
 * one replans rarely: an old plan of a rare statement does little harm.
 */
const replan = { busyMs: 2_000, busyUses: 30, idleMs: 30_000 };

type ClientSettings = pg.ClientConfig & { isPooled?: boolean; silenceMs?: number | undefined };

/**
 * Uses callbacks, as the promises of pg keep every result alive until the next full garbage collection: reading a million
 * rows in pages grew the process by 190 MB instead of 30.
 */
export class Client extends PrimaryClient {
  /** All open connections, because those to the same server usually go silent together. */
  static readonly #open = new Set<Client>();
  readonly #openedAt = performance.now();
  #plannedAt = performance.now();
  #uses = 0;
  #busyMs = replan.busyMs;
  readonly #config: ClientSettings;
  #pending = 0;
  #watchdog: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(config: ClientSettings = {}) {
    super(config);
    this.#config = config;
    // Not before: without a server, it never ends, and nothing listens for errors of its socket.
    this.once('connect', () => Client.#open.add(this));
    this.once('end', () => Client.#open.delete(this));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come
  override query(config: any, values?: any, callback?: any): any {
    if (callback && config?.name && this.#expirePlans()) super.query('discard plans', () => {});
    if (typeof config?.submit === 'function' || config?.callback) return super.query(config, values, callback);
    if (typeof values === 'function') return this.query(config, undefined, values);
    if (!callback) {
      return new Promise((resolve, reject) => {
        this.query(config, values, (error: Error | null, result: pg.QueryResult) => {
          if (error) reject(error);
          else resolve(result);
        });
      });
    }
    this.#pending++;
    this.#awaitResponse();
    return super.query(config, values, (error: Error, result: pg.QueryResult) => {
      this.#pending--;
      this.#awaitResponse();
      // The next connection reaches the new primary.
      if (sqlState(error) === '25006') this.#destroy('PostgreSQL has become read-only');
      callback(error, result);
    });
  }

  /**
   * Watches for a server that is silent while it has nothing to do: a firewall forgot the connection, or another machine
   * took over. Without this, a statement would wait for many minutes, and so would every later one on the connection.
   */
  #awaitResponse(): void {
    if (this.#pending === 0) {
      clearTimeout(this.#watchdog);
      this.#watchdog = undefined;
    } else if (this.#watchdog) {
      this.#watchdog.refresh();
    } else {
      const { silenceMs = defaultSilenceMs } = this.#config;
      this.#watchdog = setTimeout(() => void this.#handleSilence(silenceMs), silenceMs).unref();
    }
  }

  async #handleSilence(silenceMs: number): Promise<void> {
    const watchdog = this.#watchdog;
    this.#isChecking = true;
    const isBusy = await this.#isServerBusy(silenceMs);
    this.#isChecking = false;
    // A response has arrived meanwhile, or the connection has ended.
    if (this.#watchdog !== watchdog || this.#pending === 0) return;
    if (isBusy) {
      watchdog?.refresh();
      return;
    }
    this.#destroy(`PostgreSQL did not respond within ${silenceMs / 1_000} s, although it was not busy`);
    const { connectionString } = this.#config;
    const silentSince = performance.now() - silenceMs;
    for (const other of Client.#open) {
      if (other.#config.connectionString === connectionString && other.#openedAt < silentSince) other.#suspect();
    }
  }

  /** Does not wait for the silence of this connection: an idle one is replaced, and the server is asked about others. */
  #suspect(): void {
    if (this.#pending === 0) this.#destroy('another connection to PostgreSQL went silent');
    else if (this.#watchdog && !this.#isChecking) {
      clearTimeout(this.#watchdog);
      const { silenceMs = defaultSilenceMs } = this.#config;
      this.#watchdog = setTimeout(() => void this.#handleSilence(silenceMs), suspectMs).unref();
    }
  }

  #destroy(message: string): void {
    const { connection } = this as unknown as { connection: { stream: Socket } };
    connection.stream.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
  }

  /** Asks over a new connection whether the server is executing a statement of this one. */
  async #isServerBusy(timeoutMs: number): Promise<boolean> {
    const { connectionString, application_name, isPooled } = this.#config;
    const { processID, host, port } = this as unknown as { processID: number; host: string; port: number };
    const limits = { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
    const probe = new pg.Client({ connectionString: serverUrls(connectionString!)[0], application_name, ...limits });
    Object.assign(probe, { host, port });
    probe.on('error', () => {});
    try {
      await probe.connect();
      // A pooler does not say which session of the server it uses: any statement of ours that runs as long may be it.
      const condition = isPooled
        ? "usename = current_user and query_start < now() - $1 * interval '0.5 ms'"
        : 'pid = $1';
      const { rows } = await probe.query<{ busy: boolean }>(
        `select exists (select from pg_stat_activity where state = 'active' and ${condition}) as busy`,
        [isPooled ? timeoutMs : processID],
      );
      return rows[0]!.busy;
    } catch (error) {
      // A server without a free connection is there, and may be busy.
      return sqlState(error)?.startsWith('53') ?? false;
    } finally {
      probe.end().catch(() => {});
    }
  }

  /** Returns whether plans are due for renewal, and if so restarts their age. */
  #expirePlans(): boolean {
    const ageMs = performance.now() - this.#plannedAt;
    const isBusy = ++this.#uses > replan.busyUses;
    if (ageMs <= (isBusy ? this.#busyMs : replan.idleMs)) return false;
    this.#busyMs = isBusy ? Math.min(2 * this.#busyMs, replan.idleMs) : replan.busyMs;
    this.#plannedAt = performance.now();
    this.#uses = 0;
    return true;
  }
}

/**
 * Does not prepare statements: behind a pooler in transaction mode, each transaction may run in another session of the
 * server, which lacks the statements that were prepared before.
 */
class PooledClient extends Client {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(config: any, values?: any, callback?: any): any {
    if (!config?.name) return super.query(config, values, callback);
    const { name: _, ...unnamed } = config;
    return super.query(unnamed, values, callback);
  }
}

export interface PoolOptions {
  url: string;
  /** Whether the URL leads to a pooler in transaction mode. */
  pooled?: boolean;
  /** Shown in pg_stat_activity. */
  name: string;
  connections?: number;
  /** Sends statements without waiting for the result of the previous one, which saves round trips. */
  pipelined?: boolean;
  /** Server settings for these connections. */
  settings?: Record<string, string>;
  /** How long a statement may take before the server is asked whether it is executing it. Default: 5 s. */
  silenceMs?: number;
  onError?: (error: Error) => void;
}

/**
 * Settings for claims. A queue can grow to a million rows before statistics are updated, and a plan made for an empty
 * table then reads and sorts the whole queue for each claim. These settings force index scans, which fit any size: a
 * claim of 250 with 2,000 waiting takes 4 ms instead of 269.
 */
export const indexScansOnly = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  // Planning each claim again took 1.3 ms, a third of the claim.
  plan_cache_mode: 'force_generic_plan',
};

/** Makes the server end the session of a client whose machine vanished, and free its locks, within 15 s instead of hours. */
export const vanishedClients = {
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '5',
  tcp_user_timeout: '15000',
};

/**
 * Compiling short statements costs more than it saves. Before PostgreSQL 18, plans under `indexScansOnly` also look so
 * expensive to the planner that they are compiled with every optimization: settling one batch took more than 8 s.
 */
const defaultSettings = { jit: 'off', ...vanishedClients };

/** Returns settings in the form of the connection parameter `options`. */
export function toOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([setting, value]) => `-c ${setting}=${value}`)
    .join(' ');
}

/** How long to wait for a connection. Commands and tests wait longer. */
export const connecting = { timeoutMs: 5_000 };

export function openDatabase({ url, name, connections = 10, onError = () => {}, ...more }: PoolOptions): Database {
  const settings = {
    connectionString: url,
    // A pooler accepts no settings, as its sessions are shared.
    options: more.pooled ? '' : toOptions({ ...defaultSettings, ...more.settings }),
    application_name: name,
    connectionTimeoutMillis: connecting.timeoutMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    pipeline: more.pipelined ?? false,
    isPooled: more.pooled ?? false,
    silenceMs: more.silenceMs,
    Client: more.pooled ? PooledClient : Client,
  };
  const pool = new pg.Pool({ ...settings, max: connections });
  // All triggers wait for a writer that has gone silent, so it is noticed sooner.
  const writing = { ...settings, silenceMs: Math.min(more.silenceMs ?? defaultSilenceMs, writerSilenceMs), max: 1 };
  const writer = new pg.Pool(writing);
  const largeWriter = new pg.Pool(writing);
  const pools = [pool, writer, largeWriter];
  for (const each of pools) {
    // Without a listener, a connection that breaks while idle would crash the process.
    each.on('error', onError);
    // The pool does not listen while a connection is checked out; the next query on it fails and reports the error.
    each.on('connect', client => client.on('error', () => {}));
  }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return {
    db,
    pool,
    writer,
    largeWriter,
    // Not db.destroy(): it leaves the pool open if no query ever went through Kysely.
    close: async () => {
      await Promise.all(pools.map(each => each.end()));
    },
  };
}

/** Runs the statements of query functions on one connection, inside the transaction that it has open. */
export function dbOn(client: pg.PoolClient): Db {
  const connection = { query: client.query.bind(client), release: () => {} } as unknown as pg.PoolClient;
  const pool = { connect: async () => connection, end: async () => {} } as unknown as pg.Pool;
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

export async function requireSupportedVersion(db: Db): Promise<void> {
  const { rows } = await sql<{ version: number }>`select current_setting('server_version_num')::int as version`.execute(
    db,
  );
  const major = Math.floor((rows[0]?.version ?? 0) / 10_000);
  if (major < minSupportedVersion) {
    throw new AppError(
      'database.unsupported',
      `PostgreSQL ${major} is too old: Belfry needs ${minSupportedVersion} or later`,
    );
  }
}

/**
 * Prepares a transaction that makes tables many times larger. A connection keeps the plans of its foreign key checks, and
 * one made for a small table reads the whole table for every inserted row: 100,000 members took minutes, not seconds. A join
 * of rows that the statistics do not include must not be a nested loop.
 */
export async function prepareForGrowth(trx: Db): Promise<void> {
  await sql`discard plans`.execute(trx);
  await sql`set local enable_seqscan = off`.execute(trx);
  await sql`set local enable_nestloop = off`.execute(trx);
  await sql`set local jit = off`.execute(trx);
}

/** Returns the SQLSTATE of a database error, or undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** Returns the name of the violated constraint, or undefined for any other error. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined;
}

/**
 * Connection failures (08), out of resources (53), shutting down (57P); and what an operator or a failover causes: a
 * cancelled statement (57014), a lock that was not granted in time (55P03), a database that is read-only (25006).
 */
const unavailableStates = /^(08|53|57P|57014|55P03|25006)/;

/** Returns whether the database cannot do its work at the moment, so that a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (state) return unavailableStates.test(state);
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  // The Unix socket of a stopped server does not exist.
  if (code === 'ENOENT' && syscall === 'connect') return true;
  if (code && /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/.test(code)) return true;
  return /Connection terminated|Query read timeout|timeout expired|timeout exceeded when trying to connect|Client has encountered/.test(
    message ?? '',
  );
}
