/** Connections. `Db` is what every function of this folder takes first: the pool, or a transaction on it. */
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { AppError } from '../core/errors.ts';
import type { Tables } from './types.ts';

export type Db = Kysely<Tables>;

export interface Database {
  db: Db;
  pool: pg.Pool;
  /** One connection of its own for storing triggers: a slow list never keeps them waiting. */
  writer: pg.Pool;
  close(): Promise<void>;
}

const oldestSupported = 15;

// Identifiers are bigint in the database and stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/**
 * Prepared statements are planned anew so often. A plan that was made while a table was empty is kept long after it has
 * filled: a claim then read every delivery there was, 7 ms instead of 0.2. The longer a connection is busy, the less its
 * tables grow in the same time: it plans after 2, 4, 8 seconds and so on, since each 2 seconds took 5 % of PostgreSQL's
 * time. What runs rarely does little harm by an old plan, and an idle process should not plan all day.
 */
const replan = { busyMs: 2_000, busyUses: 30, idleMs: 30_000 };

/**
 * The promises of pg keep every result alive until the next full garbage collection: with them a list of a million
 * rows, read a thousand at a time, grew the process by 190 MB; through the callback it grows by 30.
 */
class Client extends pg.Client {
  #plannedAt = Date.now();
  #uses = 0;
  #busyMs = replan.busyMs;

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come
  override query(config: any, values?: any, callback?: any): any {
    if (config?.name && this.#isPlanOld()) super.query('discard plans', () => {});
    if (callback || typeof values === 'function' || typeof config?.submit === 'function' || config?.callback) {
      return super.query(config, values, callback);
    }
    return new Promise((resolve, reject) => {
      super.query(config, values, (error: Error | null, result: pg.QueryResult) => {
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  /** If so, it counts as made anew. */
  #isPlanOld(): boolean {
    const ageMs = Date.now() - this.#plannedAt;
    const isBusy = ++this.#uses > replan.busyUses;
    if (ageMs <= (isBusy ? this.#busyMs : replan.idleMs)) return false;
    this.#busyMs = isBusy ? Math.min(2 * this.#busyMs, replan.idleMs) : replan.busyMs;
    this.#plannedAt = Date.now();
    this.#uses = 0;
    return true;
  }
}

/**
 * Behind a pooler in transaction mode each transaction may meet another session of the server, which knows nothing of what was
 * prepared in the one before: so nothing is.
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
  /** Whether the address leads to a pooler in transaction mode. */
  pooled?: boolean;
  /** Shown in pg_stat_activity. */
  name: string;
  connections?: number;
  /** Statements leave without waiting for the answer to the one before: whoever sends several at once saves the way there and back. */
  pipelined?: boolean;
  /** Settings of the server for these connections. */
  settings?: Record<string, string>;
  onError?: (error: Error) => void;
}

/**
 * For claims. A queue grows from nothing to a million rows sooner than statistics follow, and a plan made for an empty
 * table then reads, and sorts, all that waits for each claim. There is an index for them at any size. Measured with no
 * more than 2,000 waiting: a claim of 250 by the generic plan took 269 ms, and takes 4.
 */
export const byIndexAlone = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  // Planning a claim anew took 1.3 ms, a third of it.
  plan_cache_mode: 'force_generic_plan',
};

/**
 * Short statements only lose by being compiled, and before PostgreSQL 18 what `byIndexAlone` leaves looks so expensive to the
 * planner that it is compiled with every optimization: settling one batch took longer than 8 s.
 */
const usual = { jit: 'off' };

export function openDatabase({ url, name, connections = 10, onError = () => {}, ...more }: PoolOptions): Database {
  const settings = {
    connectionString: url,
    // A pooler takes no settings: its sessions are everybody's.
    options: Object.entries(more.pooled ? {} : { ...usual, ...more.settings })
      .map(([setting, value]) => `-c ${setting}=${value}`)
      .join(' '),
    application_name: name,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    pipeline: more.pipelined ?? false,
    Client: more.pooled ? PooledClient : Client,
  };
  const pool = new pg.Pool({ ...settings, max: connections });
  const writer = new pg.Pool({ ...settings, max: 1 });
  // Without a listener a connection that breaks while idle would end the process.
  pool.on('error', onError);
  writer.on('error', onError);
  // Nor does the pool listen while somebody holds a connection: there the next query fails and tells.
  for (const each of [pool, writer]) each.on('connect', client => client.on('error', () => {}));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return {
    db,
    pool,
    writer,
    // Not db.destroy(): it leaves the pool open when no query ever went through Kysely.
    close: async () => {
      await Promise.all([pool.end(), writer.end()]);
    },
  };
}

export async function requireSupportedVersion(db: Db): Promise<void> {
  const { rows } = await sql<{ version: number }>`select current_setting('server_version_num')::int as version`.execute(
    db,
  );
  const major = Math.floor((rows[0]?.version ?? 0) / 10_000);
  if (major < oldestSupported) {
    throw new AppError(
      'database.unsupported',
      `PostgreSQL ${major} is too old: Belfry needs ${oldestSupported} or later`,
    );
  }
}

/**
 * For a transaction that makes tables many times as large. A connection keeps the plans of its foreign keys, and one that
 * was made for a small table reads all of it for every row that is added: 100,000 members took minutes, and take seconds.
 */
export async function expectGrowth(trx: Db): Promise<void> {
  await sql`discard plans`.execute(trx);
  await sql`set local enable_seqscan = off`.execute(trx);
  await sql`set local jit = off`.execute(trx);
}

/** SQLSTATE of a database error, or undefined. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The constraint that a row violated, if that is what went wrong. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined;
}

/** The database is away, shutting down or out of connections: worth trying again later. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (state) return /^(08|53|57P)/.test(state);
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  // A server that is down has no socket.
  if (code === 'ENOENT' && syscall === 'connect') return true;
  if (code && /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/.test(code)) return true;
  return /Connection terminated|Query read timeout|timeout expired|timeout exceeded when trying to connect|Client has encountered/.test(
    message ?? '',
  );
}
