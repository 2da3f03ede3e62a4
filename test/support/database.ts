/** Creates migrated databases for test files. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { inject } from 'vitest';
import { openRuntime, type Runtime, type Service, startService } from '../../src/app.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { eventually } from './eventually.ts';
import { runSql, template, withDatabase } from './sql.ts';

export const silent = pino({ level: 'silent' });

export interface TestDatabase {
  name: string;
  url: string;
  drop(): Promise<void>;
}

export async function createTestDatabase(from = template): Promise<TestDatabase> {
  const cluster = inject('postgresUrl');
  const name = `t_${randomBytes(8).toString('hex')}`;
  // Copying files takes less CPU time than writing each page to the WAL.
  await runSql(cluster, `create database ${name} template ${from} strategy file_copy`);
  return {
    name,
    url: withDatabase(cluster, name),
    // Autovacuum may be running in it, and we lack the right to stop it.
    drop: async () => void (await eventually(() => runSql(cluster, `drop database ${name} with (force)`), 30_000)),
  };
}

export function testConfig(url: string, env: Record<string, string> = {}): Config {
  const pooler = inject('poolerUrl');
  return loadConfig({
    DATABASE_URL: url,
    ...(pooler && {
      DATABASE_URL: withDatabase(pooler, new URL(url).pathname.slice(1)),
      BELFRY_DIRECT_DATABASE_URL: url,
    }),
    BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
    BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8, ::1',
    // Nothing listens there, so that no test asks a real DNS server.
    BELFRY_DNS_SERVERS: '127.0.0.1:1',
    PORT: '0',
    ...env,
  });
}

/** Opens the dependencies of the use cases on a new database, without HTTP. */
export async function testDatabase(): Promise<Runtime> {
  const database = await createTestDatabase();
  const runtime = await openRuntime(testConfig(database.url), silent);
  return {
    ...runtime,
    close: async () => {
      await runtime.close();
      await database.drop();
    },
  };
}

/** Starts the whole service on a new database. */
export async function testService(env: Record<string, string> = {}, from?: string): Promise<Service> {
  const database = await createTestDatabase(from);
  const service = await startService(testConfig(database.url, env), silent);
  return {
    ...service,
    stop: async () => {
      await service.stop();
      await database.drop();
    },
  };
}
