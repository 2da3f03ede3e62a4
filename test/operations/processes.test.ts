/** Two processes on one external PostgreSQL. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRuntime } from '../../src/app.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { ask, expectProblem } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { belfry, type Running, startBelfry } from '../support/process.ts';
import { runSql } from '../support/sql.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

let database: TestDatabase;
let env: Record<string, string>;
let tenants: Tenants;
let key: string;
let processes: Running[];

beforeAll(async () => {
  database = await createTestDatabase();
  const config = testConfig(database.url);
  env = { DATABASE_URL: database.url, BELFRY_SECRET_KEY: config.secretKey! };
  const runtime = await openRuntime(config, silent);
  tenants = await buildTenants(runtime.deps);
  ({ key } = await createKey(runtime.deps, 'acme', { name: 'shared', permissions: ['*'] }));
  await runtime.close();
  processes = await Promise.all([startBelfry(env, ['--role', 'api']), startBelfry(env, ['--role', 'api'])]);
});
afterAll(async () => {
  for (const each of processes) expect((await each.end('SIGTERM')).code).toBe(0);
  await database.drop();
});

test('concurrent triggers to both with the same idempotency key create one occurrence', async () => {
  const path = '/api/o/acme/p/shop/a/web/e/order-paid/trigger/';
  const body = { context: { order: 1 }, options: { idempotency_key: 'once' } };
  const trigger = (i: number) => ask(processes[i % 2]!.address, { method: 'POST', path, key, body });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => trigger(i)));
  expect(answers.map(answer => answer.status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(answer => answer.body.occurrence)).size).toBe(1);
  const id = answers[0]!.body.occurrence;
  expect(await runSql(database.url, 'select id from occurrences where id = $1', [id])).toHaveLength(1);
});

test('both reject a key within a second after the CLI revoked it', { tags: ['sweep'] }, async () => {
  const ping = (process: Running) => ask(process.address, { path: '/api/system/ping/', key });
  for (const each of processes) expect((await ping(each)).status).toBe(200);
  expect(await belfry(['key', 'revoke', '--org', tenants.acme.slug, 'shared'], env)).toMatchObject({ code: 0 });
  // The command has exited, so the key is already revoked.
  await eventually(async () => {
    for (const each of processes) expectProblem(await ping(each), 401, 'key.revoked');
  }, 1_000);
});
