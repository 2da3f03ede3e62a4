/** The program, built; and one PostgreSQL for the whole run, with a migrated template that each test file clones. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
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
  await promisify(execFile)(process.execPath, ['scripts/build.ts']);
  const { BELFRY_TEST_POSTGRES_URL: given, BELFRY_TEST_POOLER_URL: poolerUrl } = process.env;
  const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-test-'));
  const cluster = given
    ? { url: given, release: async () => {} }
    : await openEmbedded({ dataDir, durable: false, settings: { max_connections: '300' } });
  await runSql(cluster.url, `drop database if exists ${template}`);
  await runSql(cluster.url, `create database ${template}`);
  const database = openDatabase({ url: withDatabase(cluster.url, template), name: 'migrate' });
  await migrate(database.db);
  await database.close();
  project.provide('postgresUrl', cluster.url);
  project.provide('poolerUrl', poolerUrl);
  return async () => {
    await cluster.release();
    await rm(dataDir, { recursive: true, force: true });
  };
}
