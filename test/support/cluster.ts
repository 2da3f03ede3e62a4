/** One PostgreSQL for the whole run, with a migrated template that each test file clones. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/pool.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { runSql, template, withDatabase } from './sql.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export default async function startCluster(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-test-'));
  const cluster = await openEmbedded({ dataDir, durable: false, settings: { max_connections: '300' } });
  await runSql(cluster.url, `create database ${template}`);
  const database = openDatabase({ url: withDatabase(cluster.url, template), name: 'migrate' });
  await migrate(database.db);
  await database.close();
  project.provide('postgresUrl', cluster.url);
  return async () => {
    await cluster.release();
    await rm(dataDir, { recursive: true, force: true });
  };
}
