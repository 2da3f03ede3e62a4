/** The program, built; and one PostgreSQL for the whole run, with a migrated template that each test file clones. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/pool.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { runSql, template, withDatabase } from './sql.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** Of a pooler before it, where there is one. */
    poolerUrl: string | undefined;
  }
}

/**
 * BELFRY_TEST_POSTGRES_URL is another server to test on, of which everything is thrown away: `deploy/check databases` gives
 * one of Debian's, and BELFRY_TEST_POOLER_URL, a PgBouncer before it.
 */
export default async function startCluster(project: TestProject): Promise<() => Promise<void>> {
  const build = () => promisify(execFile)(process.execPath, ['scripts/build.ts']);
  await build();
  project.onTestsRerun(async () => void (await build()));
  const folder = await mkdtemp(path.join(await findRoom(), 'belfry-test-'));
  // For whoever PostgreSQL runs as, too.
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

/** Where everything temporary lies: in memory if that is large. A database is copied there in a tenth of the time. */
async function findRoom(): Promise<string> {
  const memory = '/dev/shm';
  const room = await statfs(memory).catch(() => undefined);
  return room && room.bavail * room.bsize >= 8 * 2 ** 30 ? memory : tmpdir();
}
