/** One-click unsubscribe (RFC 8058) from a real mail to the next trigger, and recipient tokens. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  signPreferencesToken,
  verifyPreferencesToken,
  verifyUnsubscribeToken,
} from '../../src/core/message/recipient-links.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { ask, asker, expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';
import { type Mail, openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

const base = 'https://belfry.test';
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

const categories = [
  { slug: 'news', name: 'Newsletter', kind: 'promotional', locales: { de: { name: 'Rundbrief' } } },
  { slug: 'security', name: 'Security', kind: 'required' },
];

async function mailing(
  category: string,
  users: (string | { email: string; locale: string })[] = ['a@x.test', 'b@x.test'],
) {
  const from = 'Acme <no-reply@acme.test>';
  return world.tenant({
    users,
    organization: { categories },
    event: { category },
    channels: [
      {
        slug: 'mail',
        name: 'Mail',
        type: 'email',
        providers: [{ use: 'smtp', host: '127.0.0.1', port: smtp.port, from }],
      },
      { slug: 'hooks' },
    ],
    notifications: [{ channels: ['mail', 'hooks'], message: { subject: 'Sale', body: 'Everything must go.' } }],
  });
}

async function send(tenant: Tenant): Promise<Mail[]> {
  const before = smtp.mails.length;
  await tenant.outcomes(await tenant.trigger(), 20_000);
  return smtp.mails.slice(before);
}

const pathIn = (header: string | undefined) => header!.replace(/^<(.*)>$/, '$1').slice(base.length);
const decoded = ({ raw }: Mail) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');

/** Sends the request that Gmail sends. */
const oneClick = (path: string, headers: Record<string, string> = {}) =>
  ask(world.service.address, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: 'List-Unsubscribe=One-Click',
  });

test('a mail has both headers and both links, and one POST unsubscribes from that category and channel only', async () => {
  const tenant = await mailing('news');
  const mails = await send(tenant);
  expect(mails).toHaveLength(2);
  const mail = mails.find(one => one.to.includes('a@x.test'))!;
  expect(mail.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
  expect(mail.headers['list-id']).toMatch(new RegExp(`^<news\\.${tenant.slug}\\.[a-z.]+>$`));
  const path = pathIn(mail.headers['list-unsubscribe']);
  expect(path).toMatch(/^\/unsubscribe\/[\w.-]+$/);
  expect(decoded(mail)).toContain(`Unsubscribe: ${base}${path}`);
  expect(decoded(mail)).toContain(`<a href="${base}${path}"`);
  expect(decoded(mail)).toMatch(/Notification settings: https:\/\/belfry\.test\/preferences\/[\w.-]+/);

  const shown = await ask(world.service.address, { path });
  expect(shown.status).toBe(200);
  expect(shown.text).toContain('Do you want to stop receiving “Newsletter”');
  expect(await send(tenant)).toHaveLength(2);

  expect((await oneClick(path)).status).toBe(200);
  const again = await ask(world.service.address, { path });
  expect(again.text).toContain('You will no longer receive “Newsletter”');
  expect(again.text).not.toContain('<form');
  expect((await oneClick(path)).status).toBe(200);
  const parts = { 'content-type': 'multipart/form-data; boundary=x' };
  expect((await oneClick(path, parts)).status).toBe(200);
  const after = await send(tenant);
  expect(after.flatMap(one => one.to)).toEqual(['b@x.test']);
  const received = tenant.received().filter(one => one.text.includes('Everything'));
  expect(received).toHaveLength(6);

  const chosen = await tenant.ask({ path: `/api/o/${tenant.slug}/u/a@x.test/preferences/` });
  expect(chosen.body.preferences).toEqual([
    expect.objectContaining({ category: 'news', channel_type: 'email', enabled: false, source: 'one-click' }),
  ]);
  const audit = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?limit=1` });
  expect(audit.body[0]).toMatchObject({
    noun: 'preference',
    path: 'a@x.test',
    actor: { kind: 'visitor', name: 'a@x.test' },
  });
});

test('required mail has neither headers nor links, and an old link does not unsubscribe from it', async () => {
  const tenant = await mailing('news');
  const [mail] = await send(tenant);
  await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/categories/news/`,
    body: { kind: 'required' },
  });
  const old = await oneClick(pathIn(mail!.headers['list-unsubscribe']));
  expect(old.text).toContain('cannot be turned off');
  const mails = await send(tenant);
  expect(mails).toHaveLength(2);
  for (const one of mails) {
    expect(one.headers['list-unsubscribe']).toBeUndefined();
    expect(one.headers['list-id']).toBeUndefined();
    expect(decoded(one)).not.toContain('nsubscribe');
  }
});

test('the unsubscribe page is in the language of the recipient', async () => {
  const tenant = await mailing('news', [{ email: 'd@x.test', locale: 'de-AT' }]);
  const [mail] = await send(tenant);
  const page = await ask(world.service.address, { path: pathIn(mail!.headers['list-unsubscribe']) });
  expect(page.text).toContain('<html lang="de">');
  expect(page.text).toContain('„Rundbrief“');
});

