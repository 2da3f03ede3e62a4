/**
 * Limits of channels, kept in the database so that all workers share them: send times for the rate, and slots for the
 * number of messages in flight.
 */

import type pg from 'pg';
import { sqlState, toOptions, vanishedClients } from '../../connection/pool.ts';
import { PrimaryClient } from '../../connection/primary.ts';

export interface SendTimeRequest {
  channelId: number;
  perSecond: number;
  requested: number;
  /** How far ahead to reserve. Reserved times stay reserved, even if a more urgent message arrives. */
  aheadMs: number;
}

interface SendTimeGrant {
  granted: number;
  /** The time until the first one; the others follow, evenly spaced. */
  waitMs: number;
}

// Locks one row for a moment and nothing else. All workers share the database's clock; if it is set back, no channel
// waits longer than the three seconds. The clock is read once, so that both columns agree.
const nextFreeText = (next: string) =>
  `greatest(least(${next}, statement_timestamp() + interval '3 seconds'), statement_timestamp())`;
const grantedText = (next: string) => `least($4::integer, greatest(0, 1 + floor($3::double precision
  * extract(epoch from statement_timestamp() + $5::double precision * interval '1 millisecond' - ${nextFreeText(next)})
    ::double precision)))::integer`;
const nextAtText = (next: string) =>
  `${nextFreeText(next)} + ${grantedText(next)} / $3::double precision * interval '1 second'`;
const reserve = {
  name: 'reserve_moments',
  text: `
    insert into channel_rates as r (organization_id, channel_id, granted, next_at)
    values ($1, $2, ${grantedText("'-infinity'::timestamptz")}, ${nextAtText("'-infinity'::timestamptz")})
    on conflict (organization_id, channel_id) do update set granted = ${grantedText('r.next_at')}, next_at = ${nextAtText('r.next_at')}
    returning granted, greatest(0, extract(epoch from next_at - clock_timestamp())::double precision * 1000
      - granted * 1000 / $3::double precision) as "waitMs"`,
};

/** Reserves send times, evenly spaced over all workers: no second has more than the rate, plus one on its edge. */
export async function reserveSendTimes(
  pool: pg.Pool,
  organizationId: number,
  { channelId, perSecond, requested, aheadMs }: SendTimeRequest,
): Promise<SendTimeGrant> {
  const values = [organizationId, channelId, perSecond, requested, aheadMs];
  const { rows } = await pool.query<SendTimeGrant>({ ...reserve, values });
  return rows[0]!;
}

/**
 * Slots are session advisory locks on a dedicated connection: they vanish with the process that holds them, also if it is
 * frozen. The connection is opened when the first slot is requested.
 */
export class Slots {
  readonly #url: string;
  readonly #onLost: (error: Error) => void;
  #client: Promise<pg.Client> | undefined;
  /** Serializes the queries on the connection, so that a freed slot is available to the next query. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(url: string, onLost: (error: Error) => void) {
    this.#url = url;
    this.#onLost = onLost;
  }

  /**
   * Takes up to `max` free slots among 1 to `count`, without those in `held`. A session can take a lock again that it
   * already holds, and would then have to free it twice: only `case` guarantees that held ones are not tried.
   */
  async take(channel: string, count: number, held: number[], max: number): Promise<number[]> {
    const { rows } = await this.#query<{ slot: number }>(
      () => this.#connected(),
      `select slot from generate_series(1, $2::integer) as slot
       where case when slot = any($3::integer[]) then false else pg_try_advisory_lock(${keyText}) end limit $4`,
      [channel, count, held, max],
    );
    return rows.map(row => row.slot);
  }

  /** Frees a slot. Without a connection there is nothing to do: the lock is gone. */
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
      // What this connection holds is unknown after an error, so it is closed, which frees everything.
      if (!sqlState(error)) this.#drop(this.#client, error);
    });
    return answer;
  }

  #connected(): Promise<pg.Client> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  #connect(): Promise<pg.Client> {
    const client = new PrimaryClient({
      connectionString: this.#url,
      application_name: 'belfry slots',
      options: toOptions({ ...vanishedClients, idle_session_timeout: String(silenceMs) }),
      keepAlive: true,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    });
    const connected = client.connect().then(() => client);
    const heartbeat = setInterval(() => this.#query(() => this.#client, 'select', []).catch(() => {}), heartbeatMs);
    heartbeat.unref();
    client.once('end', () => clearInterval(heartbeat));
    connected.catch(() => clearInterval(heartbeat));
    connected.catch((error: Error) => this.#drop(connected, error));
    client.on('error', (error: Error) => this.#drop(connected, error));
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

/** A frozen process sends no heartbeat: then the server ends its session, and others get its slots. */
const heartbeatMs = 5_000;
const silenceMs = 12_000;
/** Queries here never wait for a lock: one that takes this long has lost its connection. */
const timeoutMs = 5_000;

const keyText = `hashtextextended('belfry slot ' || $1::text || '/' || slot, 0)`;
