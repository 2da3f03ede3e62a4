/** Calendar feeds: what programs that subscribe to an address get, and when they no longer do. */
import ICAL from 'ical.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const layer = { name: 'weeks', every: '1w', from: '2026-01-05T09:00', users: ['ann@x.test', 'bob@x.test'] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'Europe/Berlin', layers: [layer] };
const only = [{ from: '20:00', until: '21:00' }];
const evenings = {
  ...primary,
  slug: 'evenings',
  name: 'Evenings',
  layers: [{ ...layer, users: ['ann@x.test'], only }],
};

const tenantOf = () =>
  world.tenant({
    users: [{ email: 'ann@x.test', first_name: 'Ann', last_name: 'A' }, 'bob@x.test', 'eve@x.test'],
    schedules: [primary, evenings],
  });
const scheduleOf = (tenant: Tenant) => `/api/o/${tenant.slug}/p/shop/schedules/primary/`;
const userOf = (tenant: Tenant, name: string) => `/api/o/${tenant.slug}/u/${name}@x.test/`;

async function addressOf(tenant: Tenant, path: string): Promise<string> {
  const { body } = await tenant.ask({ path: `${path}calendar/` });
  return body.url;
}

async function eventsOf(url: string) {
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('text/calendar; charset=utf-8');
  const calendar = new ICAL.Component(ICAL.parse(await response.text()));
  return calendar.getAllSubcomponents('vevent').map(one => {
    const { uid, summary, startDate, endDate } = new ICAL.Event(one);
    return { uid, summary, from: startDate.toJSDate().getTime(), until: endDate.toJSDate().getTime() };
  });
}

const day = 86_400_000;

test('the calendar of a schedule has all of its shifts from 30 days ago to 180 days ahead, without gaps', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantOf();
  const events = await eventsOf(await addressOf(tenant, scheduleOf(tenant)));
  expect(events[0]!.from).toBeLessThanOrEqual(Date.now() - 30 * day);
  expect(events.at(-1)!.until).toBeGreaterThanOrEqual(Date.now() + 180 * day);
  for (const [i, event] of events.slice(1).entries()) expect(event.from).toBe(events[i]!.until);
  expect(new Set(events.map(({ summary }) => summary))).toEqual(new Set(['Primary: Ann A', 'Primary: bob@x.test']));
  expect(new Set(events.map(({ uid }) => uid)).size).toBe(events.length);
});

test('the calendar of a user has the shifts of all schedules, and no one else’s', async () => {
  const tenant = await tenantOf();
  const ann = await eventsOf(await addressOf(tenant, userOf(tenant, 'ann')));
  expect(new Set(ann.map(({ summary }) => summary))).toEqual(
    new Set(['On call: Primary (shop)', 'On call: Evenings (shop)']),
  );
  const bob = await eventsOf(await addressOf(tenant, userOf(tenant, 'bob')));
  expect(new Set(bob.map(({ summary }) => summary))).toEqual(new Set(['On call: Primary (shop)']));
  expect(await eventsOf(await addressOf(tenant, userOf(tenant, 'eve')))).toEqual([]);
});

test('an override appears in the calendars of both, and the other shifts keep their identity', async () => {
  const tenant = await tenantOf();
  const url = await addressOf(tenant, scheduleOf(tenant));
  const before = await eventsOf(url);
  const starts = Math.ceil((Date.now() + 10 * day) / day) * day;
  const times = { starts_at: new Date(starts).toISOString(), ends_at: new Date(starts + 3_600_000).toISOString() };
  await tenant.ask({ method: 'POST', path: `${scheduleOf(tenant)}overrides/`, body: { user: 'eve@x.test', ...times } });
  const after = await eventsOf(url);
  expect(after).toHaveLength(before.length + 2);
  const uids = new Set(after.map(({ uid }) => uid));
  expect(before.filter(({ uid }) => !uids.has(uid))).toEqual([]);
  expect(await eventsOf(await addressOf(tenant, userOf(tenant, 'eve')))).toMatchObject([
    { from: starts, until: starts + 3_600_000 },
  ]);
});

test('a program that has the calendar already is answered 304 until a shift changes', async () => {
  const tenant = await tenantOf();
  const url = await addressOf(tenant, scheduleOf(tenant));
  const etag = (await fetch(url)).headers.get('etag')!;
  const ask = async () => (await fetch(url, { headers: { 'if-none-match': `W/"other", ${etag}` } })).status;
  expect(await ask()).toBe(304);
  await tenant.ask({ method: 'PATCH', path: scheduleOf(tenant), body: { name: 'Second' } });
  expect(await ask()).toBe(200);
});

test('a replaced, forged or foreign address is not found, and the new one is', async () => {
  const tenant = await tenantOf();
  for (const path of [scheduleOf(tenant), userOf(tenant, 'ann')]) {
    const url = await addressOf(tenant, path);
    expect(await addressOf(tenant, path)).toBe(url);
    const { body } = await tenant.ask({ method: 'POST', path: `${path}calendar/rotate/` });
    expect((await fetch(url)).status).toBe(404);
    expect((await fetch(body.url)).status).toBe(200);
    const forged = body.url.replace(/(schedule|user)\.(\w+)\.(\w+)/, '$1.$2.1');
    expect((await fetch(forged)).status).toBe(404);
    expect(
      (await fetch(body.url.replace(/\/(schedule|user)\./, path.includes('/u/') ? '/schedule.' : '/user.'))).status,
    ).toBe(404);
  }
  const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=calendar` });
  expect(audit.body).toMatchObject([
    { action: 'rotate', path: 'ann@x.test' },
    { action: 'rotate', path: 'shop/primary' },
  ]);
});

test('the calendar of a user who is locked, or of a schedule that is deleted, is not found', async () => {
  const tenant = await tenantOf();
  const [ann, schedule] = [await addressOf(tenant, userOf(tenant, 'ann')), await addressOf(tenant, scheduleOf(tenant))];
  await tenant.ask({ method: 'PATCH', path: userOf(tenant, 'ann'), body: { locked: true } });
  await tenant.ask({ method: 'DELETE', path: scheduleOf(tenant) });
  expect([(await fetch(ann)).status, (await fetch(schedule)).status]).toEqual([404, 404]);
});

test('a calendar that is asked for too often answers 429, and other calendars do not', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantOf();
  const [url, other] = [await addressOf(tenant, userOf(tenant, 'eve')), await addressOf(tenant, userOf(tenant, 'bob'))];
  let status = 200;
  for (let i = 0; i < 61; i++) status = (await fetch(url, { method: 'HEAD' })).status;
  expect(status).toBe(429);
  expect((await fetch(url)).headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await fetch(other)).status).toBe(200);
});
