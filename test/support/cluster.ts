/** Builds the program, and starts one PostgreSQL for the whole run with a migrated template that each test file clones. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/connection/migrate.ts';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { runSql, template, withDatabase } from './sql.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** Address of a connection pooler, if there is one. */
    poolerUrl: string | undefined;
  }
}

/**
 * BELFRY_TEST_POSTGRES_URL selects another server, all data of which is deleted: `deploy/check databases` sets it to one of
 * Debian's, and BELFRY_TEST_POOLER_URL to a PgBouncer in front of it.
 */
export default async function startCluster(project: TestProject): Promise<() => Promise<void>> {
  const build = () => promisify(execFile)(process.execPath, ['scripts/build.ts']);
  await build();
  project.onTestsRerun(async () => void (await build()));
  const folder = await mkdtemp(path.join(await findTemporaryFolder(), 'belfry-test-'));
  // Readable also for the user that PostgreSQL runs as.
  await chmod(folder, 0o1777);
  process.env.TMPDIR = folder;
  const { BELFRY_TEST_POSTGRES_URL: given, BELFRY_TEST_POOLER_URL: poolerUrl } = process.env;
  const cluster = given
    ? { url: given, release: async () => {} }
    : await openEmbedded({
        dataDir: path.join(folder, 'data'),
        durable: false,
        settings: { max_connections: '300' },
      });
  await runSql(cluster.url, `drop database if exists ${template}`);
  await runSql(cluster.url, `create database ${template}`);
  const database = openDatabase({ url: withDatabase(cluster.url, template), name: 'migrate' });
  await migrate(database.db);
  await database.close();
  project.provide('postgresUrl', cluster.url);
  project.provide('poolerUrl', poolerUrl);
  return async () => {
    await cluster.release();
    await rm(folder, { recursive: true, force: true });
  };
}

/** Returns the folder for temporary files: in memory if it is large enough, where a database is cloned ten times faster. */
async function findTemporaryFolder(): Promise<string> {
  const memory = '/dev/shm';
  const room = await statfs(memory).catch(() => undefined);
  return room && room.bavail * room.bsize >= 8 * 2 ** 30 ? memory : tmpdir();
}
