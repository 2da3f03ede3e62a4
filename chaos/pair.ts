/** A primary with a standby, both on this machine, and a URL that names both. */
import { appendFile, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { accountFor } from '../src/embedded/account.ts';
import { type Cluster, openCluster, readConnectionDetails } from '../src/embedded/cluster.ts';
import { superuser } from '../src/embedded/role.ts';
import { launch, pickPort } from '../src/embedded/server.ts';
import { waitFor } from '../test/support/eventually.ts';
import { signalDatabase } from '../test/support/process.ts';
import { runSql } from '../test/support/sql.ts';

export interface Server {
  /** Its folder contains `postgres`, as a data folder of Belfry does. */
  dataDir: string;
  port: number;
  /** Runs a statement as the superuser. */
  sql<Row extends object>(text: string): Promise<Row[]>;
}

export interface Pair {
  /** Follows the primary. */
  url: string;
  primary: Server;
  standby: Server;
  /** Returns when the standby has become the primary. */
  promote(): Promise<void>;
  release(): Promise<void>;
}

const standbyName = 'standby';
/** The servers listen on the loopback address only. */
const trust = ['all', 'replication'].map(database => `host ${database} ${superuser} 127.0.0.1/32 trust\n`).join('');

/** `isSynchronous`: a transaction is committed when both have it. */
export async function openPair(folder: string, isSynchronous: boolean): Promise<Pair> {
  const dirs = ['a', 'b'].map(name => path.join(folder, name)) as [string, string];
  const first = await openCluster(dirs[0], true, () => {});
  await writeFile(path.join(first.folder, 'pg_hba.conf'), `${trust}host all all 127.0.0.1/32 scram-sha-256\n`);
  // A server that has never run needs no backup to be copied.
  await mkdir(dirs[1], { mode: 0o711 });
  const second: Cluster = { ...first, folder: path.join(dirs[1], 'postgres'), startLog: path.join(dirs[1], 'log') };
  await cp(first.folder, second.folder, { recursive: true, preserveTimestamps: true });
  await writeFile(path.join(second.folder, 'standby.signal'), '');
  second.account = await accountFor(second.folder, second.binaries.postgres);
  const primary = await startServer(first, dirs[0]);
  const source = `host=127.0.0.1 port=${primary.port} user=${superuser} application_name=${standbyName}`;
  await appendFile(path.join(second.folder, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  const standby = await startServer(second, dirs[1]);
  if (isSynchronous) {
    await primary.sql(`alter system set synchronous_standby_names = '${standbyName}'`);
    await primary.sql('select pg_reload_conf()');
  }
  await waitFor('the standby to follow', async () => {
    const rows = await primary.sql<{ sync_state: string }>('select sync_state from pg_stat_replication');
    return rows[0]?.sync_state === (isSynchronous ? 'sync' : 'async');
  });
  const { user, password } = await readConnectionDetails(first.folder);
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/belfry?target_session_attrs=read-write`,
    primary,
    standby,
    promote: async () => {
      await standby.sql('select pg_promote()');
    },
    release: async () => {
      for (const dataDir of dirs) await signalDatabase(dataDir, 'SIGKILL');
    },
  };
}

async function startServer(cluster: Cluster, dataDir: string): Promise<Server> {
  const port = await pickPort(undefined);
  const settings = { wal_level: 'replica', max_wal_senders: '10' };
  const launched = await launch(cluster, { port, withSocket: false, durable: true, settings });
  const url = `postgres://${superuser}@127.0.0.1:${port}/belfry`;
  const sql = <Row extends object>(text: string) => runSql<Row>(url, text);
  await waitFor('a server to start', async () => {
    if (launched.ended) throw new Error(await launched.readLog());
    return (await sql('select 1').catch(() => [])).length > 0;
  });
  return { dataDir, port, sql };
}
