/** Absences from calendars of users, fetched from a server on loopback. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { absenceLimits } from '../../src/core/oncall/absences.ts';
import { calendarLimits, calendarPauses } from '../../src/core/oncall/calendars/calendar.ts';
import { ThreadsBusyError } from '../../src/lib/load/thread-pool.ts';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { createAbsenceCalendar } from '../../src/services/audience/on-call/calendars/calendars.ts';
import { pollCalendars } from '../../src/services/audience/on-call/calendars/polls.ts';
import { findUser } from '../../src/services/audience/users.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { reencryptSecrets } from '../../src/services/operations/secrets.ts';
import { certificate } from '../support/certificate.ts';
import { command } from '../support/command.ts';
import { type HttpPeer, openHttpPeer, type Reply } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let peer: HttpPeer;
/** What each path is answered with. */
const replies = new Map<string, Reply>();
beforeAll(async () => {
  world = await joinWorld();
  peer = await openHttpPeer(({ path }) => replies.get(path) ?? { status: 404 });
});
afterAll(async () => {
  await peer.close();
  await world.close();
});

const dayMs = 86_400_000;
const ann = 'ann@x.test';
const layer = { name: 'always', every: '1w', from: '2026-01-05T00:00', users: [ann] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer] };
const tenantOf = () =>
  world.tenant({ users: [{ email: ann, timezone: 'Europe/Berlin' }, 'bob@x.test'], schedules: [primary] });
const pathOf = (tenant: Tenant, user = ann) => `/api/o/${tenant.slug}/u/${user}/absence-calendars/`;

