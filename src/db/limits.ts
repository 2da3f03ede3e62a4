/**
 * What a channel may do, kept in the database so that all workers share it: moments to send at for a rate, and slots for
 * how many messages may be under way at once.
 */
import pg from 'pg';
import { sqlState } from './pool.ts';

export interface MomentsWanted {
  channelId: number;
  perSecond: number;
  wanted: number;
  /** How far ahead moments are given: what is given is kept free, also when somebody more urgent comes. */
  aheadMs: number;
}

export interface Moments {
  granted: number;
  /** Until the first of them; the others follow, evenly spaced. */
  waitMs: number;
}

// One row is locked for a moment and nothing else. The database's clock is the one that all workers share; should it be
// set back, no channel waits longer than the three seconds. The clock is read once, so that both columns agree.
const given = (next: string) =>
  `greatest(least(${next}, statement_timestamp() + interval '3 seconds'), statement_timestamp())`;
const count = (next: string) => `least($4::integer, greatest(0, 1 + floor($3::double precision
  * extract(epoch from statement_timestamp() + $5::double precision * interval '1 millisecond' - ${given(next)})
    ::double precision)))::integer`;
const after = (next: string) => `${given(next)} + ${count(next)} / $3::double precision * interval '1 second'`;
const reserve = {
  name: 'reserve_moments',
  text: `
    insert into channel_rates as r (organization_id, channel_id, granted, next_at)
    values ($1, $2, ${count("'-infinity'::timestamptz")}, ${after("'-infinity'::timestamptz")})
    on conflict (organization_id, channel_id) do update set granted = ${count('r.next_at')}, next_at = ${after('r.next_at')}
    returning granted, greatest(0, extract(epoch from next_at - clock_timestamp())::double precision * 1000
      - granted * 1000 / $3::double precision) as "waitMs"`,
};

/** Evenly spaced over all workers: within any second no more than the rate, and one that stands on its edge. */
export async function reserveMoments(
  pool: pg.Pool,
  organizationId: number,
  { channelId, perSecond, wanted, aheadMs }: MomentsWanted,
): Promise<Moments> {
  const values = [organizationId, channelId, perSecond, wanted, aheadMs];
  const { rows } = await pool.query<Moments>({ ...reserve, values });
  return rows[0]!;
}

/**
 * Slots are session advisory locks on a connection of their own: they vanish with the process that held them. The
 * connection is opened when the first slot is asked for.
 */
export class Slots {
  readonly #url: string;
  readonly #onLost: (error: Error) => void;
  #client: Promise<pg.Client> | undefined;
  /** A connection does one thing at a time, in the order of asking: what is freed is free for whoever asks next. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(url: string, onLost: (error: Error) => void) {
    this.#url = url;
    this.#onLost = onLost;
  }

  /**
   * Of slots 1 to `count` without those in `held`, up to `most` that nobody has. A session gets a lock that it has once
   * more, and would have to free it twice: `case` alone promises that those held are not tried.
   */
  async take(channel: string, count: number, held: number[], most: number): Promise<number[]> {
    const { rows } = await this.#query<{ slot: number }>(
      () => this.#connected(),
      `select slot from generate_series(1, $2::integer) as slot
       where case when slot = any($3::integer[]) then false else pg_try_advisory_lock(${keyText}) end limit $4`,
      [channel, count, held, most],
    );
    return rows.map(row => row.slot);
  }

  /** Nothing to do where the connection is gone, and the lock with it. */
  async free(channel: string, slot: number): Promise<void> {
    await this.#query(
      () => this.#client,
      `select pg_advisory_unlock(${keyText}) from (values ($2::integer)) as given (slot)`,
      [channel, slot],
    );
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    this.#client = undefined;
    await client?.end();
  }

  async #query<Row extends pg.QueryResultRow>(
    connection: () => Promise<pg.Client> | undefined,
    text: string,
    values: unknown[],
  ): Promise<{ rows: Row[] }> {
    const answer = this.#last.then(async () => {
      const client = await connection();
      return client ? client.query<Row>(text, values) : { rows: [] };
    });
    this.#last = answer.catch((error: Error) => {
      // What this connection holds is no longer known: without it, it holds nothing.
      if (!sqlState(error)) this.#drop(this.#client, error);
    });
    return answer;
  }

  #connected(): Promise<pg.Client> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'belfry slots',
      keepAlive: true,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    });
    const connected = client.connect().then(() => client);
    connected.catch(error => this.#drop(connected, error));
    client.on('error', error => this.#drop(connected, error));
    client.on('end', () => this.#drop(connected, new Error('the connection ended')));
    return connected;
  }

  #drop(connected: Promise<pg.Client> | undefined, error: Error): void {
    if (!connected || this.#client !== connected) return;
    this.#client = undefined;
    connected.then(client => client.end()).catch(() => {});
    this.#onLost(error);
  }
}

/** A query here waits for nobody: one that lasts this long has lost its connection. */
const timeoutMs = 5_000;

const keyText = `hashtextextended('belfry slot ' || $1::text || '/' || slot, 0)`;
