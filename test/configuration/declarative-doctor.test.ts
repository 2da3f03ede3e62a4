/** `belfry doctor` checks whether each channel of a database could send. */
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { OrganizationDocument } from '../../src/core/configuration/document.ts';
import { createCipher } from '../../src/lib/secrets/cipher.ts';
import { DomainCheckLimits } from '../../src/services/configuration/checks/domain-check-limits.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { testDatabase } from '../support/database.ts';
import { everything, exampleOrganization, webhookSecret } from '../support/declarative.ts';
import { openHttpPeer } from '../support/http-peer.ts';
import { runSql } from '../support/sql.ts';
import { openZoneServer } from '../support/zone.ts';

let runtime: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());
beforeEach(async () => {
  await runSql(runtime.url, 'truncate organizations cascade');
});

const apply = (organization: OrganizationDocument) =>
  applyConfiguration(runtime.deps, { organizations: [organization] }, { prune: false });
const findings = async (deps = runtime.deps) =>
  (await runDoctorChecks(deps, Date.now()))
    .filter(({ name }) => name === 'channels')
    .map(({ ok, detail }) => `${ok ? 'ok' : 'FAIL'} ${detail}`);

test('reports working channels in one line', async () => {
  expect(await findings()).toEqual(['ok 0 channels, 0 enabled']);
  await apply(await exampleOrganization());
  await apply(everything('every'));
  expect(await findings()).toEqual(['ok 4 channels, 3 enabled']);
  await runSql(runtime.url, 'update channels set paused_at = now() where id = (select min(id) from channels)');
  expect(await findings()).toEqual(['ok 4 channels, 3 enabled, 1 paused']);
});

test('reports a changed secret key for each channel with secrets, and what to do', async () => {
  await apply(await exampleOrganization());
  const organization = await exampleOrganization('other');
  const hook = { use: 'standard-webhooks', secret: webhookSecret };
  organization.projects![0]!.channels = [{ slug: 'own', name: 'Own', type: 'webhook', providers: [hook] }];
  await apply(organization);
  const told = (path: string) =>
    `FAIL the secrets of channel ${path} cannot be decrypted: set BELFRY_SECRET_KEY to the key they were stored with, ` +
    'or delete the channel and apply it again';
  expect(await findings({ ...runtime.deps, cipher: createCipher('another key altogether') })).toEqual([
    told('acme/hooks'),
    told('other/hooks'),
    told('other/shop/own'),
  ]);
});

test('reports unknown, incomplete and unsuitable providers with their field', async () => {
  await apply(await exampleOrganization());
  const set = (slug: string, change: string) =>
    runSql(runtime.url, `update channels set ${change} where slug = '${slug}'`);
  await set(
    'mail',
    `providers = '[{ "use": "pigeon" }, { "use": "smtp", "host": "h", "port": 99999, "from": "a@b.test" }]'`,
  );
  await set('hooks', 'secrets = null');
  const [unknown, port, secret, ...rest] = await findings();
  expect(unknown).toMatch(
    /^FAIL acme\/mail, provider 1 \(pigeon\): there is no provider "pigeon" \(there are smtp, .*\); fix/,
  );
  expect(port).toMatch(/^FAIL acme\/mail, provider 2 \(smtp\): port .*65535; fix it in the file and apply it$/);
  expect(secret).toBe(
    'FAIL acme/hooks, provider 1 (standard-webhooks): secret is required, and none is stored; fix it in the file and apply it',
  );
  expect(rest).toEqual([]);
  await set('hooks', `type = 'sms'`);
  expect((await findings())[2]).toMatch(
    /standard-webhooks serves channels of type webhook, but this channel has type sms/,
  );
});

test('reports a channel without a provider, unless it is disabled', async () => {
  await apply({ slug: 'empty', name: 'E', channels: [{ slug: 'mail', name: 'Mail', type: 'email' }] });
  expect(await findings()).toEqual([
    'FAIL empty/mail has no provider: add one to the file, or set enabled: false, and apply it',
  ]);
  await apply({ slug: 'empty', name: 'E', channels: [{ slug: 'mail', name: 'Mail', type: 'email', enabled: false }] });
  expect(await findings()).toEqual(['ok 1 channel, 0 enabled']);
});

