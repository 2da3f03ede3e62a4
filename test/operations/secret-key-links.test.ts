/**
 * Links, tokens and stored secrets of a running service when BELFRY_SECRET_KEY is changed.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { readTrackingToken } from '../../src/core/feedback/tracking.ts';
import {
  verifyAcknowledgeToken,
  verifyPreferencesToken,
  verifyRecipientToken,
  verifyUnsubscribeToken,
} from '../../src/core/message/recipient-links.ts';
import { createCipher } from '../../src/lib/secrets/cipher.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { reencryptSecrets } from '../../src/services/operations/secrets.ts';
import { Browser, newAccount } from '../support/accounts.ts';
import { ask, expectProblem } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { runSql } from '../support/sql.ts';

const [oldKey, newKey] = ['the old key of at least 32 characters', 'the new key of at least 32 characters'] as const;
const base = 'https://belfry.example.com';
const person = 'ann@x.test';

let database: TestDatabase;
let smtp: SmtpPeer;
let service: Service;
let key: string;
let browser: Browser;
let old: Given;
const owner = { email: 'owner@acme.test' };

interface Given {
  preferences: string;
  unsubscribe: string;
  acknowledge: string;
  tracked: string;
  invite: string;
  token: string;
}

async function restart(current: string, previous = ''): Promise<void> {
  await service?.stop();
  const env = { BELFRY_SECRET_KEY: current, BELFRY_SECRET_KEY_PREVIOUS: previous, BASE_URL: base };
  service = await startService(testConfig(database.url, env), silent);
}

const send = (method: string, path: string, body?: unknown) => ask(service.address, { method, path, key, body });

/** Creates every kind of link and token that the service issues. */
async function giveOut(): Promise<Given> {
  const before = smtp.mails.length;
  const trigger = await send('POST', '/api/o/acme/p/shop/a/web/e/go/trigger/', { context: {} });
  expect(trigger.status, trigger.text).toBe(201);
  await eventually(() => expect(smtp.mails.length).toBe(before + 1), 20_000);
  const text = smtp.mails.at(-1)!.raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  const pathOf = (page: string) => new RegExp(`${base}(/${page}/[\\w.-]+)`).exec(text)![1]!;
  const { body: token } = await send('POST', `/api/o/acme/u/${person}/token/`, { expires_in: '1h' });
  const invited = await send('POST', '/api/o/acme/invite/', { email: `i${before}@x.test`, role: 'viewer' });
  return {
    preferences: pathOf('preferences'),
    unsubscribe: pathOf('unsubscribe'),
    acknowledge: pathOf('acknowledge'),
    tracked: pathOf('t'),
    token: token.token,
    invite: new URL(invited.body.link).pathname.split('/').pop()!,
  };
}

async function statusesOf(given: Given): Promise<Record<keyof Given, number>> {
  const get = async (path: string, authorization?: string) =>
    (await ask(service.address, { path, headers: authorization ? { authorization } : {} })).status;
  return {
    preferences: await get(given.preferences),
    unsubscribe: await get(given.unsubscribe),
    acknowledge: await get(given.acknowledge),
    tracked: await get(given.tracked),
    invite: await get(`/api/invite/${given.invite}/`),
    token: await get(`/api/o/acme/u/${person}/preferences/`, `Bearer ${given.token}`),
  };
}

/** Returns which of the signed ones a single key accepts. */
function signedBy(passphrase: string, given: Given): string[] {
  const { isSigned, isSignedShort } = createSigner(passphrase);
  const tokenIn = (path: string) => path.split('/').pop()!;
  const read = {
    preferences: verifyPreferencesToken(tokenIn(given.preferences), isSigned),
    unsubscribe: verifyUnsubscribeToken(tokenIn(given.unsubscribe), isSigned),
    acknowledge: verifyAcknowledgeToken(tokenIn(given.acknowledge), isSigned),
    tracked: readTrackingToken(tokenIn(given.tracked), isSignedShort),
    token: verifyRecipientToken(given.token, isSigned),
  };
  return Object.entries(read).flatMap(([name, value]) => (value ? [name] : []));
}

const all = { preferences: 200, unsubscribe: 200, acknowledge: 200, tracked: 200, invite: 200, token: 200 };
const signedKinds = ['preferences', 'unsubscribe', 'acknowledge', 'tracked', 'token'];

