/**
 * Standbys for reads that may be a few seconds old. Every second, the position of the primary's log is noted with the time, and each
 * standby is asked how far it has replayed: it then contains everything that was committed before that time. So no clocks are
 * compared, and a standby of an idle primary is not late. A standby that is late, unreachable, or not one of this very
 * database is not used. Whatever fails on a standby is repeated on the primary.
 */
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely';
import type pg from 'pg';
import { addressesOf, serverUrls } from '../../core/operations/database-url.ts';
import { type Database, type Db, isUnavailable, openDatabase } from './pool.ts';
import type { Tables } from './types.ts';

/** Reads are never older than this. */
export const maxStalenessMs = 5_000;
const checkEveryMs = 1_000;
const checkTimeoutMs = 2_000;
const maxSamples = 20;
/** A transaction is visible this long before it is in the log, if commits are asynchronous: three times wal_writer_delay. */
const asynchronousMs = 600;

/** Why a read went to the primary. */
export type FallbackCause = 'behind' | 'unreachable' | 'foreign' | 'failed' | 'written' | 'page' | 'announcements';

/** Where a server is in the log of its database. */
interface Position {
  system: string;
  database: number;
  timeline: number;
  position: number;
}

interface Sample extends Position {
  /** Everything that was committed before this time is before the position. */
  at: number;
}

export interface ReplicaStatus {
  address: string;
  /** Undefined while it is used. */
  cause: FallbackCause | undefined;
  /** Undefined until it was first compared with the primary. */
  stalenessMs: number | undefined;
}

export interface ReadSource {
  db: Db;
  /** The source contains everything that was committed before this time. */
  asOf: number;
}

interface ReplicasOptions {
  urls: string;
  /** Runs a statement on a connection to the primary that no other reads wait for. */
  askPrimary: <Row>(text: string) => Promise<Row[]>;
  primary: Pick<Database, 'db' | 'pool'>;
  log: ReplicaLog;
}

export interface ReplicaLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

const identity = `system_identifier::text as system,
  (select oid::bigint from pg_database where datname = current_database()) as database`;

const primaryText = `
  select ${identity}, (pg_current_wal_flush_lsn() - '0/0')::bigint as position,
    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint as timeline,
    current_setting('synchronous_commit') = 'off' as asynchronous
  from pg_control_system()`;

/**
 * The timeline can be outdated after a failover, by minutes, until the next restart point. It is needed because a standby that
 * does not follow the new primary may have replayed more of the old one's log than the new one has written.
 */
const replicaText = `
  select ${identity}, (pg_last_wal_replay_lsn() - '0/0')::bigint as position,
    greatest((select timeline_id from pg_control_checkpoint()),
      (select min_recovery_end_timeline from pg_control_recovery())) as timeline
  from pg_control_system() where pg_is_in_recovery()`;

/** Announces who has changed something. Any role of the database can announce, so this is only a hint. */
export const writtenChannel = 'belfry_written';

export async function announceWriter(db: Db, name: string): Promise<void> {
  await sql`select pg_notify(${writtenChannel}, ${name})`.execute(db);
}

/** The time in milliseconds, like `Date.now()`, but never set back. */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

