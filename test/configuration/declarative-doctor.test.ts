/** `belfry doctor` checks whether each channel of a database could send. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { OrganizationDocument } from '../../src/core/configuration/document.ts';
import { createCipher } from '../../src/lib/cipher.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor.ts';
import { testDatabase } from '../support/database.ts';
import { everything, exampleOrganization, webhookSecret } from '../support/declarative.ts';
import { runSql } from '../support/sql.ts';

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