beforeAll(async () => {
  [database, smtp] = await Promise.all([createTestDatabase(), openSmtpPeer({ starttls: false })]);
  await restart(oldKey);
  const { deps } = service.runtime;
  const from = 'Acme <a@x.test>';
  const smtpEntry = {
    use: 'smtp',
    host: '127.0.0.1',
    port: smtp.port,
    from,
    user: 'u',
    password: 'p',
    starttls: 'never',
  };
  const notification = {
    name: 'n',
    recipients: { list: 'All' },
    steps: [{ channels: ['mail'] }],
    message: { subject: 's', body: '{{ acknowledge_url }}' },
  };
  const event = { slug: 'go', name: 'Go', category: 'news', notifications: [notification] };
  const organization = {
    slug: 'acme',
    name: 'Acme',
    categories: [{ slug: 'news', name: 'News', kind: 'promotional', track: true }],
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [smtpEntry] }],
    users: [{ email: person }],
    projects: [
      {
        slug: 'shop',
        name: 'Shop',
        distribution_lists: [{ name: 'All', members: [person] }],
        applications: [{ slug: 'web', name: 'Web', events: [event] }],
      },
    ],
  };
  await applyConfiguration(deps, { organizations: [organization] }, { prune: false });
  key = (await createKey(deps, 'acme', { name: 'all', permissions: ['*'] })).key;
  await newAccount(deps, { ...owner, membership: { organization: 'acme', role: 'owner' } });
  browser = new Browser(service.address);
  await browser.signIn(owner.email);
  old = await giveOut();
  expect(await statusesOf(old)).toEqual(all);
});
afterAll(async () => {
  await service.stop();
  await smtp.close();
  await database.drop();
});

test('with the old key as a previous one, issued links keep working, and new ones use only the new key', async () => {
  await restart(newKey, oldKey);
  expect(await statusesOf(old)).toEqual(all);
  const csrf = await ask(service.address, {
    method: 'PATCH',
    path: '/api/o/acme/',
    headers: { cookie: browser.cookie, 'x-csrf-token': browser.csrf },
    body: { name: 'Acme again' },
  });
  expect(csrf.status, csrf.text).toBe(200);
  const fresh = await giveOut();
  expect(signedBy(newKey, fresh)).toEqual(signedKinds);
  expect(signedBy(oldKey, fresh)).toEqual([]);
  // A page that was opened with an old link leads on with a new one.
  const saved = await ask(service.address, {
    method: 'POST',
    path: old.preferences,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'quiet=usual',
  });
  const location = saved.headers.location!.split('?')[0]!.split('/').pop()!;
  expect(verifyPreferencesToken(location, createSigner(newKey).isSigned)).toBeDefined();
  expect(verifyPreferencesToken(location, createSigner(oldKey).isSigned)).toBeUndefined();
});

test('a rotated service encrypts new and changed secrets only with the new key', async () => {
  await restart(newKey, oldKey);
  const webhook = { slug: 'hook', name: 'Hook', url: 'https://x.test/', types: ['delivery.failed'] };
  expect((await send('POST', '/api/o/acme/webhooks/', webhook)).status).toBe(201);
  const { body: mail } = await send('GET', '/api/o/acme/c/mail/');
  const [{ secrets_set: _, ...provider }] = mail.providers;
  const providers = [{ ...provider, password: 'another' }];
  expect((await send('PATCH', '/api/o/acme/c/mail/', { providers })).status).toBe(200);
  const sealed = await runSql<{ secrets: Buffer }>(
    database.url,
    'select secrets from channels where secrets is not null union all select secrets from webhooks',
  );
  expect(sealed).toHaveLength(2);
  for (const { secrets } of sealed) {
    expect(createCipher(newKey).isCurrent(secrets)).toBe(true);
    expect(createCipher(oldKey).isCurrent(secrets)).toBe(false);
  }
});

test('without the old key its links and tokens are rejected, while those of the new key and invites work', async () => {
  await restart(newKey, oldKey);
  const fresh = await giveOut();
  expect((await reencryptSecrets(service.runtime.deps)).unreadable).toEqual([]);
  await restart(newKey);
  expect(await statusesOf(old)).toEqual({
    preferences: 404,
    unsubscribe: 404,
    acknowledge: 404,
    tracked: 404,
    invite: 200,
    token: 401,
  });
  expect(await statusesOf(fresh)).toEqual(all);
  const refused = await ask(service.address, {
    path: `/api/o/acme/u/${person}/preferences/`,
    headers: { authorization: `Bearer ${old.token}` },
  });
  expectProblem(refused, 401, 'token.invalid');
  // An old one-click link changes nothing.
  const before = (await send('GET', `/api/o/acme/u/${person}/preferences/`)).body;
  const oneClick = await ask(service.address, {
    method: 'POST',
    path: old.unsubscribe,
    body: 'List-Unsubscribe=One-Click',
  });
  expect(oneClick.status).toBe(404);
  expect((await send('GET', `/api/o/acme/u/${person}/preferences/`)).body).toEqual(before);
  // Stored secrets were encrypted again: mail still goes out.
  await giveOut();
});
