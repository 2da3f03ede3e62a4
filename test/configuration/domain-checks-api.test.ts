/** The domain check over the API and on the command line, for the channels of a database. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { DomainCheckLimits } from '../../src/services/configuration/checks/domain-check-limits.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { command } from '../support/command.ts';
import { testService } from '../support/database.ts';
import { buildTenants } from '../support/tenants.ts';
import { openZoneServer, type Zone, type ZoneServer } from '../support/zone.ts';

let dns: ZoneServer;
let service: Service;
let ask: Ask;
let rival: Ask;

beforeAll(async () => {
  dns = await openZoneServer();
  service = await testService({
    BELFRY_ROLE: 'api',
    BELFRY_DNS_SERVERS: dns.address,
    BASE_URL: 'https://belfry.acme.test',
  });
  const tenants = await buildTenants(service.runtime.deps);
  ask = asker(service.address, tenants.acme.keys.all);
  rival = asker(service.address, tenants.rival.keys.all);
  expect((await create(ask, 'acme', 'news')).status).toBe(201);
});
afterAll(async () => {
  await service.stop();
  await dns.close();
});

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const p = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
const zone: Zone = {
  'news.test TXT': 'v=spf1 -all',
  'news.test MX': '10 mail.news.test',
  'mail.news.test A': '81.2.69.142',
  '142.69.2.81.in-addr.arpa PTR': 'mail.news.test',
  'bounces.news.test TXT': 'v=spf1 a:mail.news.test -all',
  '_dmarc.news.test TXT': 'v=DMARC1; p=reject; rua=mailto:dmarc@news.test',
};
const smtp = {
  use: 'smtp',
  host: 'MAIL.news.test',
  from: 'News <hello@News.test>',
  bounce_domain: 'bounces.news.test',
  dkim_domain: 'news.test',
  dkim_selector: 's1',
  dkim_private_key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
};
const dkimRecord = { name: 's1._domainkey.news.test', type: 'TXT', value: `v=DKIM1; k=rsa; p=${p}` };
const create = (by: Ask, org: string, slug: string, more: object = {}) =>
  by({
    method: 'POST',
    path: `/api/o/${org}/c/`,
    body: { slug, name: slug, type: 'email', providers: [smtp], ...more },
  });

test('a channel tells the records that its domain lacks, and none when they are published', async () => {
  dns.serve(zone);
  const { status, body } = await ask({ path: '/api/o/acme/c/news/domain/' });
  expect(status).toBe(200);
  expect(body).toEqual([
    {
      domain: 'news.test',
      senders: ['smtp'],
      checked: ['spf', 'dkim', 'dmarc', 'mx', 'server'],
      findings: [
        expect.objectContaining({ code: 'dkim.missing', record: dkimRecord }),
        expect.objectContaining({
          code: 'mx.missing',
          record: { name: 'bounces.news.test', type: 'MX', value: '10 belfry.acme.test' },
        }),
      ],
    },
  ]);
  const published = { 's1._domainkey.news.test TXT': dkimRecord.value, 'bounces.news.test MX': '10 mail.news.test' };
  dns.serve({ ...zone, ...published });
  expect((await ask({ path: '/api/o/acme/c/news/domain/' })).body[0].findings).toEqual([]);
});

test('a channel without a sender address has no domains', async () => {
  const hook = { use: 'standard-webhooks', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };
  await create(ask, 'acme', 'hook', { type: 'webhook', providers: [hook] });
  await create(ask, 'acme', 'empty', { providers: [] });
  for (const slug of ['hook', 'empty']) {
    expect((await ask({ path: `/api/o/acme/c/${slug}/domain/` })).body).toEqual([]);
  }
});

test('the command line checks the channels that send from a domain, and prints the records', {
  tags: ['sweep'],
}, async () => {
  dns.serve(zone);
  const env = { DATABASE_URL: service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
  const args = ['doctor', '--domain', 'news.test', '--dns-server', dns.address];
  const { code, stdout } = await command(args, env);
  expect(code).toBe(1);
  expect(stdout).toContain(
    'news.test: acme/news (smtp)\n\nok    spf\nFAIL  dkim    s1._domainkey.news.test has no DKIM record',
  );
  const [one, two] = dkimRecord.value.match(/.{1,255}/g)!;
  expect(stdout).toContain(`publish: s1._domainkey.news.test. TXT "${one}" "${two}"`);
  expect(stdout).toMatch(/\n\n2 errors\.\n$/);

  dns.serve({ ...zone, 's1._domainkey.news.test TXT': dkimRecord.value, 'bounces.news.test MX': '10 mail.news.test' });
  const healthy = await command([...args, '--json'], env);
  expect(healthy.code).toBe(0);
  expect(JSON.parse(healthy.stdout)).toMatchObject({ healthy: true, senders: ['acme/news (smtp)'], findings: [] });
});

test('without a database, DNS alone is checked, and a lost answer is not a success', async () => {
  const lost = { 'news.test MX': 'SERVFAIL' as const };
  dns.serve({ ...zone, 's1._domainkey.news.test TXT': dkimRecord.value }, lost);
  const env = { BELFRY_DATA_DIR: '/nonexistent' };
  const { code, stdout, stderr } = await command(
    ['doctor', '--domain', 'news.test', '--selector', 's1', '--dns-server', dns.address],
    env,
  );
  expect(stderr).toBe('');
  expect(stdout).toMatch(
    /^news\.test: selector s1\n\nok +spf\nok +dkim\nok +dmarc\n\? +mx +The MX record .* \(SERVFAIL\)\.\n/,
  );
  expect(stdout).toMatch(/1 could not be checked\.\n$/);
  expect(code).toBe(1);
});

test.each([
  [['--domain', 'two words'], '--domain must be a domain'],
  [['--domain', 'acme.test', '--selector', 'a b'], '--selector must be a DKIM selector'],
  [['--domain', 'acme.test', '--dns-server', 'dns.test'], '--dns-server must be an address'],
  [['--selector', 's1'], 'need a domain'],
])('refuses %j', async (args, message) => {
  const { code, stderr } = await command(['doctor', ...args], {});
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('answers 429 when an organization checks too often, without an effect on others', async () => {
  dns.serve(zone);
  await create(rival, 'rival', 'news');
  const path = '/api/o/acme/c/news/domain/';
  let answer = await ask({ path });
  for (let i = 0; i < 20 && answer.status === 200; i++) answer = await ask({ path });
  expectProblem(answer, 429, 'domain.limited');
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect((await rival({ path: '/api/o/rival/c/news/domain/' })).status).toBe(200);
});

test('slow checks of one organization take its own share and refuse no other organization', async () => {
  const limits = new DomainCheckLimits([]);
  const slow = Promise.withResolvers<void>();
  const check = (organization: number) => limits.run(organization, performance.now(), () => slow.promise);
  const own = Array.from({ length: 8 }, () => check(1));
  const others = Array.from({ length: 20 }, (_, i) => check(i + 2));
  slow.resolve();
  const statuses = (await Promise.allSettled(own)).map(({ status }) => status);
  expect(statuses).toEqual(['fulfilled', 'fulfilled', ...Array(6).fill('rejected')]);
  await Promise.all(others);
  await expect(own[2]).rejects.toMatchObject({ code: 'domain.limited' });
});
