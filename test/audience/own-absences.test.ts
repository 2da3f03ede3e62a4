/** Own absences and calendars of absences, on the hosted preference page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { absenceLimits } from '../../src/core/oncall/absences.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let peer: HttpPeer;
beforeAll(async () => {
  world = await joinWorld();
  peer = await openHttpPeer();
});
afterAll(async () => {
  await peer.close();
  await world.close();
});

const dayMs = 86_400_000;
const today = Math.floor(Date.now() / dayMs) * dayMs;
const ann = 'ann@x.test';
/** Ann and Bob are always on call together. */
const layer = { name: 'always', every: '1w', from: '2026-01-05T00:00', users: [[ann, 'bob@x.test']] };
const primary = { slug: 'primary', name: 'Primary <1>', timezone: 'UTC', layers: [layer] };
const tenantOf = () =>
  world.tenant({
    users: [
      { email: ann, timezone: 'Asia/Kolkata' },
      { email: 'bob@x.test', locale: 'de' },
      'eve@x.test',
      'max@x.test',
    ],
    schedules: [primary],
  });

/** Midnight UTC in so many days; it is half past five in Kolkata then. */
const inDays = (days: number) => new Date(today + days * dayMs);
const kolkata = (days: number) => inDays(days).toISOString().replace('T00:00:00.000Z', 'T05:30');

async function pageOf(tenant: Tenant, user = ann) {
  const { body } = await tenant.post(`/api/o/${tenant.slug}/u/${user}/preferences/link/`);
  const url: string = world.service.address + new URL(body.url).pathname;
  /** The part of the page about absences; empty: there is none. */
  const partOf = async (answer: Response) => /<h2 id="absences">.*/s.exec(await answer.text())?.[0] ?? '';
  const read = async () => partOf(await fetch(url));
  /** Sends a form, and returns the page that follows. */
  const send = async (fields: Record<string, string>) => {
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
    return { status: answer.status, query: new URL(answer.url).search, html: await partOf(answer) };
  };
  return { read, send };
}

const absencesOf = async (tenant: Tenant, user = ann) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/u/${user}/absences/` })).body;
const calendarsOf = async (tenant: Tenant) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/u/${ann}/absence-calendars/` })).body;
const holiday = () => ({ action: 'absence', starts_at: kolkata(3), ends_at: kolkata(10), reason: ' Holiday ' });
/** Returns the text of what is wrong with a field. */
const mistakeAt = (html: string, field: string) =>
  new RegExp(`<p id="${field}-error" class="error">(.*?)</p>`).exec(html)?.[1]?.replaceAll(/<[^>]+>/g, '');

