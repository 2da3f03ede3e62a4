/** Opens and clicks, from a real mail to the history of its delivery. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { signTrackingToken } from '../../src/core/feedback/tracking.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { TrackedUses } from '../../src/services/history/feedback/tracking.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { ask } from '../support/api.ts';
import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSilentProxy } from '../support/silent-proxy.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';
import { type Mail, openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

const base = 'https://belfry.test';
const target = 'https://shop.test/sale?a=1&b=%20#top';
let world: EngineWorld;
let smtp: SmtpPeer;
beforeAll(async () => {
  smtp = await openSmtpPeer({ starttls: false });
  world = await joinWorld({ BASE_URL: base });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await smtp.close();
});

const decoded = ({ raw }: Mail) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(world.service.address, { method, path, headers: { 'user-agent': 'Mozilla/5.0', ...headers } });

async function mailing(category: object): Promise<Tenant> {
  const provider = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'a@acme.test' };
  return world.tenant({
    users: ['ada@x.test'],
    organization: { categories: [{ slug: 'news', name: 'News', kind: 'promotional', ...category }] },
    event: { category: 'news' },
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
    notifications: [
      { channels: ['mail'], message: { subject: 'Sale', body: `[Sale](${target}) or [write](mailto:a@x.test)` } },
    ],
  });
}

async function send(tenant: Tenant) {
  const id = await tenant.trigger();
  const [delivery] = await tenant.until(id, 'sent');
  const mail = decoded(smtp.mails.at(-1)!);
  const [, link] = /<a class="link" href="([^"]*)"/.exec(mail) ?? [];
  const [, pixel] = /<img src="([^"]*)" width="1"/.exec(mail) ?? [];
  const path = (url: string | undefined) => url?.slice(base.length) ?? '';
  const feedbackPath = `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery!.id}/feedback/`;
  const events = async () =>
    (await tenant.ask({ path: feedbackPath })).body.map((one: Record<string, unknown>) =>
      [one.source, one.type, one.detail].join(' '),
    );
  return { id, mail, link: path(link), pixel: path(pixel), events };
}

test('a tracked mail redirects to the exact URL, and its open and its click are stored once', async () => {
  const tenant = await mailing({ track: true });
  const { id, mail, link, pixel, events } = await send(tenant);
  // In the plain text.
  expect(mail).toContain(target);
  expect(mail).toContain('href="mailto:a@x.test"');
  expect(mail).toMatch(new RegExp(`href="${base}/unsubscribe/`));
  expect(mail.match(/\/t\//g)).toHaveLength(2);

  const ignored = { 'sec-purpose': 'prefetch;prerender', 'user-agent': 'Slackbot-LinkExpanding 1.0' };
  for (const [name, value] of Object.entries(ignored)) {
    expect((await open(link, { [name]: value })).headers.location).toBe(target);
  }
  expect((await open(link, {}, 'HEAD')).status).toBe(302);
  const shown = await open(pixel);
  expect(shown.status).toBe(200);
  expect(shown.headers).toMatchObject({ 'content-type': 'image/gif', 'cache-control': 'no-store' });
  await eventually(async () => expect(await events()).toEqual(['belfry opened ']));

  for (let i = 0; i < 3; i++) {
    const answer = await open(link);
    expect(answer.status).toBe(302);
    expect(answer.headers).toMatchObject({
      location: target,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
  }
  await eventually(async () => expect(await events()).toEqual(['belfry opened ', `belfry clicked ${target}`]));

  // Another process remembers nothing, and the database keeps what it has.
  const { deps } = world.service.runtime;
  const errors: unknown[] = [];
  const others = new TrackedUses(deps, error => errors.push(error));
  const { organizationId, delivery } = await referenceOf(tenant, id);
  const reference = { organizationId, occurrence: id, id: delivery };
  for (const one of [target, `${target}2`, undefined]) others.record({ ...reference, target: one });
  // The organization has been deleted meanwhile.
  others.record({ ...reference, organizationId: 999_999, occurrence: uuidv7(0), target });
  await others.drain();
  expect(errors).toHaveLength(1);
  expect(await events()).toEqual(['belfry opened ', `belfry clicked ${target}`, `belfry clicked ${target}2`]);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ada@x.test` });
  expect(why.body.answers[0].explanation).toMatch(/According to belfry, it was opened at /);
});

async function referenceOf(tenant: Tenant, id: string) {
  const [delivery] = await tenant.deliveries(id);
  return { organizationId: tenant.id, delivery: Number(delivery!.id) };
}

test('a forged token gets the page of broken links, and never a redirect', async () => {
  const { link, pixel } = await send(await mailing({ track: true }));
  const [name, encoded, signature] = link.split('.') as [string, string, string];
  const evil = Buffer.from('https://evil.test/').toString('base64url');
  for (const path of [
    `${name}.${evil}.${signature}`,
    `${name}.${encoded}x.${signature}`,
    `${name}.${signature}`,
    `${pixel}0`,
    '/t/https:%2F%2Fevil.test',
    '/t/x',
  ]) {
    const answer = await open(path);
    expect(answer.status, path).toBe(404);
    expect(answer.headers.location).toBeUndefined();
    expect(answer.headers['content-type']).toMatch('text/html');
  }
});

test('the redirect works while nothing can be stored', async () => {
  const tenant = await mailing({ track: true });
  const { link, events } = await send(tenant);
  await tenant.sql('alter table feedback rename to feedback_away');
  try {
    expect((await open(link)).headers.location).toBe(target);
  } finally {
    await tenant.sql('alter table feedback_away rename to feedback');
  }
  // What was not stored is not taken for a repetition.
  await eventually(async () => {
    await open(link);
    expect(await events()).toEqual([`belfry clicked ${target}`]);
  });
});

test('the redirect works while PostgreSQL is stopped', async () => {
  const database = await createTestDatabase();
  const proxy = await openSilentProxy(database.url);
  const service = await startService(testConfig(proxy.url, { BELFRY_ROLE: 'api' }), silent);
  try {
    const use = { organizationId: 1, occurrence: uuidv7(0), id: 1, target };
    const path = `/t/${signTrackingToken(use, service.runtime.deps.signer.signShort)}`;
    await proxy.close();
    expect((await ask(service.address, { path: '/readyz' })).status).toBe(503);
    const answer = await ask(service.address, { path, headers: { 'user-agent': 'Mozilla/5.0' } });
    expect([answer.status, answer.headers.location]).toEqual([302, target]);
  } finally {
    await service.stop();
    await database.drop();
  }
});

test('uses that exceed the queue are not counted, and are reported', async () => {
  const messages: string[] = [];
  const uses = new TrackedUses(world.service.runtime.deps, error => messages.push((error as Error).message));
  for (let id = 0; id < 6_000; id++) {
    uses.record({ organizationId: 999_999, occurrence: uuidv7(0), id, target: undefined });
  }
  await uses.drain();
  expect(messages.filter(message => message.startsWith('too many')).length).toBeGreaterThanOrEqual(1_000);
});

test('the doctor says that tracking needs the public address', { tags: ['sweep'] }, async () => {
  await mailing({ track: true });
  const { deps } = world.service.runtime;
  const find = async (settings: object) =>
    (await runDoctorChecks(deps, Date.now(), settings)).find(({ name }) => name === 'tracking');
  expect(await find({ baseUrl: base })).toMatchObject({ ok: true });
  expect(await find({})).toMatchObject({ ok: false, detail: expect.stringContaining('set BASE_URL') });
});

test('a mail is not tracked by default, and a required category can never be', async () => {
  const tenant = await mailing({});
  const { mail, pixel } = await send(tenant);
  expect(mail).toContain(`href="${target.replace('&', '&amp;')}"`);
  expect(pixel).toBe('');
  const path = `/api/o/${tenant.slug}/categories/`;
  const body = { slug: 'codes', name: 'Codes', kind: 'required', track: true };
  const refused = await tenant.ask({ method: 'POST', path, body });
  expect(refused.status).toBe(400);
  expect(refused.body.errors).toEqual({ track: [expect.stringMatching(/must be false: recipients cannot turn/)] });
  // Even if another program has stored it.
  await tenant.sql(`update categories set kind = 'required', track = true where organization_id = $1`, tenant.id);
  await tenant.sql(`notify belfry_changed, '${tenant.id}'`);
  expect((await send(tenant)).pixel).toBe('');
});