export class Replicas {
  readonly fallbacks = new Map<FallbackCause, number>();
  reads = 0;
  readonly #options: ReplicasOptions;
  readonly #replicas: Replica[];
  #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  /** Whether the last sample failed. */
  #hasWarned = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    const addresses = addressesOf(options.urls);
    this.#replicas = serverUrls(options.urls).map((url, i) => new Replica(url, addresses[i]!, options.log));
  }

  /** Checks all replicas, then every second. */
  async start(): Promise<void> {
    await this.#check();
    this.#timer = setInterval(() => {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = undefined;
      });
    }, checkEveryMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
    await Promise.all(this.#replicas.map(each => each.database.close()));
  }

  listStatuses(): ReplicaStatus[] {
    return this.#replicas.map(({ address, cause, asOf }) => ({
      address,
      cause,
      stalenessMs: asOf === undefined ? undefined : steadyNow() - asOf,
    }));
  }

  /** Returns the primary, for a read that must not go to a replica. */
  fallBack(cause: FallbackCause): ReadSource {
    this.#count(cause);
    return { db: this.#options.primary.db, asOf: steadyNow() };
  }

  /**
   * Returns where to read what was committed before `since`. `preferred` is any number: the same one stays with the same
   * replica as long as that is used. `cause` is why a replica that is not late lacks something.
   */
  open(since: number, preferred: number, cause: 'written' | 'page'): ReadSource {
    const count = this.#replicas.length;
    const ordered = this.#replicas.map((_, i) => this.#replicas[(preferred + i) % count]!);
    const replica = ordered.find(each => each.contains(since));
    if (replica) return { db: this.#follow(replica), asOf: replica.asOf! };
    return this.fallBack(ordered.some(each => each.contains(-Infinity)) ? cause : (ordered[0]!.cause ?? 'behind'));
  }

  /** Returns a database that reads from the replica, and from the primary as soon as the replica fails or is late. */
  #follow(replica: Replica): Db {
    const { pool } = this.#options.primary;
    let isUsed = true;
    const read = async (text: string, parameters: unknown[]) => {
      if (isUsed && !replica.contains(-Infinity)) {
        isUsed = false;
        this.#count(replica.cause ?? 'behind');
      }
      if (!isUsed) return pool.query(text, parameters);
      try {
        const result = await replica.database.pool.query(text, parameters);
        this.reads++;
        return result;
      } catch (error) {
        isUsed = false;
        this.#count(isUnavailable(error) ? 'unreachable' : 'failed');
        replica.handleFailure(error as Error);
        return pool.query(text, parameters);
      }
    };
    const connect = async () => {
      // Whatever is not a plain read, such as a transaction or an audit entry, takes a connection to the primary.
      let client: pg.PoolClient | undefined;
      return {
        query: async (text: string, parameters: unknown[]) => {
          if (!client && /^\s*(select|with)\b/i.test(text)) return read(text, parameters);
          client ??= await pool.connect();
          return client.query(text, parameters);
        },
        release: (isBroken?: boolean) => client?.release(isBroken),
      };
    };
    const source = { connect, end: async () => {}, options: {} } as unknown as PostgresPool;
    return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: source }) });
  }

  async #check(): Promise<void> {
    const at = steadyNow();
    try {
      const [row] = await this.#options.askPrimary<Position & { asynchronous: boolean }>(primaryText);
      const { asynchronous, ...position } = row!;
      const sample = { ...position, at: asynchronous ? at - asynchronousMs : at };
      this.#samples = [sample, ...this.#samples.slice(0, maxSamples - 1)];
      this.#hasWarned = false;
    } catch (error) {
      // Without a sample the replicas become late, and all reads go to the primary.
      if (!this.#hasWarned)
        this.#options.log.warn({ err: error }, 'the position of the primary cannot be read for replicas');
      this.#hasWarned = true;
    }
    await Promise.all(this.#replicas.map(each => each.check(this.#samples)));
  }

  #count(cause: FallbackCause): void {
    this.fallbacks.set(cause, (this.fallbacks.get(cause) ?? 0) + 1);
  }
}

class Replica {
  readonly address: string;
  readonly database: Database;
  asOf: number | undefined;
  cause: FallbackCause | undefined = 'unreachable';
  readonly #log: ReplicaLog;
  #hasLogged = false;

  constructor(url: string, address: string, log: ReplicaLog) {
    this.address = address;
    this.#log = log;
    this.database = openDatabase({ url, name: 'belfry replica', silenceMs: checkTimeoutMs });
  }

  /** Returns whether the replica is used and contains everything that was committed before the time. */
  contains(time: number): boolean {
    return (
      this.cause === undefined &&
      this.asOf !== undefined &&
      this.asOf >= time &&
      steadyNow() - this.asOf <= maxStalenessMs
    );
  }

  async check(samples: readonly Sample[]): Promise<void> {
    try {
      // The writer is a connection that no read waits for.
      const { rows } = await this.database.writer.query<Position>({
        text: replicaText,
        query_timeout: checkTimeoutMs,
      } as pg.QueryConfig);
      this.#compare(rows[0], samples);
    } catch (error) {
      this.#update('unreachable', error as Error);
    }
  }

  #compare(own: Position | undefined, samples: readonly Sample[]): void {
    const isSame = ({ system, database, timeline }: Sample) =>
      system === own?.system && database === own.database && timeline === own.timeline;
    if (!own || (samples[0] && !isSame(samples[0]))) {
      this.#update('foreign');
      return;
    }
    this.asOf = samples.find(sample => isSame(sample) && sample.position <= own.position)?.at ?? this.asOf;
    // It is used again only when it is well below the limit, so that it does not come and go every second.
    const maxMs = this.cause === undefined ? maxStalenessMs : maxStalenessMs / 2;
    this.#update(this.asOf !== undefined && steadyNow() - this.asOf <= maxMs ? undefined : 'behind');
  }

  handleFailure(error: Error): void {
    if (isUnavailable(error)) this.#update('unreachable', error);
    else
      this.#log.warn(
        { err: error, replica: this.address },
        'a read failed on the replica and was repeated on the primary',
      );
  }

  #update(cause: FallbackCause | undefined, error?: Error): void {
    const isChange = this.cause !== cause || !this.#hasLogged;
    const wasUsed = this.cause === undefined;
    this.cause = cause;
    if (!isChange) return;
    const details = { replica: this.address, ...(error && { err: error }) };
    if (cause === undefined) this.#log.info(details, 'the replica is used for reads');
    else if (wasUsed || !this.#hasLogged)
      this.#log.warn({ ...details, cause }, `reads go to the primary: ${explainCause(cause)}`);
    this.#hasLogged = true;
  }
}

/** Returns a sentence about a replica that is not used. */
export function explainCause(cause: FallbackCause): string {
  if (cause === 'foreign') return 'the server is not a standby of this database';
  if (cause === 'behind') return `the replica is more than ${maxStalenessMs / 1_000} s behind`;
  return 'the replica does not answer';
}
