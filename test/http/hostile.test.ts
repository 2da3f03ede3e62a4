/**
 * No input leads to a 5xx, and a rejected request leaves the database unchanged. Every route is tested with bodies generated
 * from its schema, so new routes are covered. BELFRY_TEST_EFFORT=20 tests twenty times as many values, in a few minutes.
 *
 * @module-tag sweep
 */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { routes } from '../../src/http/routes.ts';
import type { Route } from '../../src/http/server/route.ts';
import { type Browser, signInNewAccount } from '../support/accounts.ts';
import { type Answer, type Ask, type Asked, asker } from '../support/api.ts';
import { almostValid, bodies, fixedBodies, headers, queries, queriesOf, segments } from '../support/api-hostile.ts';
import { fill, parametersOf, pathValues } from '../support/api-paths.ts';
import { keyRoutes } from '../support/api-routes.ts';
import { endpoints } from '../support/api-table.ts';
import { validBody } from '../support/api-valid.ts';
import { fairNow } from '../support/fair-clock.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let values: ReturnType<typeof pathValues>;
let fingerprintOf = '';
let known = { changes: '', fingerprint: '' };

beforeAll(async () => {
  // Without workers: nothing but the requests themselves changes the database.
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
  values = pathValues(tenants);
  const tables = await listTables();
  const whole = tables.filter(({ isPartition }) => !isPartition);
  // In a fixed order: PostgreSQL may read many tables in parallel.
  fingerprintOf = `${whole.map(({ name }) => fingerprintQuery(name)).join(' union all ')} order by 1`;
  await service.runtime.database.pool.query(watchChanges(tables.map(({ name }) => name)));
  known = await look();
});
afterAll(() => service.stop());
afterEach(async () => {
  expect((await ask({ path: '/api/system/ping/' })).status).toBe(200);
});

/** All but failed sign-ins, and when a process last said that it works on this database. */
/** What the service changes without a request. */
const changing = ['sign_in_limits', 'instance', 'heartbeat_watch', 'trigger_rates'];

async function listTables(): Promise<{ name: string; isPartition: boolean }[]> {
  const { rows } = await sql<{ name: string; isPartition: boolean }>`
    select relname as name, relispartition as "isPartition" from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not in (${sql.join(changing)})
    order by 1`.execute(service.runtime.deps.db);
  return rows;
}

/** Count and contents, but for when keys, sessions and accounts were last used. */
function fingerprintQuery(table: string): string {
  return `select '${table}' as name, count(*) as rows,
    sum(hashtextextended((to_jsonb(t) - 'last_used_at' - 'last_seen_at')::text, 0)::numeric) as contents from ${table} t`;
}

/** A sequence counts every insert, even one that is rolled back: while it is unchanged, no table has to be read. */
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
  const { fingerprint } = known;
  // Before it is compared, so that one difference is not found again in every answer after it.
  known = await look();
  if (answer.status >= 400) expect(known.fingerprint, answer.text).toBe(fingerprint);
}

/** Far more than these take: what is interrupted leaves a request under way, which changes what the next test compares. */
const effort = { interruptAfterTimeLimit: 30_000, markInterruptAsFailure: true };

const runs = (count: number) => Math.ceil(count * Number(process.env.BELFRY_TEST_EFFORT ?? 1));
const patient = {
  ...effort,
  interruptAfterTimeLimit: 30_000 * Math.max(1, Number(process.env.BELFRY_TEST_EFFORT ?? 1)),
};
/** Far more than any of them takes beside a busy neighbour; far less than what a request that hangs takes. */
const maxAnswerMs = 10_000;

/** Whatever may call the route: a key, else an admin of the instance who is a member, signed in again when signed out. */
const keyed = new Set<string>(keyRoutes.map(({ id }) => id));
let person: Browser | undefined;
async function askAs(route: Route, asked: Asked): Promise<Answer> {
  if (keyed.has(route.id)) return ask(asked);
  const admin = { admin: true, membership: { organization: 'acme', role: 'owner' as const } };
  if (!person || (await person.ask({ path: '/api/session/' })).status !== 200) {
    person = await signInNewAccount(service.address, service.runtime.deps, admin);
    known = await look();
  }
  return person.ask(asked);
}

async function askInTime(route: Route, asked: Asked): Promise<Answer> {
  const from = fairNow();
  const answer = await askAs(route, { method: route.method, ...asked });
  expect(fairNow() - from, JSON.stringify(asked).slice(0, 2_000)).toBeLessThan(maxAnswerMs);
  return answer;
}

/** First of all, before anything that they name is deleted. */
describe('one hostile value', () => {
  /** Their bodies name what only the service hands out, such as the token of a challenge. */
  const unacceptable = [
    ...['actOnMessage', 'acceptInvite', 'requestPasswordReset', 'resetPassword', 'signIn', 'signInWithPasskey'],
    ...['finishSignIn', 'addPasskey', 'updatePasskey', 'confirmTotp'],
    // Of calendars that no one serves.
    ...['createAbsenceCalendar', 'previewAbsenceCalendar', 'updateAbsenceCalendar'],
    // Of an occurrence that has no steps, or waits for no approval.
    ...['snoozeOccurrence', 'approveHold', 'rejectHold'],
    // No code was sent.
    'confirmVerification',
    // An earlier body has locked the user, or requires two-factor authentication.
    ...['pageSchedule', 'registerOwnBrowser', 'unregisterOwnBrowser', 'testOwnBrowser'],
    // Locked after wrong attempts.
    ...['changePassword', 'confirmSession'],
  ];
  /** A wrong password is recorded in the audit log. */
  const recorded = ['changePassword', 'confirmSession'];
  const withBody = routes.filter(route => route.body && !route.consumes);

  test.each(withBody)('in an otherwise valid body of $id is survived', { timeout: 600_000 }, async route => {
    const path = fill(route.path, values);
    const { status, text } = await askAs(route, { method: route.method, path, body: validBody(route, tenants) });
    if (!unacceptable.includes(route.id)) expect(status, text).toBe(route.status);
    known = await look();
    await fc.assert(
      fc.asyncProperty(
        almostValid(() => validBody(route, tenants)),
        async body => {
          const answer = await askInTime(route, { path, body });
          if (!recorded.includes(route.id)) await check(answer);
          else expect(answer.status, answer.text).toBeLessThan(500);
        },
      ),
      { ...patient, numRuns: runs(6) },
    );
    // A value it set, such as a limit, must not affect the next route.
    await askAs(route, { method: route.method, path, body: validBody(route, tenants) });
    known = await look();
  });

  const withQuery = routes.filter(route => route.query && route.method !== 'DELETE');
  test.each(withQuery)('in the query of $id is survived', { timeout: 600_000 }, async route => {
    const names = Object.keys((route.query as { properties?: object }).properties ?? {});
    const body = route.body && (route.consumes ? 'email\nann@acme.test\n' : validBody(route, tenants));
    const headers = route.consumes && { 'content-type': route.consumes };
    await fc.assert(
      fc.asyncProperty(queriesOf([...names, 'limit', 'cursor']), async query => {
        await check(await askInTime(route, { path: `${fill(route.path, values)}?${query}`, body, headers }));
      }),
      { ...patient, numRuns: runs(6) },
    );
  });
});

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

    test('survives malformed bodies', async () => {
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
