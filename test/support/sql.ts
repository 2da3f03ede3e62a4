import pg from 'pg';
import { PrimaryClient } from '../../src/db/connection/primary.ts';

export const template = 'belfry_template';

export function withDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

/** Kept open briefly: a connection per statement took a tenth of PostgreSQL's time in the tests. */
const pools = new Map<string, pg.Pool>();

function poolOf(url: string): pg.Pool {
  const known = pools.get(url);
  if (known) return known;
  const pool = new pg.Pool({
    connectionString: url,
    idleTimeoutMillis: 1_000,
    allowExitOnIdle: true,
    Client: PrimaryClient,
  });
  // Dropped databases and stopped servers close idle connections.
  pool.on('error', () => {});
  pools.set(url, pool);
  return pool;
}

export async function runSql<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const { rows } = await poolOf(url).query<Row>(text, values);
  return rows;
}

/** Closes our connections, for operations that require that no client is connected. */
export async function disconnect(url: string): Promise<void> {
  await pools.get(url)?.end();
  pools.delete(url);
}