/** Days from today, as iCalendar writes a date. */
const date = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10).replaceAll('-', '');
const calendar = (...events: string[][]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Test//EN', ...events.flat(), 'END:VCALENDAR', ''].join('\r\n');
let uid = 0;
const event = (...lines: string[]) => [
  'BEGIN:VEVENT',
  `UID:${++uid}`,
  'DTSTAMP:20260101T000000Z',
  ...lines,
  'END:VEVENT',
];
const allDay = (from: number, until: number, title: string, ...more: string[]) =>
  event(`DTSTART;VALUE=DATE:${date(from)}`, `DTEND;VALUE=DATE:${date(until)}`, `SUMMARY:${title}`, ...more);

/** Serves the calendar under its own address. */
function serve(reply: Reply | string): { url: string; path: string } {
  const path = `/secret-${++uid}/ann.ics`;
  answer(path, reply);
  return { url: peer.url + path, path };
}
const answer = (path: string, reply: Reply | string) =>
  replies.set(path, typeof reply === 'object' || isScripted(reply) ? reply : { body: reply });
const isScripted = (reply: string): reply is 'stall' | 'drop' => ['stall', 'drop'].includes(reply);
const requestsTo = (path: string) => peer.seen.filter(seen => seen.path === path);

/** Fetches the calendars of the tenant as a worker does; the service's own does so every ten seconds. */
async function fetchDue(tenant: Tenant, deps: Partial<EngineWorld['service']['runtime']['deps']> = {}) {
  const warnings: unknown[][] = [];
  const log = { warn: (...logged: unknown[]) => void warnings.push(logged), info: () => {} };
  await tenant.sql('update absence_calendars set due_at = now() where organization_id = $1', tenant.id);
  const polls = pollCalendars({ ...world.service.runtime.deps, ...deps }, log as never, () => false);
  await polls.runDue();
  return warnings;
}

async function create(tenant: Tenant, reply: Reply | string, words?: string[]) {
  const { url, path } = serve(reply);
  const made = await tenant.post(pathOf(tenant), { url, ...(words && { words }) });
  expect(made.status, made.text).toBe(201);
  return { made: made.body, path, at: `${pathOf(tenant)}${made.body.id}/` };
}

const list = async (tenant: Tenant) => (await tenant.ask({ path: `/api/o/${tenant.slug}/u/${ann}/absences/` })).body;
const reasons = async (tenant: Tenant) => (await list(tenant)).map((one: { reason: string }) => one.reason).sort();

describe('a calendar', () => {
  test('becomes absences, which mark shifts, and shows nothing of its address but the host', async () => {
    const tenant = await tenantOf();
    const { made, path, at } = await create(tenant, calendar(allDay(3, 5, 'Holiday'), allDay(20, 21, 'Dentist')));
    expect(made).toMatchObject({
      user: ann,
      host: new URL(peer.url).host,
      words: [],
      absences: 2,
      found: [{ reason: 'Holiday' }, { reason: 'Dentist' }],
      skipped: 0,
      complete: true,
      error: null,
    });
    expect(await list(tenant)).toMatchObject([
      { calendar: made.id, created_by: `calendar on ${made.host}` },
      { calendar: made.id, user: ann },
    ]);
    const span = `since=${new Date(Date.now() + 2 * dayMs).toISOString()}&until=${new Date(Date.now() + 9 * dayMs).toISOString()}`;
    const shifts = () => tenant.ask({ path: `/api/o/${tenant.slug}/p/shop/schedules/primary/shifts/?${span}` });
    expect((await shifts()).body).toMatchObject([{ absences: [{ username: ann, reason: 'Holiday' }] }]);
    // Another fetch finds the same ones: they keep their ids, and mark each shift once.
    const before = await list(tenant);
    await fetchDue(tenant);
    expect(requestsTo(path)).toHaveLength(2);
    expect(await list(tenant)).toEqual(before);
    expect((await shifts()).body[0].absences).toHaveLength(1);
    const log = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=absence_calendar` });
    expect(log.body).toMatchObject([{ action: 'create', path: `${ann}/${made.id}`, after: { host: made.host } }]);
    const read = await tenant.ask({ path: at });
    expect([read.status, read.body.id]).toEqual([200, made.id]);
    for (const { text } of [log, read, await tenant.ask({ path: pathOf(tenant) })])
      expect(text).not.toContain('secret-');
    const [stored] = await tenant.sql(
      'select c::text as text from absence_calendars c where organization_id = $1',
      tenant.id,
    );
    expect(stored!.text).not.toContain(Buffer.from('secret-').toString('hex'));
  });

  test('is shown before it is stored', async () => {
    const tenant = await tenantOf();
    const { url } = serve(calendar(allDay(3, 5, 'Holiday'), allDay(6, 7, 'Fair', 'TRANSP:TRANSPARENT')));
    const { status, body } = await tenant.post(`${pathOf(tenant)}preview/`, { url });
    expect([status, body]).toMatchObject([200, { events: 2, absences: 1, found: [{ reason: 'Holiday' }] }]);
    expect((await tenant.ask({ path: pathOf(tenant) })).body).toEqual([]);
    expect(await list(tenant)).toEqual([]);
  });

  test('takes its absences along when it changes, and when it is deleted', async () => {
    const tenant = await tenantOf();
    const { made, path, at } = await create(tenant, calendar(allDay(3, 5, 'Holiday'), allDay(20, 21, 'Dentist')));
    const by = {
      starts_at: new Date().toISOString(),
      ends_at: new Date(Date.now() + dayMs).toISOString(),
      reason: 'Ill',
    };
    expect((await tenant.post(`/api/o/${tenant.slug}/u/${ann}/absences/`, by)).status).toBe(201);
    const before = await list(tenant);
    answer(path, calendar(allDay(4, 6, 'Holiday'), allDay(20, 21, 'Dentist')));
    await fetchDue(tenant);
    expect(await reasons(tenant)).toEqual(['Dentist', 'Holiday', 'Ill']);
    const idOf = (rows: { id: number; reason: string }[], name: string) =>
      rows.find(({ reason }) => reason === name)!.id;
    const after = await list(tenant);
    expect(idOf(after, 'Dentist')).toBe(idOf(before, 'Dentist'));
    expect(idOf(after, 'Holiday')).not.toBe(idOf(before, 'Holiday'));
    const byHand = await tenant.ask({
      method: 'DELETE',
      path: `/api/o/${tenant.slug}/u/${ann}/absences/${idOf(after, 'Holiday')}/`,
    });
    expect(byHand.body).toMatchObject({ status: 409, code: 'absence.from_calendar' });
    expect(byHand.body.detail).toContain(`calendar on ${made.host}`);
    const deleted = await tenant.ask({ method: 'DELETE', path: at });
    expect(deleted.body).toEqual({ deleted: { absence_calendars: 1, absences: 2 } });
    expect(await reasons(tenant)).toEqual(['Ill']);
    expect((await tenant.ask({ path: at })).body.code).toBe('absence_calendar.not_found');
  });

  test('leaves room for absences that are entered, and is fetched again after it failed for lack of time', async () => {
    const tenant = await tenantOf();
    const { made } = await create(tenant, calendar(allDay(3, 5, 'Holiday')));
    await tenant.sql(
      `insert into absences (organization_id, user_id, calendar_id, starts_at, ends_at, created_by)
       select organization_id, user_id, id, now(), now() + interval '1 day', 'x' from absence_calendars, generate_series(1, $2)
       where organization_id = $1 and id = $3`,
      ...[tenant.id, absenceLimits.open, made.id],
    );
    const entered = { starts_at: new Date().toISOString(), ends_at: new Date(Date.now() + dayMs).toISOString() };
    expect((await tenant.post(`/api/o/${tenant.slug}/u/${ann}/absences/`, entered)).status).toBe(201);
    const read = () => Promise.reject(new ThreadsBusyError('busy'));
    await fetchDue(tenant, { calendarReader: { read } });
    const [{ error, next_fetch_at }] = (await tenant.ask({ path: pathOf(tenant) })).body;
    expect([error, Date.parse(next_fetch_at) - Date.now() < 61_000]).toEqual([null, true]);
  });

  test('gets other words without its address', async () => {
    const tenant = await tenantOf();
    const { at } = await create(tenant, calendar(allDay(3, 5, 'Holiday'), allDay(6, 7, 'Team day')), ['holiday']);
    expect(await reasons(tenant)).toEqual(['Holiday']);
    const tag = (await tenant.ask({ path: at })).headers.etag as string;
    const patch = (body: object, headers = {}) => tenant.ask({ method: 'PATCH', path: at, body, headers });
    expect((await patch({ words: ['team'] }, { 'if-match': '"x"' })).status).toBe(412);
    expect((await patch({ words: ['TEAM'] }, { 'if-match': tag })).body).toMatchObject({
      words: ['TEAM'],
      absences: 1,
    });
    expect(await reasons(tenant)).toEqual(['Team day']);
  });

  test('is one of three at most, and of no other tenant', async () => {
    const [tenant, other] = [await tenantOf(), await tenantOf()];
    const { made } = await create(tenant, calendar(allDay(3, 5, 'Holiday')));
    for (let i = 1; i < calendarLimits.perUser; i++) await create(tenant, calendar());
    const { url } = serve(calendar());
    expect((await tenant.post(pathOf(tenant), { url })).body).toMatchObject({
      status: 409,
      code: 'absence_calendar.limit',
    });
    expect((await other.ask({ path: `${pathOf(other)}${made.id}/` })).body.code).toBe('absence_calendar.not_found');
    expect((await tenant.ask({ path: `${pathOf(tenant, 'bob@x.test')}${made.id}/` })).body.code).toBe(
      'absence_calendar.not_found',
    );
    expect(await list(other)).toEqual([]);
  });
});

describe('a fetch', () => {
  test('says what it knows; unchanged, nothing changes, until the time zone does', async () => {
    const tenant = await tenantOf();
    const body = calendar(allDay(3, 5, 'Holiday'));
    const { path } = await create(tenant, {
      body,
      headers: { etag: '"v1"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' },
    });
    const before = await list(tenant);
    answer(path, { status: 304 });
    await fetchDue(tenant);
    expect(requestsTo(path).at(-1)!.headers).toMatchObject({
      'if-none-match': '"v1"',
      'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    expect(await list(tenant)).toEqual(before);
    const [{ error }] = (await tenant.ask({ path: pathOf(tenant) })).body;
    expect(error).toBeNull();
    answer(path, body);
    await tenant.ask({
      method: 'PATCH',
      path: `/api/o/${tenant.slug}/u/${ann}/profile/`,
      body: { timezone: 'Asia/Tokyo' },
    });
    await fetchDue(tenant);
    expect(requestsTo(path).at(-1)!.headers).not.toHaveProperty('if-none-match');
    const [moved] = await list(tenant);
    expect(new Date(moved.starts_at).getUTCHours()).toBe(15);
  });

  test('that fails keeps what is known, names the reason, and is repeated later and later', async () => {
    const tenant = await tenantOf();
    const { path, at } = await create(tenant, calendar(allDay(3, 5, 'Holiday')));
    answer(path, { status: 500 });
    const [[about, text]] = (await fetchDue(tenant)) as [[object, string]];
    expect([about, text]).toMatchObject([{ host: new URL(peer.url).host }, expect.stringContaining('status 500')]);
    expect(JSON.stringify(about)).not.toContain('secret-');
    const read = async () => (await tenant.ask({ path: at })).body;
    const pauseOf = ({ next_fetch_at }: { next_fetch_at: string }) => (Date.parse(next_fetch_at) - Date.now()) / 1_000;
    const failed = await read();
    expect(failed).toMatchObject({ absences: 1, error: expect.stringContaining('answers with status 500') });
    expect(pauseOf(failed)).toBeLessThanOrEqual(calendarPauses.retry);
    // Equal failures are logged once.
    expect(await fetchDue(tenant)).toEqual([]);
    expect(pauseOf(await read())).toBeGreaterThan(1.5 * calendarPauses.retry);
    const doctor = async () =>
      (await runDoctorChecks(world.service.runtime.deps, Date.now())).filter(({ name }) => name === 'absences');
    expect((await doctor()).filter(({ detail }) => detail.includes(`${tenant.slug}/`))).toEqual([]);
    await tenant.sql(
      `update absence_calendars set failing_since = now() - interval '25 hours' where organization_id = $1`,
      tenant.id,
    );
    expect((await doctor()).map(({ detail }) => detail).join('\n')).toMatch(
      new RegExp(`warning: ${tenant.slug}/ann@x.test: the calendar on .* cannot be fetched since .*: .*status 500`),
    );
    answer(path, calendar(allDay(4, 6, 'Later')));
    await fetchDue(tenant);
    expect(await read()).toMatchObject({ error: null, failing_since: null, found: [{ reason: 'Later' }] });
  });

  test('is made by one of several workers', async () => {
    const tenant = await tenantOf();
    const { path } = await create(tenant, calendar(allDay(3, 5, 'Holiday')));
    await tenant.sql('update absence_calendars set due_at = now() where organization_id = $1', tenant.id);
    const polls = () => pollCalendars(world.service.runtime.deps, { warn: () => {}, info: () => {} }, () => false);
    await Promise.all([polls().runDue(), polls().runDue(), polls().runDue()]);
    expect(requestsTo(path)).toHaveLength(2);
  });

  test('stores nothing that a change has overtaken', async () => {
    const tenant = await tenantOf();
    const { path, at } = await create(tenant, calendar(allDay(3, 5, 'Holiday')));
    const { calendarReader } = world.service.runtime.deps;
    await fetchDue(tenant, {
      calendarReader: {
        read: async (...args) => {
          const read = await calendarReader.read(...args);
          await tenant.ask({ method: 'DELETE', path: at });
          return read;
        },
      },
    });
    expect(requestsTo(path)).toHaveLength(2);
    expect(await list(tenant)).toEqual([]);
  });
});

describe('what cannot be fetched is refused with the field', () => {
  const refused = async (url: string, message: RegExp) => {
    const tenant = await tenantOf();
    const { status, body } = await tenant.post(pathOf(tenant), { url });
    expect([status, Object.keys(body.errors ?? body)]).toEqual([400, ['url']]);
    expect(body.errors.url.join()).toMatch(message);
    expect(body.errors.url.join()).not.toContain('secret-');
    expect((await tenant.ask({ path: pathOf(tenant) })).body).toEqual([]);
  };

  test.each([
    ['a page', '<html>', /is not an iCalendar file/],
    ['half a calendar', calendar(allDay(3, 5, 'Holiday')).slice(0, -20), /has no end/],
    ['an error', { status: 403 }, /answers with status 403/],
    ['no change of what is unknown', { status: 304 }, /\(304\)/],
    ['a redirect to nowhere', { status: 302 }, /redirects too often, or nowhere/],
    [
      'a redirect to a private address',
      { status: 302, headers: { location: 'http://10.1.2.3/a.ics' } },
      /10\.1\.2\.3 is a private/,
    ],
    ['more than 5 MiB', { body: 'x'.repeat(calendarLimits.bytes + 1) }, /larger than 5 MiB/],
    ['a lost connection', 'drop', /broke before it answered/],
  ] as [string, Reply | string, RegExp][])('%s', async (_, reply, message) => {
    await refused(serve(reply).url, message);
  });

  test.each([
    ['a private address', 'https://192.168.0.1/a.ics', /private or reserved address/],
    ['plain HTTP to others', 'http://192.0.2.1/a.ics', /must begin with https:/],
    ['another protocol', 'ftp://acme.test/a.ics', /must begin with https:\/\/ or webcal/],
    ['no address', 'calendar', /must begin with https/],
    ['a password', 'https://ann:pass@acme.test/a.ics', /must not contain a user name/],
    ['a host of webcal that is private', 'webcal://10.0.0.1/a.ics', /private or reserved address/],
  ])('%s', async (_, url, message) => {
    await refused(url, message);
  });

  test('a redirect from https to http', async () => {
    const tenant = await tenantOf();
    const secure = await openHttpPeer(
      { status: 302, headers: { location: serve(calendar()).url } },
      { protocol: 'https' },
    );
    const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'], ca: certificate });
    onTestFinished(async () => {
      await outbound.close();
      await secure.close();
    });
    const user = (await findUser(world.service.runtime.deps, tenant.id, ann))!;
    const input = { url: `${secure.url}/secret-${uid}/ann.ics` };
    const deps = { ...world.service.runtime.deps, outbound };
    const failure = await createAbsenceCalendar(deps, { organization: { id: tenant.id }, user }, input).catch(
      error => error,
    );
    expect(failure.details.fields.url.join()).toMatch(
      /redirects to http:.*, without encryption: use an address .* https:/,
    );
    expect(failure.details.fields.url.join()).not.toContain('secret-');
    expect(requestsTo(`/secret-${uid}/ann.ics`)).toEqual([]);
  });

  test('a slow server', async () => {
    const tenant = await tenantOf();
    const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
    onTestFinished(() => outbound.close());
    const { path } = await create(tenant, calendar(allDay(3, 5, 'Holiday')));
    answer(path, 'stall');
    // The time is what the client is asked for; here it passes faster.
    const hurried = {
      ...outbound,
      request: (to: string, request: Parameters<typeof outbound.request>[1]) => {
        expect(request).toMatchObject({ timeoutMs: 20_000, maxFileBytes: 5 * 1024 * 1024 });
        return outbound.request(to, { ...request, timeoutMs: 300 });
      },
    };
    await fetchDue(tenant, { outbound: hurried });
    const [{ error }] = (await tenant.ask({ path: pathOf(tenant) })).body;
    expect(error).toMatch(/did not send the whole calendar within 20 s/);
    expect(await reasons(tenant)).toEqual(['Holiday']);
  });
});

test('a hostile calendar delays nothing else, and hides no other event', async () => {
  const tenant = await tenantOf();
  const rules = ['SECONDLY', 'DAILY;BYMONTH=2;BYMONTHDAY=30', 'DAILY;INTERVAL=999999999', 'YEARLY;BYMONTH=13'];
  const hostile = rules.map(rule => event('DTSTART;VALUE=DATE:19000101', `RRULE:FREQ=${rule}`, 'SUMMARY:Never'));
  const { url } = serve(calendar(...hostile, allDay(3, 5, 'Holiday')));
  let longest = 0;
  let isDone = false;
  const watch = (async () => {
    while (!isDone) {
      const before = performance.now();
      await sleep(1);
      longest = Math.max(longest, performance.now() - before);
    }
  })();
  const made = await tenant.post(pathOf(tenant), { url });
  isDone = true;
  await watch;
  expect(made.body).toMatchObject({ absences: 1, found: [{ reason: 'Holiday' }], skipped: 3 });
  expect(longest).toBeLessThan(500);
});

test('a calendar that takes too long to read is refused with the field', { tags: ['sweep'] }, async () => {
  const tenant = await tenantOf();
  const zone = [
    ...['BEGIN:VTIMEZONE', 'TZID:Nowhere', 'BEGIN:STANDARD', 'DTSTART:16010101T030000', 'TZOFFSETFROM:+0200'],
    ...['TZOFFSETTO:+0100', 'RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30', 'END:STANDARD', 'END:VTIMEZONE'],
  ];
  const there = event(`DTSTART;TZID=Nowhere:${date(3)}T090000`, 'DURATION:P1D', 'SUMMARY:Away');
  const { body } = await tenant.post(pathOf(tenant), { url: serve(calendar(zone, there)).url, words: ['away'] });
  expect(body.errors.url.join()).toMatch(/reading it takes too long/);
});

test('the key that encrypts addresses can be replaced', async () => {
  const tenant = await tenantOf();
  await create(tenant, calendar(allDay(3, 5, 'Holiday')));
  const { deps } = world.service.runtime;
  const old = await tenant.sql<{ secrets: Buffer }>(
    'select secrets from absence_calendars where organization_id = $1',
    tenant.id,
  );
  const cipher = { ...deps.cipher, isCurrent: () => false };
  // Each pass finds them again, as this cipher knows no current key.
  await reencryptSecrets({ db: deps.db, cipher }).catch(() => {});
  const now = await tenant.sql<{ secrets: Buffer }>(
    'select secrets from absence_calendars where organization_id = $1',
    tenant.id,
  );
  expect(now[0]!.secrets.equals(old[0]!.secrets)).toBe(false);
  await fetchDue(tenant);
  expect((await tenant.ask({ path: pathOf(tenant) })).body).toMatchObject([{ error: null }]);
});

test.each([
  ['a server', true],
  ['the database', false],
])('the command shows, adds, lists and deletes calendars, with %s', async (_, remote) => {
  const tenant = await tenantOf();
  const { deps, url: database } = world.service.runtime;
  const { key } = await createKey(deps, tenant.slug, { name: 'x', permissions: ['user:read', 'user:write'] });
  const local = {
    DATABASE_URL: database,
    BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
    BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8',
  };
  const env: Record<string, string> = remote ? { BELFRY_URL: world.service.address, BELFRY_KEY: key } : local;
  const run = async (...args: string[]) => {
    const done = await command(['absence', tenant.slug, ann, ...args], env);
    expect(done.code, done.stderr).toBe(0);
    return done.stdout;
  };
  const { url } = serve(calendar(allDay(3, 5, 'Vacation in Rome'), allDay(6, 7, 'Fair')));
  expect(await run('--calendar', url, '--preview')).toMatch(/has 2 absences:\n.*Vacation in Rome\n.*Fair\n$/);
  expect(await run('--calendars')).toBe('There are no calendars.\n');
  const added = await run('--calendar', url, '--words', 'vacation, out of office');
  expect(added).toMatch(
    /^The calendar on 127\.0\.0\.1:\d+ has 1 absence:\n {2}.* to .* {2}Vacation in Rome\nTo delete it: /,
  );
  expect(await run('--calendars')).toMatch(/ID .*ABSENCES .*ERROR[\s\S]*vacation, out of office/);
  expect(await run('--list')).toContain('calendar on 127.0.0.1');
  const id = /--delete-calendar (\d+)/.exec(added)![1]!;
  expect(await run('--delete-calendar', id)).toBe('Deleted, with 1 absence.\n');
});
