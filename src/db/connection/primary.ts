/**
 * Connections that follow the primary. If a URL names several servers, each new connection asks all of them which one
 * accepts writes, and goes there. So after a failover it is enough to drop the old connections.
 */
import pg from 'pg';
import { addressesOf, mustFindPrimary, serverUrls } from '../../core/operations/database-url.ts';
import { addClockMeasurement } from '../../lib/time/clock.ts';

interface Server {
  host: string;
  port: number;
}

const defaultTimeoutMs = 5_000;
/** Connections that are opened at the same time ask once. */
const searches = new Map<string, Promise<Server>>();

export class PrimaryClient extends pg.Client {
  readonly #config: pg.ClientConfig;

  constructor(config: pg.ClientConfig = {}) {
    super({ ...config, connectionString: serverUrls(config.connectionString ?? '')[0] });
    this.#config = config;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg, passed on as they come
  override connect(callback?: any): any {
    const { connectionString, connectionTimeoutMillis } = this.#config;
    if (!mustFindPrimary(connectionString!)) return super.connect(callback);
    // Half of the time is left for connecting.
    const connected = shareSearch(connectionString!, (connectionTimeoutMillis || defaultTimeoutMs) / 2).then(server => {
      Object.assign(this, server);
      return super.connect();
    });
    if (!callback) return connected;
    connected.then(() => callback(null, this), callback);
  }
}

function shareSearch(databaseUrl: string, timeoutMs: number): Promise<Server> {
  const running = searches.get(databaseUrl);
  if (running) return running;
  const search = findPrimary(databaseUrl, timeoutMs).finally(() => searches.delete(databaseUrl));
  searches.set(databaseUrl, search);
  return search;
}

async function findPrimary(databaseUrl: string, timeoutMs: number): Promise<Server> {
  try {
    return await Promise.any(serverUrls(databaseUrl).map(url => requirePrimary(url, timeoutMs)));
  } catch (error) {
    const { errors } = error as AggregateError & { errors: Error[] };
    // A wrong password or database name does not go away by waiting.
    const final = errors.find(each => each instanceof pg.DatabaseError && /^(28|3D)/.test(each.code ?? ''));
    if (final) throw final;
    const addresses = addressesOf(databaseUrl);
    const reasons = errors.map((each, index) => `${addresses[index]}: ${each.message}`).join('; ');
    throw Object.assign(new Error(`no PostgreSQL server accepts writes (${reasons})`), { code: 'ECONNREFUSED' });
  }
}

async function requirePrimary(connectionString: string, timeoutMs: number): Promise<Server> {
  const limits = { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
  const client = new pg.Client({ connectionString, application_name: 'belfry primary', ...limits });
  client.on('error', () => {});
  try {
    await client.connect();
    await requireWritable(client);
    return { host: client.host, port: client.port };
  } finally {
    client.end().catch(() => {});
  }
}

interface ServerState {
  is_standby: boolean;
  is_read_only: boolean;
  now: number;
}

/**
 * Fails if the server has become a standby meanwhile, or read-only: a lease or announcements there are worth nothing. Otherwise,
 * its clock is the one that counts.
 */
export async function requireWritable(client: pg.Client): Promise<void> {
  const askedAt = performance.now();
  const { rows } = await client.query<ServerState>(
    `select pg_is_in_recovery() as is_standby, current_setting('default_transaction_read_only')::boolean as is_read_only,
       extract(epoch from clock_timestamp())::float8 * 1000 as now`,
  );
  const { is_standby, is_read_only, now } = rows[0]!;
  if (is_standby || is_read_only) throw new Error(is_standby ? 'is a standby' : 'is read-only');
  addClockMeasurement(now, askedAt);
}
