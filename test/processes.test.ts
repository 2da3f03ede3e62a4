/** Two real processes on one PostgreSQL of the operator's own. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRuntime } from '../src/app.ts';
import { createKey } from '../src/services/keys.ts';
import { ask, eventually, expectProblem } from './support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from './support/database.ts';
import { belfry, type Running, startBelfry } from './support/process.ts';
import { runSql } from './support/sql.ts';
import { buildTenants, type Tenants } from './support/tenants.ts';

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

test('parallel triggers of both with one idempotency key make one occurrence', async () => {
  const path = '/api/o/acme/p/shop/a/web/e/order-paid/trigger/';
  const body = { context: { order: 1 }, options: { idempotency_key: 'once' } };
  const trigger = (i: number) => ask(processes[i % 2]!.address, { method: 'POST', path, key, body });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => trigger(i)));
  expect(answers.map(answer => answer.status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(answer => answer.body.occurrence)).size).toBe(1);
  const id = answers[0]!.body.occurrence;
  expect(await runSql(database.url, 'select id from occurrences where id = $1', [id])).toHaveLength(1);
});

test('a key revoked on the command line is refused by both within a second', async () => {
  const ping = (process: Running) => ask(process.address, { path: '/api/system/ping/', key });
  for (const each of processes) expect((await ping(each)).status).toBe(200);
  expect(await belfry(['key', 'revoke', '--org', tenants.acme.slug, 'shared'], env)).toMatchObject({ code: 0 });
  // The command has ended, so the revocation is older than this moment.
  await eventually(async () => {
    for (const each of processes) expectProblem(await ping(each), 401, 'key.revoked');
  }, 1_000);
});
