/**
 * Every parameter of every path that the server knows, with credentials and without: no value of it leads to a 5xx.
 *
 * @module-tag sweep
 */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { createMetrics } from '../../src/http/server/metrics/metrics.ts';
import { createServer } from '../../src/http/server/server.ts';
import { openSourceSecrets } from '../../src/services/configuration/source-secrets.ts';
import { ask } from '../support/api.ts';
import { fill, pathValues } from '../support/api-paths.ts';
import { testService } from '../support/database.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let values: ReturnType<typeof pathValues>;
let paths: { method: string; path: string }[];
let feedbackToken: string;
let sourceToken: string;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  const { deps } = service.runtime;
  tenants = await buildTenants(deps);
  values = pathValues(tenants);
  const channel = deps.db.selectFrom('channels').select('feedback_token').limit(1);
  feedbackToken = (await channel.executeTakeFirstOrThrow()).feedback_token;
  const source = deps.db.selectFrom('sources').selectAll().where('slug', '=', 'prometheus');
  const row = await source.executeTakeFirstOrThrow();
  sourceToken = openSourceSecrets(deps.cipher, row.organization_id, row).token;
  paths = await listPaths();
});
afterAll(() => service.stop());

/** Lists what is registered, not only what routes.ts has: pages, and the addresses that services post to. */
async function listPaths(): Promise<typeof paths> {
  const { deps } = service.runtime;
  const found = new Map([['GET /assets/:file', { method: 'GET', path: '/assets/:file' }]]);
  const server = await createServer({
    deps,
    logger: pino({ level: 'silent' }),
    withApi: true,
    baseUrl: undefined,
    trustProxy: [],
    corsOrigins: [],
    metrics: createMetrics({
      deps,
      engineCounts: { missingVariables: 0 },
      pool: () => ({ total: 0, idle: 0, waiting: 0 }),
    }),
    metricsAccess: { ownPort: false, token: undefined, isPublic: false },
    describe: async app => {
      app.addHook('onRoute', ({ method, url }) => {
        const path = url.replace(/\/?$/, '/');
        for (const one of [method].flat()) {
          const isUsed = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(one) && path.includes(':');
          if (isUsed) found.set(`${one} ${path}`, { method: one, path });
        }
      });
    },
  });
  await server.ready();
  await server.close();
  return [...found.values()];
}

/** Percent-encoded. */
const segments = [
  ...['%00', 'a%00b', '%2e', '%2e%2e', '%2F', '%', '%zz', '%ff', '%ED%A0%80', '%ED%BF%BF', '%F4%90%80%80'],
  ...['constructor', '__proto__', 'hasOwnProperty', 'toString', 'null', '-1', '9223372036854775808'],
  ...['%F0%9F%98%80', "'", '%22', 'x'.repeat(2_299), 'x'.repeat(4_000), '9'.repeat(400)],
];

/** Returns the requests that were answered with a 5xx. */
async function findFailures({ method, path }: (typeof paths)[number], key: string | undefined): Promise<string[]> {
  const there = {
    ...values,
    service: value('mail'),
    provider: value('slack'),
    name: value('a'),
    folder: value('b'),
    ...ingress,
  };
  const own: Record<string, string> = /^\/(feedback|interactions)\//.test(path)
    ? { token: feedbackToken }
    : /^\/(ping|in|integrations)\//.test(path)
      ? { token: sourceToken }
      : { file: 'a' };
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const asked = names.flatMap(name =>
    segments.map(segment => fill(path, there, { ...own, [name]: '@@' }).replace('%40%40', segment)),
  );
  const failures: string[] = [];
  for (const at of asked) {
    const { status, text } = await ask(service.address, {
      method,
      path: at,
      ...(key !== undefined && { key }),
      ...(method !== 'GET' && { body: {} }),
    });
    if (status >= 500) failures.push(`${method} ${at.slice(0, 200)}: ${status} ${text.slice(0, 200)}`);
  }
  return failures;
}

/** Parameters of the paths that monitoring systems and jobs use. */
const ingress = {
  action: { there: 'start', elsewhere: [], code: '' },
  alert: { there: 'a', elsewhere: [], code: '' },
  request: { there: 'a', elsewhere: [], code: '' },
  type: { there: 'grafana', elsewhere: [], code: '' },
};

const value = (there: string) => ({ there, elsewhere: [], code: '' });

test('no parameter of a page, or of an address that services post to, leads to a 5xx', async () => {
  const open = paths.filter(({ path }) => !path.startsWith('/api/o/'));
  expect(open.map(({ path }) => path)).toContain('/feedback/:token/:service/');
  expect(open.map(({ path }) => path)).toContain('/interactions/:token/:provider/');
  const failures = await Promise.all(open.map(one => findFailures(one, undefined)));
  expect(failures.flat()).toEqual([]);
});

test('no parameter of the API leads to a 5xx', { tags: ['sweep'], timeout: 300_000 }, async () => {
  const routes = paths.filter(({ path }) => path.startsWith('/api/'));
  expect(routes.length).toBeGreaterThan(150);
  for (const key of [tenants.acme.keys.all, undefined]) {
    const failures = await Promise.all(routes.map(one => findFailures(one, key)));
    expect(failures.flat()).toEqual([]);
  }
});