describe('on the preference page, people', () => {
  test('add absences in their own time zone, see which shifts collide, and delete them', async () => {
    const tenant = await tenantOf();
    const { read, send } = await pageOf(tenant);
    expect(await read()).toMatch(/No absences yet[\s\S]*Asia\/Kolkata|Asia\/Kolkata[\s\S]*No absences yet/);
    const added = await send(holiday());
    expect([added.status, added.query]).toEqual([200, '?absence=added']);
    expect(added.html).toContain('The absence was added.');
    expect(added.html).toMatch(/<li>[^<]*5:30\sAM[^<]* · Holiday/);
    expect(added.html).toMatch(/On call while away[\s\S]*<li>Primary &lt;1&gt; \(shop\): [^<]*5:30\sAM/);
    const [absence] = await absencesOf(tenant);
    const times = { starts_at: inDays(3).toISOString(), ends_at: inDays(10).toISOString() };
    expect(absence).toMatchObject({ ...times, reason: 'Holiday', created_by: ann, calendar: null });
    const deletion = { action: 'absence-delete', id: String(absence.id) };
    const deleted = await send(deletion);
    expect(deleted.query).toBe('?absence=deleted');
    expect(deleted.html).not.toContain('On call while away');
    expect(await absencesOf(tenant)).toEqual([]);
    expect(await send(deletion)).toMatchObject({ status: 200, query: '' });
    const log = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?noun=absence` });
    expect(log.body).toMatchObject([
      { action: 'delete', actor: { kind: 'visitor', name: ann } },
      { action: 'create', actor: { kind: 'visitor', name: ann } },
    ]);
  });

  test('see the collisions of an override, and none of a shift that someone else has taken', async () => {
    const tenant = await tenantOf();
    await (await pageOf(tenant)).send(holiday());
    const cover = (user: string, replaces: string) =>
      tenant.post(`/api/o/${tenant.slug}/p/shop/schedules/primary/overrides/`, {
        user,
        replaces,
        starts_at: inDays(2).toISOString(),
        ends_at: inDays(11).toISOString(),
      });
    expect((await cover('max@x.test', ann)).status).toBe(201);
    const { read } = await pageOf(tenant);
    expect(await read()).not.toContain('On call while away');
    const max = await pageOf(tenant, 'max@x.test');
    const { html } = await max.send({ ...holiday(), starts_at: `${inDays(4).toISOString().slice(0, 10)}T12:00` });
    expect(html).toMatch(/On call while away[\s\S]*<li>Primary &lt;1&gt; \(shop\): [^<]*12:00\sPM/);
  });

  test.each([
    ['without times', { starts_at: '', ends_at: 'soon' }, ['starts_at', 'ends_at']],
    ['with a day that does not exist', { starts_at: '2027-02-30T10:00' }, ['starts_at']],
    ['that ends before it begins', { ends_at: kolkata(2) }, ['ends_at']],
    ['that is too long', { ends_at: kolkata(3 + absenceLimits.days + 1) }, ['ends_at']],
    ['that is too far ahead', { starts_at: kolkata(740), ends_at: kolkata(741) }, ['starts_at']],
    ['with a reason that is too long', { reason: 'x'.repeat(501) }, ['reason']],
    ['with a reason of two lines', { reason: 'a\nb' }, ['reason']],
    ['with a reason that no one can store', { reason: 'a\0b' }, ['reason']],
  ])('learn at the field why an absence %s is refused, and keep what they entered', async (_, fields, wrong) => {
    const tenant = await tenantOf();
    const { send } = await pageOf(tenant);
    const { status, html } = await send({ ...holiday(), ...fields });
    expect(status).toBe(400);
    const found = ['starts_at', 'ends_at', 'reason'].filter(field => mistakeAt(html, field) !== undefined);
    expect(found).toEqual(wrong);
    expect(html.match(/<input [^>]*autofocus/g)).toEqual([expect.stringContaining(`id="${wrong[0]}"`)]);
    expect(html).toContain('Holiday'.slice(0, 'reason' in fields ? 0 : 7));
    expect(html).toMatch(new RegExp(`name="ends_at" value="${{ ...holiday(), ...fields }.ends_at}"`));
    expect(await absencesOf(tenant)).toEqual([]);
  });

  test('read it in their own language', async () => {
    const tenant = await tenantOf();
    const { send } = await pageOf(tenant, 'bob@x.test');
    const { html } = await send({ ...holiday(), starts_at: '' });
    expect(mistakeAt(html, 'starts_at')).toMatch(/^Geben Sie den Beginn an/);
    expect(html).toContain('Abwesenheiten</h2>');
  });

  test('are refused more absences than there may be', { tags: ['sweep'] }, async () => {
    const tenant = await tenantOf();
    await tenant.sql(
      `insert into absences (organization_id, user_id, starts_at, ends_at, created_by)
       select $1, id, now() + n * interval '1 day', now() + (n * 24 + 1) * interval '1 hour', 'x'
       from users, generate_series(1, ${absenceLimits.open}) n
       where organization_id = $1 and username = $2`,
      tenant.id,
      ann,
    );
    const { status, html } = await (await pageOf(tenant)).send(holiday());
    expect(status).toBe(400);
    expect(html).toContain('<p role="alert" class="notice">You have as many as possible: 200');
    expect(html).toContain('There are more.');
  });

  test('connect and remove a calendar, whose address is shown no more', async () => {
    const tenant = await tenantOf();
    const { read, send } = await pageOf(tenant);
    const date = (days: number) => inDays(days).toISOString().slice(0, 10).replaceAll('-', '');
    peer.reply = {
      body: [
        ...[
          'BEGIN:VCALENDAR',
          'VERSION:2.0',
          'PRODID:-//Test//EN',
          'BEGIN:VEVENT',
          'UID:1',
          'DTSTAMP:20260101T000000Z',
        ],
        ...[`DTSTART;VALUE=DATE:${date(3)}`, `DTEND;VALUE=DATE:${date(5)}`, 'SUMMARY:Big vacation', 'END:VEVENT'],
        ...['END:VCALENDAR', ''],
      ].join('\r\n'),
    };
    const url = `${peer.url}/secret/ann.ics`;
    const { html, query } = await send({ action: 'calendar', url, words: 'vacation, out of office,' });
    expect(query).toBe('?absence=connected');
    const { host } = new URL(peer.url);
    expect(html).toMatch(new RegExp(`Big vacation <span class="note">from the calendar on ${host}`));
    expect(html).toContain('Only with: vacation, out of office');
    expect(html).not.toContain('/secret/');
    const [absence] = await absencesOf(tenant);
    // It is changed in the calendar.
    await send({ action: 'absence-delete', id: String(absence.id) });
    expect(await absencesOf(tenant)).toHaveLength(1);
    const [{ id, words }] = await calendarsOf(tenant);
    expect(words).toEqual(['vacation', 'out of office']);
    expect((await send({ action: 'calendar-delete', id: String(id) })).query).toBe('?absence=removed');
    expect(await read()).not.toContain('Big vacation');
    expect(await calendarsOf(tenant)).toEqual([]);
  });

  test('learn at the field why a calendar is refused', async () => {
    const tenant = await tenantOf();
    const { send } = await pageOf(tenant);
    peer.reply = { status: 404 };
    const url = `${peer.url}/secret/ann.ics`;
    const wrong = await send({ action: 'calendar', url, words: '' });
    expect(wrong.status).toBe(400);
    expect(mistakeAt(wrong.html, 'url')).toMatch(/^This calendar cannot be read: .*answers with status 404/);
    expect(wrong.html).toContain(`value="${url}"`);
    const many = await send({ action: 'calendar', url: 'ftp://x', words: 'x,'.repeat(21) });
    expect(mistakeAt(many.html, 'words')).toMatch(/at most 20 words/);
    expect(mistakeAt((await send({ action: 'calendar', url: 'ftp://x', words: '' })).html, 'url')).toMatch(/webcal/);
    expect(await calendarsOf(tenant)).toEqual([]);
  });

  test('whom no schedule names are offered nothing, and can have nothing fetched or stored', async () => {
    const tenant = await tenantOf();
    const { read, send } = await pageOf(tenant, 'eve@x.test');
    expect(await read()).toBe('');
    const before = peer.seen.length;
    for (const form of [holiday(), { action: 'calendar', url: `${peer.url}/eve.ics` }]) {
      const { status, query, html } = await send(form);
      expect([status, query, html]).toEqual([200, '', '']);
    }
    expect(peer.seen).toHaveLength(before);
    expect(await absencesOf(tenant, 'eve@x.test')).toEqual([]);
  });

  test('delete nothing of others', async () => {
    const tenant = await tenantOf();
    await (await pageOf(tenant)).send(holiday());
    const [{ id }] = await absencesOf(tenant);
    await (await pageOf(tenant, 'bob@x.test')).send({ action: 'absence-delete', id: String(id) });
    expect(await absencesOf(tenant)).toHaveLength(1);
  });
});
