/** Every route without an organization in its path, requested by every kind of caller. A new route needs a line in this table. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { tokenHashOf } from '../../src/core/identity/tokens.ts';
import { findAccountAcrossTenants } from '../../src/db/identity/accounts.ts';
import { routes } from '../../src/http/routes.ts';
import { createRecipientToken } from '../../src/services/audience/recipient-links.ts';
import { csrfTokenOf, openSession } from '../../src/services/identity/sessions.ts';
import { newAccount } from '../support/accounts.ts';
import { ask } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let member: string;
let homeless: string;
let recipient: string;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  const { deps } = service.runtime;
  tenants = await buildTenants(deps);
  member = (await newAccount(deps, { membership: { organization: 'acme', role: 'viewer' } })).email;
  homeless = (await newAccount(deps)).email;
  const { id, username } = tenants.acme;
  const user = await deps.db
    .selectFrom('users')
    .select('id')
    .where('organization_id', '=', id)
    .where('username', '=', username)
    .executeTakeFirstOrThrow();
  recipient = (await createRecipientToken(deps, id, { id: user.id, username }, 60_000, Date.now())).token;
});
afterAll(() => service.stop());

const visitor = { origin: '127.0.0.1', userAgent: 'test', requestId: 'test', deviceCookie: () => undefined };

/** Opens a new session for each request, because some requests end it. */
async function sessionOf(email: string, { expired = false, csrf = true } = {}): Promise<Record<string, string>> {
  const { deps } = service.runtime;
  const account = (await findAccountAcrossTenants(deps.db, email))!;
  const { token, session } = await openSession(deps, account, visitor, 'password');
  if (expired) {
    const past = { expires_at: new Date(Date.now() - 1_000) };
    await deps.db.updateTable('sessions').set(past).where('token_hash', '=', tokenHashOf(token)!).execute();
  }
  return { cookie: `belfry_session=${token}`, ...(csrf && { 'x-csrf-token': csrfTokenOf(deps, session) }) };
}

const callers: Record<string, () => Promise<Record<string, string>>> = {
  stranger: async () => ({}),
  key: async () => ({ authorization: `Key ${tenants.acme.keys.all}` }),
  member: () => sessionOf(member),
  homeless: () => sessionOf(homeless),
  expired: () => sessionOf(member, { expired: true }),
  recipient: async () => ({ authorization: `Bearer ${recipient}` }),
  'without CSRF token': () => sessionOf(member, { csrf: false }),
};

async function outcomesOf(method: string, path: string): Promise<Record<string, string>> {
  const at = path.replace(':token', 'x'.repeat(43)).replace(/:\w+/, '1');
  const outcomes: Record<string, string> = {};
  for (const [caller, headersOf] of Object.entries(callers)) {
    const body = method === 'GET' ? undefined : {};
    const answer = await ask(service.address, { method, path: at, headers: await headersOf(), body });
    outcomes[caller] = `${answer.status}${answer.body?.code ? ` ${answer.body.code}` : ''}`;
  }
  return outcomes;
}

/** The same for every caller. */
const anyone = (outcome: string) => Object.keys(callers).map(() => outcome);
/** For sessions only: API keys and recipient tokens are refused. */
const people = (outcome: string, withoutCsrfToken = '403 session.csrf') => {
  const refused = '401 session.missing';
  return [refused, refused, outcome, outcome, refused, refused, withoutCsrfToken];
};

/** In the order of `callers`. The bodies are empty: 400, 404 and 409 mean that the caller was admitted. */
const table: Record<string, string[]> = {
  'GET /api/system/ping/': ['401 key.missing', '200', '200', '200', '401 session.missing', '403 key.permission', '200'],
  'GET /api/o/': ['401 key.missing', '200', '200', '200', '401 session.missing', '403 key.permission', '200'],
  'POST /api/o/': [
    '401 key.missing',
    '403 key.permission',
    '403 role.permission',
    '403 role.permission',
    '401 session.missing',
    '403 key.permission',
    '403 session.csrf',
  ],
  'GET /api/invite/:token/': anyone('404 invite.not_found'),
  'POST /api/invite/:token/': [...anyone('404 invite.not_found').slice(1), '403 session.csrf'],
  'POST /api/password-reset/': anyone('400 request.invalid'),
  'GET /api/password-reset/:token/': anyone('404 reset.not_found'),
  'POST /api/password-reset/:token/': anyone('400 request.invalid'),
  'GET /api/session/': people('200', '200'),
  'POST /api/session/': anyone('400 request.invalid'),
  'PATCH /api/session/': people('400 request.invalid'),
  'DELETE /api/session/': people('200'),
  'POST /api/session/confirm/': people('400 request.invalid'),
  'GET /api/session/oidc/': anyone('404 path.not_found'),
  'GET /api/session/oidc/callback/': anyone('404 path.not_found'),
  'GET /api/session/options/': anyone('200'),
  'POST /api/session/passkey/': anyone('400 request.invalid'),
  'POST /api/session/passkey/options/': anyone('409 passkey.unavailable'),
  'POST /api/session/password/': people('400 request.invalid'),
  'POST /api/session/second-factor/': anyone('400 request.invalid'),
  'GET /api/sessions/': people('200', '200'),
  'DELETE /api/sessions/': people('200'),
  'DELETE /api/sessions/:session/': people('404 session.not_found'),
  'POST /api/session/passkeys/': people('400 request.invalid'),
  'POST /api/session/passkeys/options/': people('409 passkey.unavailable'),
  'PATCH /api/session/passkeys/:passkey/': people('400 request.invalid'),
  'DELETE /api/session/passkeys/:passkey/': people('404 passkey.not_found'),
  'POST /api/session/recovery-codes/': people('409 account.two_factor_missing'),
  'POST /api/session/totp/': people('200'),
  'DELETE /api/session/totp/': people('200'),
  'POST /api/session/totp/confirm/': people('400 request.invalid'),
  'GET /api/session/two-factor/': people('200', '200'),
};

const outside = routes.filter(({ path }) => !path.includes(':org')).map(({ method, path }) => `${method} ${path}`);

test('the table contains exactly the routes without an organization in their path', () => {
  expect(outside.toSorted()).toEqual(Object.keys(table).toSorted());
});

test.each(outside)('%s responds to each kind of caller as listed in the table', async route => {
  const [method = '', path = ''] = route.split(' ');
  const expected = Object.keys(callers).map((caller, i) => [caller, table[route]?.[i]]);
  expect(Object.entries(await outcomesOf(method, path))).toEqual(expected);
});

test('the list of organizations contains only those of the caller', async () => {
  const listOf = async (headers: Record<string, string>) =>
    (await ask(service.address, { path: '/api/o/', headers })).body;
  const acme = [expect.objectContaining({ slug: 'acme' })];
  expect(await listOf(await callers.key!())).toEqual(acme);
  expect(await listOf(await callers.member!())).toEqual(acme);
  expect(await listOf(await callers.homeless!())).toEqual([]);
});

test('a session of another account does not exist for a caller', async () => {
  const { db } = service.runtime.deps;
  await sessionOf(member);
  const { id } = await db
    .selectFrom('sessions as s')
    .innerJoin('accounts as a', 'a.id', 's.account_id')
    .select('s.id')
    .where('a.email', '=', member)
    .executeTakeFirstOrThrow();
  const headers = await sessionOf(homeless);
  const answer = await ask(service.address, { method: 'DELETE', path: `/api/sessions/${id}/`, headers });
  expect([answer.status, answer.body.code]).toEqual([404, 'session.not_found']);
});
