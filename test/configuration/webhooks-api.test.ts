/** Webhooks over the API and in the declarative file: validation, secrets and audit. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookLimits } from '../../src/core/configuration/webhooks.ts';
import { openWebhookSecrets } from '../../src/services/configuration/webhook-secrets.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { reencryptSecrets } from '../../src/services/operations/secrets.ts';
import { expectProblem } from '../support/api.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let tenant: Tenant;
beforeAll(async () => {
  // Without a worker: nothing is sent here.
  world = await openWorld({ BELFRY_ROLE: 'api' });
  tenant = await world.tenant({ users: ['ann@x.test'] });
});
afterAll(() => world.close());

const path = (slug = '') => `/api/o/${tenant.slug}/webhooks/${slug && `${slug}/`}`;
const valid = (slug: string) => ({
  slug,
  name: 'Operations',
  url: 'https://ops.test/hook',
  types: ['occurrence.completed', 'delivery.failed'],
});
const secret = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;
const ask = (method: string, at: string, body?: unknown) => tenant.ask({ method, path: at, body });

async function storedSecret(slug: string) {
  const [row] = await tenant.sql<{ secrets: Buffer }>(
    'select secrets from webhooks where organization_id = $1 and slug = $2',
    tenant.id,
    slug,
  );
  return openWebhookSecrets(world.service.runtime.deps.cipher, tenant.id, { slug, secrets: row!.secrets });
}

test.each<[string, Record<string, unknown>, string, string]>([
  ['a mail address', { url: 'mailto:ops@x.test' }, 'url', 'must be an http or https URL'],
  ['a password in the URL', { url: 'https://a:b@ops.test/' }, 'url', 'without a user name'],
  ['a URL that is too long', { url: `https://ops.test/${'x'.repeat(2_048)}` }, 'url', '2048'],
  ['no types', { types: [] }, 'types', 'must not be empty'],
  ['an unknown type', { types: ['delivery.lost'] }, 'types/0', 'delivery.failed'],
  ['a duplicated type', { types: ['delivery.sent', 'delivery.sent'] }, 'types/1', 'is listed twice'],
  ['a short secret', { secret: 'whsec_c2hvcnQ=' }, 'secret', 'must be whsec_ followed by 24 to 64 bytes in base64'],
  ['a blank name', { name: ' ' }, 'name', 'must not be blank'],
  ['a bad slug', { slug: 'Not A Slug' }, 'slug', 'must be lower-case'],
  ['an unknown field', { rate: 3 }, 'rate', 'not a known field'],
])('%s is refused with its field', async (_, change, field, message) => {
  const answer = await ask('POST', path(), { ...valid('refused'), ...change });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body.errors[field] ?? answer.body.errors)).toContain(message);
});

test('a secret is returned once, stored encrypted, and never in a list, an export or the audit log', async () => {
  const made = await ask('POST', path(), { ...valid('told'), secret: secret('s') });
  expect(made.status).toBe(201);
  expect(made.headers.location).toContain(path('told'));
  expect(made.body).toMatchObject({ secret: secret('s'), types: ['delivery.failed', 'occurrence.completed'] });
  expect((await ask('POST', path(), valid('told'))).body.code).toBe('resource.exists');
  const rotated = await ask('POST', `${path('told')}rotate/`, {});
  expect(await storedSecret('told')).toEqual({ secret: rotated.body.secret, previous: secret('s') });
  const atOnce = await ask('POST', `${path('told')}rotate/`, { overlap: '0s' });
  expect(Date.parse(atOnce.body.previous_secret_expires_at)).toBeLessThanOrEqual(Date.now());
  expect(await storedSecret('told')).toEqual({ secret: atOnce.body.secret });
  const patched = await ask('PATCH', path('told'), { secret: secret('t'), name: 'Told' });
  expect(patched.body).toMatchObject({ name: 'Told', previous_secret_expires_at: null });
  expect(await storedSecret('told')).toEqual({ secret: secret('t') });
  const seen = [
    await ask('GET', path()),
    await ask('GET', path('told')),
    await ask('GET', `/api/o/${tenant.slug}/configuration/`),
    await ask('GET', `/api/o/${tenant.slug}/audit/`),
    patched,
  ];
  for (const { text } of seen) {
    expect(text).not.toContain('whsec_');
    expect(text).toContain('told');
  }
  const { deps } = world.service.runtime;
  expect((await reencryptSecrets(deps)).unreadable).toEqual([]);
});

test('updates honor If-Match and keep absent fields', async () => {
  await ask('POST', path(), valid('changed'));
  const read = await ask('GET', path('changed'));
  const change = (headers: Record<string, string>, body: object) =>
    tenant.ask({ method: 'PATCH', path: path('changed'), headers, body });
  expect((await change({ 'if-match': read.headers.etag! }, { enabled: false })).body).toMatchObject({
    enabled: false,
    url: valid('').url,
  });
  expect((await change({ 'if-match': read.headers.etag! }, { enabled: true })).body.code).toBe('request.stale');
  expect((await change({}, { slug: 'other' })).status).toBe(400);
  expect((await ask('POST', `${path('changed')}test/`)).body.code).toBe('webhook.inactive');
  expect((await ask('POST', `${path('changed')}rotate/`, { overlap: '31d' })).body.errors.overlap).toBeDefined();
  expect((await ask('DELETE', `${path('changed')}?dry_run=true`)).body).toEqual({
    deleted: { webhooks: 1 },
    dry_run: true,
  });
  expect((await ask('DELETE', path('changed'))).status).toBe(200);
  expect((await ask('GET', path('changed'))).body.code).toBe('webhook.not_found');
});

test('an organization has a maximum number of webhooks', async () => {
  const other = await world.tenant({ users: ['ann@x.test'] });
  const post = (i: number) => other.post(`/api/o/${other.slug}/webhooks/`, valid(`w${i}`));
  for (let i = 0; i < webhookLimits.endpoints; i++) expect((await post(i)).status).toBe(201);
  const refused = await post(99);
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('at most 20 webhooks');
  // Updating an existing one is allowed at the limit.
  const changed = await other.ask({ method: 'PATCH', path: `/api/o/${other.slug}/webhooks/w1/`, body: { name: 'W' } });
  expect(changed.status).toBe(200);
});

test('a secret that cannot be decrypted can be replaced, without an overlap or by one’s own', async () => {
  for (const slug of ['lost-key', 'lost-key-2']) expect((await ask('POST', path(), valid(slug))).status).toBe(201);
  await tenant.sql(
    `update webhooks set secrets = 'unreadable' where organization_id = $1 and slug like 'lost-key%'`,
    tenant.id,
  );
  const rotate = (overlap: string) => ask('POST', `${path('lost-key')}rotate/`, { overlap });
  expect((await rotate('1h')).body).toMatchObject({
    status: 400,
    errors: { overlap: ['must be 0s, because the current secret cannot be decrypted'] },
  });
  const rotated = await rotate('0s');
  expect(rotated.status, rotated.text).toBeLessThan(300);
  expect(await storedSecret('lost-key')).toEqual({ secret: rotated.body.secret });
  const set = await ask('PATCH', path('lost-key-2'), { secret: secret('n') });
  expect(set.status, set.text).toBe(200);
  expect(await storedSecret('lost-key-2')).toEqual({ secret: secret('n') });
});

test('the declarative file creates, updates and deletes webhooks, and keeps an omitted secret', async () => {
  const other = await world.tenant({ users: ['ann@x.test'] });
  const organization = (webhooks: object[]) => ({ organization: { webhooks } });
  await other.apply(organization([{ ...valid('a'), secret: secret('a') }, valid('b')]));
  const stored = async () =>
    (
      await other.sql<{ slug: string; secrets: Buffer; url: string }>(
        'select slug, secrets, url from webhooks where organization_id = $1 order by id',
        other.id,
      )
    ).map(({ slug, url, secrets }) => ({
      slug,
      url,
      ...openWebhookSecrets(world.service.runtime.deps.cipher, other.id, { slug, secrets }),
    }));
  const [a, b] = await stored();
  expect(a).toMatchObject({ secret: secret('a') });
  expect(b!.secret).toMatch(/^whsec_/);
  await other.apply(organization([{ ...valid('a'), name: 'A' }]), true);
  expect(await stored()).toEqual([{ slug: 'a', url: valid('a').url, secret: secret('a') }]);
  await other.apply(organization([{ ...valid('a'), secret: secret('z') }]));
  expect((await stored())[0]).toMatchObject({ secret: secret('z') });
  const audit = await other.ask({ path: `/api/o/${other.slug}/audit/?noun=webhook` });
  expect(audit.body[0]).toMatchObject({ action: 'update', after: { secret: '(secret)' } });
});

describe('a webhook whose URL changes', () => {
  const moved = 'https://elsewhere.test/hook';
  const refusal = 'url changed, and a stored secret is not used for another destination: provide the secret again';

  test('does not keep its stored secret: the API requires one', async () => {
    await ask('POST', path(), { ...valid('moved'), secret: secret('m') });
    await ask('POST', `${path('moved')}rotate/`, {});
    for (const url of [moved, `${valid('').url}/another-path`]) {
      const refused = await ask('PATCH', path('moved'), { url, name: 'Moved' });
      expectProblem(refused, 400, 'request.invalid', ['secret']);
      expect(refused.body.errors.secret[0]).toContain(refusal);
    }
    expect((await ask('GET', path('moved'))).body).toMatchObject({ url: valid('').url, name: valid('moved').name });
    expect((await ask('PATCH', path('moved'), { url: valid('').url, name: 'Same' })).status).toBe(200);
    const given = await ask('PATCH', path('moved'), { url: moved, secret: secret('n') });
    expect(given.body).toMatchObject({ url: moved, previous_secret_expires_at: null });
    expect(given.body).not.toHaveProperty('secret');
    expect(await storedSecret('moved')).toEqual({ secret: secret('n') });
  });

  test('gets a new secret, shown once, when the API is sent null', async () => {
    await ask('POST', path(), { ...valid('renewed'), secret: secret('r') });
    const changed = await ask('PATCH', path('renewed'), { url: moved, secret: null });
    expect(changed.body).toMatchObject({ url: moved, secret: expect.stringMatching(/^whsec_/) });
    expect(await storedSecret('renewed')).toEqual({ secret: changed.body.secret });
    expect((await ask('GET', path('renewed'))).text).not.toContain('whsec_');
  });

  test('needs the secret in the file too, and in a plan', async () => {
    const other = await world.tenant({ users: ['ann@x.test'] });
    const file = (entry: object) => ({ organization: { webhooks: [{ ...valid('a'), ...entry }] } });
    await other.apply(file({ secret: secret('a') }));
    await expect(other.apply(file({ url: moved }))).rejects.toMatchObject({
      details: { fields: { 'organizations/0/webhooks/0/secret': [expect.stringContaining(refusal)] } },
    });
    await other.apply(file({ url: moved, secret: secret('a') }));
    await other.apply(file({ url: moved, name: 'Renamed' }));
  });
});

test('the doctor counts webhooks and disabled ones', async () => {
  const { deps } = world.service.runtime;
  await tenant.sql(`update webhooks set disabled_at = now(), disabled_reason = 'gone' where slug = 'told'`);
  const found = (await runDoctorChecks(deps, Date.now())).find(({ name }) => name === 'webhooks');
  expect(found).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/^\d+ webhooks, 1 disabled after repeated failures$/),
  });
});

test('messages are kept for a month, or for the retention of the organization', async () => {
  const [usual, short] = [await world.tenant({ users: [] }), await world.tenant({ users: [] })];
  await short.sql('update organizations set retention_days = 5 where id = $1', short.id);
  const insert = (organization: number, days: number) =>
    short.sql(
      `insert into webhook_messages (organization_id, webhook_id, type, data, created_at)
       values ($1, 1, 'delivery.sent', '{}', now() - $2 * interval '1 day')`,
      organization,
      days,
    );
  const gone = 987_654;
  for (const organization of [usual.id, short.id, gone])
    for (const days of [1, 6, 29, 31]) await insert(organization, days);
  await runMaintenance(world.service.runtime.deps, Date.now());
  const rows = await short.sql(
    `select organization_id::int as organization, (extract(epoch from now() - created_at) / 86400)::int as days
     from webhook_messages where organization_id = any($1) order by 1, 2`,
    [usual.id, short.id, gone],
  );
  expect(rows).toEqual([
    { organization: usual.id, days: 1 },
    { organization: usual.id, days: 6 },
    { organization: usual.id, days: 29 },
    { organization: short.id, days: 1 },
  ]);
});
