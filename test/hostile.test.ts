/**
 * Whatever is sent, the answer is never a 5xx; and after a refusal the database is what it was before. Every route is
 * tried, with bodies made from its own schema, so a new route is tried too.
 */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { routes } from '../src/http/routes.ts';
import { type Answer, type Ask, asker } from './support/api.ts';
import { bodies, fixedBodies, headers, queries, segments } from './support/api-hostile.ts';
import { fill, parametersOf, pathValues } from './support/api-paths.ts';
import { endpoints } from './support/api-table.ts';
import { testService } from './support/database.ts';
import { buildTenants, type Tenants } from './support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let values: ReturnType<typeof pathValues>;
let fingerprintOf = '';
let known = { changes: '', fingerprint: '' };

beforeAll(async () => {
  // Without workers: nothing but the requests themselves changes the database.
  service = await testService({ BELFRY_ROLE: 'api' });
  tenants = await buildTenants(service.runtime.deps);
  ask = asker(service.address, tenants.acme.keys.all);
  values = pathValues(tenants);
  const tables = await listTables();
  const whole = tables.filter(({ isPartition }) => !isPartition);
  fingerprintOf = whole.map(({ name }) => fingerprintQuery(name)).join(' union all ');
  await service.runtime.database.pool.query(watchChanges(tables.map(({ name }) => name)));
  known = await look();
});
afterAll(() => service.stop());
afterEach(async () => {
  expect((await ask({ path: '/api/system/ping/' })).status).toBe(200);
});

/** All but failed sign-ins, and when a process last said that it works on this database. */
async function listTables(): Promise<{ name: string; isPartition: boolean }[]> {
  const { rows } = await sql<{ name: string; isPartition: boolean }>`
    select relname as name, relispartition as "isPartition" from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not in ('sign_in_limits', 'instance')
    order by 1`.execute(service.runtime.deps.db);
  return rows;
}

/** Count and contents, but for when keys were last used. */
function fingerprintQuery(table: string): string {
  return `select '${table}' as name, count(*) as rows,
    sum(hashtextextended((to_jsonb(t) - 'last_used_at')::text, 0)::numeric) as contents from ${table} t`;
}

/** A sequence counts every write, also one that is rolled back: while it stands still, no table has to be read. */
function watchChanges(tables: string[]): string {
  const triggers = tables.map(
    table => `create trigger watched after insert or update or delete on ${table} execute function count_change();`,
  );
  return `create sequence changes;
    create function count_change() returns trigger language plpgsql as $$ begin perform nextval('changes'); return null; end $$;
    ${triggers.join('\n')}`;
}

async function look(): Promise<typeof known> {
  const { pool } = service.runtime.database;
  const changes = (await pool.query('select last_value, is_called from changes')).rows
    .map(row => JSON.stringify(row))
    .join();
  if (changes === known.changes) return known;
  return { changes, fingerprint: JSON.stringify((await pool.query(fingerprintOf)).rows) };
}

async function check(answer: Answer): Promise<void> {
  expect(answer.status, answer.text).toBeLessThan(500);
  const now = await look();
  if (answer.status >= 400) expect(now.fingerprint).toBe(known.fingerprint);
  known = now;
}

/** Far more than these take: what is interrupted leaves a request under way, which changes what the next test compares. */
const effort = { interruptAfterTimeLimit: 30_000, markInterruptAsFailure: true };

describe.each(routes.map(route => ({ ...route, title: `${route.method} ${route.path}` })))('$title', route => {
  const { method, path, title } = route;
  const schema = (route.body ?? {}) as { properties?: Record<string, { properties?: object }> };
  const fields = Object.keys(schema.properties ?? {});
  const valid = endpoints.find(endpoint => `${endpoint.method} ${endpoint.path}` === title)?.body?.();

  if (route.body) {
    test('survives hostile bodies', async () => {
      await fc.assert(
        fc.asyncProperty(bodies(fields, valid), async body => {
          await check(await ask({ method, path: fill(path, values), body }));
        }),
        { ...effort, numRuns: 20 },
      );
    });

    test('survives what is not even almost a body', async () => {
      for (const body of fixedBodies(fields[0] ?? '0')) {
        await check(await ask({ method, path: fill(path, values), body }));
      }
    });

    if (schema.properties?.options?.properties) {
      test('survives hostile options', async () => {
        const names = Object.keys(schema.properties!.options!.properties!);
        await fc.assert(
          fc.asyncProperty(bodies(names, {}), async options => {
            await check(await ask({ method, path: fill(path, values), body: `{"options":${options}}` }));
          }),
          { ...effort, numRuns: 60 },
        );
      });
    }
  }

  test('survives hostile paths, queries and headers', async () => {
    const parameters = parametersOf(path);
    const which = parameters.length ? fc.constantFrom(...parameters) : fc.constant('none');
    await fc.assert(
      fc.asyncProperty(which, fc.option(segments), queries, headers, async (name, segment, query, given) => {
        const whole = fill(path, values);
        const at = segment === null ? whole : fill(path, values, { [name]: '@@' }).replace('%40%40', segment);
        await check(await ask({ method, path: query ? `${at}?${query}` : at, headers: given, body: valid }));
      }),
      { ...effort, numRuns: 12 },
    );
  });
});

test('survives hostile keys', async () => {
  const authorization = fc.oneof(
    fc.constantFrom(
      'Key',
      'Key ',
      'Basic Og==',
      'Key bf__',
      `Key ${'x'.repeat(10_000)}`,
      'Key bf_\u00ff_',
      'Bearer null',
    ),
    fc.string({ unit: 'grapheme-ascii', maxLength: 60 }).map(text => `Key ${text}`),
  );
  await fc.assert(
    fc.asyncProperty(authorization, async text => {
      const answer = await ask({ path: '/api/o/acme/', key: undefined, headers: { authorization: text } });
      expect(answer.status).toBe(401);
    }),
    { ...effort, numRuns: 200 },
  );
});