describe('a token', () => {
  const tokenOf = async (tenant: Tenant) => pathIn((await send(tenant))[0]!.headers['list-unsubscribe']).split('/')[2]!;

  test('that was tampered with is refused', async () => {
    const tenant = await mailing('news');
    const token = await tokenOf(tenant);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'abz019.-_'), async (at, sign) => {
        fc.pre(token[at] !== sign);
        const forged = token.slice(0, at) + sign + token.slice(at + 1);
        // The last base64url character has two unused bits.
        fc.pre(Buffer.compare(signatureOf(forged), signatureOf(token)) !== 0 || textOf(forged) !== textOf(token));
        expect((await oneClick(`/unsubscribe/${forged}`)).status).toBe(404);
        expect((await ask(world.service.address, { path: `/preferences/${forged}` })).status).toBe(404);
      }),
      { numRuns: 60 },
    );
    const chosen = await tenant.sql('select 1 from preferences where organization_id = $1', tenant.id);
    expect(chosen).toEqual([]);
  });

  test('for one page is not valid for the other, and a preview is labelled as such', async () => {
    const tenant = await mailing('news');
    const token = await tokenOf(tenant);
    expect((await ask(world.service.address, { path: `/preferences/${token}` })).status).toBe(404);
    const preview = await ask(world.service.address, { path: '/preferences/preview' });
    expect(preview.text).toContain('This is a preview');
    const simulated = await tenant.post(`${tenant.event}simulate/`, {});
    expect(JSON.stringify(simulated.body.deliveries)).toContain(`${base}/unsubscribe/preview`);
    expect(JSON.stringify(simulated.body)).not.toContain(token.slice(-40));
  });

  test('shows and changes only the user it belongs to', async () => {
    const tenant = await mailing('news');
    await send(tenant);
    const people = await tenant.sql<{ id: number; email: string }>(
      'select id::int, email from users where organization_id = $1 order by id',
      tenant.id,
    );
    const { sign } = createSigner('a secret of at least 32 characters');
    for (const { id, email } of people) {
      const token = signPreferencesToken({ organizationId: tenant.id, userId: id, generation: 0 }, sign);
      const page = await ask(world.service.address, { path: `/preferences/${token}` });
      expect(page.text).toContain(`${email[0]}••••@x•••.test`);
      for (const other of people.filter(one => one.id !== id))
        expect(page.text).not.toContain(`${other.email[0]}••••@`);
      // The page shows neither a full address nor a name, so a leaked link reveals nothing.
      expect(page.text).not.toContain(email);
      await ask(world.service.address, {
        method: 'POST',
        path: `/preferences/${token}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams([
          ['was', 'news:email:1'],
          ['was', 'security:email:1'],
          ['was', 'other:email:1'],
          ['was', `${email}:email:1`],
        ]).toString(),
      });
      const rows = await tenant.sql('select scope, channel_type from preferences where user_id = $1', id);
      expect(rows).toEqual([{ scope: 'category:news', channel_type: 'email' }]);
    }
  });

  test('of another tenant, or revoked, is refused', async () => {
    const [tenant, rival] = [await mailing('news'), await mailing('news')];
    const token = await tokenOf(tenant);
    const parts = token.split('.');
    const elsewhere = [rival.id.toString(36), ...parts.slice(1)].join('.');
    expect((await oneClick(`/unsubscribe/${elsewhere}`)).status).toBe(404);
    const revoked = await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/a@x.test/token/` });
    expect(revoked.body).toEqual({ revoked: true });
    await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/b@x.test/token/` });
    expect((await oneClick(`/unsubscribe/${token}`)).status).toBe(404);
    expect((await oneClick(`/unsubscribe/${await tokenOf(tenant)}`)).status).toBe(200);
  });

  test('is read back as written, and not accepted as another kind of token', () => {
    const { sign, isSigned } = createSigner('a secret of at least 32 characters');
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(1e6), (organizationId, userId, generation) => {
        const holder = { organizationId, userId, generation };
        const token = signPreferencesToken(holder, sign);
        expect(verifyPreferencesToken(token, isSigned)).toEqual(holder);
        expect(verifyUnsubscribeToken(token, isSigned)).toBeUndefined();
      }),
    );
  });
});

const textOf = (token: string) => token.slice(0, token.lastIndexOf('.'));
const signatureOf = (token: string) => Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');

test("a recipient token grants access only to the user's own preferences and inbox", async () => {
  const tenant = await mailing('news');
  const made = await tenant.post(`/api/o/${tenant.slug}/u/a@x.test/token/`, { expires_in: '10m' });
  expect(made.status, made.text).toBe(201);
  expect(Date.parse(made.body.expires_at) - Date.now()).toBeGreaterThan(500_000);
  const browser = asker(world.service.address);
  const as = (path: string, method = 'GET', body?: unknown) =>
    browser({
      method,
      path,
      body,
      headers: { authorization: `Bearer ${made.body.token}`, 'content-type': 'application/json' },
    });
  const own = `/api/o/${tenant.slug}/u/a@x.test/`;
  expect((await as(`${own}preferences/`)).body).toEqual({ preferences: [], timezone: null, quiet_hours: null });
  expect((await as(`${own}inbox/`)).status).toBe(200);
  const changed = await as(`${own}preferences/`, 'PATCH', { preferences: [{ category: 'news', enabled: false }] });
  expect(changed.body.preferences).toEqual([expect.objectContaining({ source: 'inbox' })]);
  expectProblem(await as(`/api/o/${tenant.slug}/u/b@x.test/preferences/`), 404, 'user.not_found');
  expectProblem(await as(own), 403, 'key.permission');
  expectProblem(await as(`${own}token/`, 'POST', {}), 403, 'key.permission');
  const rival = await mailing('news');
  expectProblem(await as(`/api/o/${rival.slug}/u/a@x.test/preferences/`), 404);
  expect((await tenant.ask({ method: 'DELETE', path: `${own}token/` })).status).toBe(200);
  // The change is announced to every process, also to the one that made it.
  await eventually(async () => expectProblem(await as(`${own}preferences/`), 401, 'token.invalid'));
  const short = await tenant.post(`${own}token/`, { expires_in: '1s' });
  await eventually(async () => {
    const late = await browser({
      path: `${own}preferences/`,
      headers: { authorization: `Bearer ${short.body.token}` },
    });
    expectProblem(late, 401, 'token.expired');
  });
});
