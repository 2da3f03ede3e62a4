/**
 * What a channel may do, kept in the database so that all workers share it: tokens for a rate, and slots for how many
 * messages may be under way at once.
 */
import pg from 'pg';
import { sqlState } from './pool.ts';

export interface TokensWanted {
  organization_id: number;
  channel_id: number;
  rate_per_second: number;
  wanted: number;
}

export interface TokensGranted {
  organization_id: number;
  channel_id: number;
  granted: number;
}

// A bucket holds what comes in within a second. It is filled by the database's clock, the one that all workers share.
const take = {
  name: 'take_tokens',
  text: `
    with given as materialized (
      select * from json_to_recordset($1::json) as given (
        organization_id bigint, channel_id bigint, rate_per_second double precision, wanted integer)
    ), bucket as materialized (
      select r.organization_id, r.channel_id, g.wanted, least(g.rate_per_second, r.tokens + g.rate_per_second
        * greatest(0, extract(epoch from clock_timestamp() - r.refilled_at)::double precision)) as available
      from channel_rates r
      join given g on g.organization_id = r.organization_id and g.channel_id = r.channel_id
      order by r.organization_id, r.channel_id
      for update of r
    )
    update channel_rates r set
      tokens = b.available - least(b.wanted, floor(b.available)), refilled_at = clock_timestamp()
    from bucket b where r.organization_id = b.organization_id and r.channel_id = b.channel_id
    returning r.organization_id, r.channel_id, least(b.wanted, floor(b.available))::integer as granted`,
};

const fill = `
  insert into channel_rates (organization_id, channel_id, tokens, refilled_at)
  select organization_id, channel_id, rate_per_second, clock_timestamp() from json_to_recordset($1::json) as given (
    organization_id bigint, channel_id bigint, rate_per_second double precision)
  on conflict do nothing`;

/** One statement for any number of channels; a channel that never sent before begins with a full bucket. */
export async function takeTokensAcrossTenants(pool: pg.Pool, wanted: TokensWanted[]): Promise<TokensGranted[]> {
  const values = [JSON.stringify(wanted)];
  const first = await pool.query<TokensGranted>({ ...take, values });
  if (first.rows.length === wanted.length) return first.rows;
  await pool.query(fill, values);
  const missing = wanted.filter(
    one => !first.rows.some(row => row.organization_id === one.organization_id && row.channel_id === one.channel_id),
  );
  const second = await pool.query<TokensGranted>({ ...take, values: [JSON.stringify(missing)] });
  return [...first.rows, ...second.rows];
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