test('reports rejected credentials of enabled channels in words, and asks without sending', async () => {
  const peer = await openHttpPeer(({ path }) =>
    path.startsWith('/slack')
      ? { body: '{"ok":false,"error":"invalid_auth"}' }
      : path.startsWith('/bot')
        ? { body: '{"ok":true}' }
        : { status: path.startsWith('/v3') ? 401 : 503 },
  );
  const slack = { use: 'slack', token: 'xoxb-hush-hush-hush', endpoint: `${peer.url}/slack` };
  const mail = { from: 'a@b.test', api_key: 'hush', endpoint: peer.url };
  const telegram = { use: 'telegram-bot', token: '123456:hush-hush_hush-hush-hush', endpoint: peer.url };
  const postmark = { use: 'postmark', server_token: 'hush', from: 'a@b.test', endpoint: peer.url };
  await apply({
    slug: 'acme',
    name: 'Acme',
    channels: [
      { slug: 'chat', name: 'Chat', type: 'slack', providers: [slack] },
      { slug: 'off', name: 'Off', type: 'slack', enabled: false, providers: [slack] },
      { slug: 'mail', name: 'Mail', type: 'email', providers: [postmark, { use: 'sendgrid', ...mail }] },
      { slug: 'bot', name: 'Bot', type: 'telegram', providers: [telegram] },
    ],
  });
  expect((await findings()).sort()).toEqual([
    'FAIL acme/chat, provider 1 (slack): Slack bot rejected the bot token (200: invalid_auth): copy the Bot User OAuth Token ' +
      'of your app at api.slack.com/apps, under OAuth & Permissions. Enter the new value in the channel’s settings (token).',
    'FAIL acme/mail, provider 2 (sendgrid): SendGrid rejected the API key (401): create one with Mail Send access under ' +
      'Settings, API Keys. Enter the new value in the channel’s settings (api_key).',
  ]);
  expect(peer.seen.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'GET /bot123456:hush-hush_hush-hush-hush/getMe',
    'GET /server',
    'GET /v3/scopes',
    'POST /slack/auth.test',
  ]);
  await peer.close();
});

test('reports acknowledge links that no one else can open without BASE_URL', async () => {
  const links = async (settings: { baseUrl?: string; linkUrl?: string } = {}) =>
    (await runDoctorChecks(runtime.deps, Date.now(), settings)).find(({ name }) => name === 'acknowledge links');
  const organization = await exampleOrganization();
  await apply(organization);
  expect(await links()).toBeUndefined();
  const [notification] = organization.projects![0]!.applications![0]!.events![0]!.notifications!;
  notification!.message = { body: '[Acknowledge]({{ acknowledge_url }})' };
  await apply(organization);
  expect(await links()).toEqual({
    name: 'acknowledge links',
    ok: false,
    detail: '1 notification with acknowledge_url, but BASE_URL is not set: set it to the public address',
  });
  expect(await links({ linkUrl: 'http://127.0.0.1:8000' })).toMatchObject({
    ok: true,
    detail: expect.stringContaining('BASE_URL is not set: the links work on this machine only'),
  });
  expect(await links({ baseUrl: 'https://x.test' })).toMatchObject({ ok: true });
});

test('shows only the first of many problems', async () => {
  const channels = Array.from({ length: 23 }, (_, i) => ({ slug: `c${i}`, name: 'C', type: 'email' as const }));
  await apply({ slug: 'many', name: 'M', channels });
  const lines = await findings();
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe('FAIL … and 3 more');
});

test('an unreadable channel does not hide the other checks', async () => {
  await apply({ slug: 'unread', name: 'U' });
  await runSql(runtime.url, 'alter table channels rename column on_unknown to elsewhere');
  try {
    const checks = await runDoctorChecks(runtime.deps, Date.now());
    expect(checks.find(({ name }) => name === 'channels')).toMatchObject({ ok: false });
    expect(checks.at(-1)).toMatchObject({ name: 'clock', ok: true });
  } finally {
    await runSql(runtime.url, 'alter table channels rename column elsewhere to on_unknown');
  }
});

test('asks for a public address for promotional mail only if it is sent', async () => {
  const find = async () => (await runDoctorChecks(runtime.deps, Date.now())).find(({ name }) => name === 'unsubscribe');
  const organization = await exampleOrganization();
  organization.categories = [{ slug: 'news', name: 'News', kind: 'promotional' }];
  organization.projects![0]!.applications![0]!.events![0]!.category = 'news';
  const { providers } = organization.channels![0]!;
  organization.channels![0]!.providers = [{ use: 'sandbox' }];
  await apply(organization);
  expect(await find()).toBeUndefined();
  organization.channels![0]!.providers = providers!;
  await apply(organization);
  expect(await find()).toMatchObject({ ok: false });
});

test('warns about a name in EHLO that does not resolve, without failing, and within seconds', {
  tags: ['sweep'],
}, async () => {
  const dns = await openZoneServer();
  onTestFinished(() => dns.close());
  const smtp = { use: 'smtp', host: 'mail.acme.test', from: 'a@acme.test' };
  const own = { ...smtp, ehlo_name: 'out.acme.test' };
  const providers = [smtp, own, { ...smtp, ehlo_name: 'lost.acme.test' }];
  const organization = await exampleOrganization();
  await apply({ ...organization, channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers }], projects: [] });
  dns.serve({ 'out.acme.test AAAA': '2001:db8::1' }, { 'lost.acme.test A': 'drop', 'lost.acme.test AAAA': 'drop' });
  const deps = {
    ...runtime.deps,
    hostName: 'belfry.acme.test',
    domainCheckLimits: new DomainCheckLimits([dns.address]),
  };
  const began = performance.now();
  const checks = (await runDoctorChecks(deps, Date.now())).filter(({ name }) => name === 'mail names');
  expect(performance.now() - began).toBeLessThan(20_000);
  expect(checks).toEqual([
    {
      name: 'mail names',
      ok: true,
      detail: expect.stringMatching(
        /^warning: acme\/mail, provider 1 \(smtp\) introduces itself as belfry\.acme\.test, which does not resolve/,
      ),
    },
    { name: 'mail names', ok: true, detail: expect.stringMatching(/^lost\.acme\.test could not be looked up/) },
  ]);
});
