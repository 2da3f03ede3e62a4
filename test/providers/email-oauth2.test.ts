/** Signing in by OAuth 2.0, against a token server and a mail server that accept nothing but what the standards say. */
import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RenewedValue } from '../../src/lib/caching/renewed-value.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry, explainDenied, findMissing, readEntry } from '../../src/providers/provider.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { openHttpPeer, type RecordedRequest, type Reply } from '../support/http-peer.ts';
import { openScripted, type Settings } from '../support/smtp-open.ts';
import type { Decide } from '../support/smtp-script.ts';

const user = 'no-reply@acme.test';
const client = { oauth2_client_id: 'app-1', oauth2_client_secret: 'hush/secret+1' };
const refresh = { oauth2_service: 'google', ...client, oauth2_refresh_token: 'hush//refresh' } as const;
const application = { oauth2_service: 'microsoft', oauth2_tenant: 'acme.test', ...client } as const;

/** Issues `token-1`, `token-2` and so on for the expected form, and refuses everything else. */
async function openTokenServer(expected: Record<string, string>, lifetimeSeconds = 3_600) {
  let issued = 0;
  const issue = (seen: RecordedRequest): Reply => {
    const form = Object.fromEntries(new URLSearchParams(seen.body));
    const isRight =
      seen.method === 'POST' &&
      seen.path === '/token' &&
      seen.headers['content-type'] === 'application/x-www-form-urlencoded' &&
      JSON.stringify(form) === JSON.stringify(expected);
    if (!isRight)
      return { status: 400, body: JSON.stringify({ error: 'invalid_request', error_description: seen.body }) };
    const token = { token_type: 'Bearer', expires_in: lifetimeSeconds, access_token: `token-${++issued}` };
    return { body: JSON.stringify(token) };
  };
  const peer = await openHttpPeer(issue);
  onTestFinished(() => peer.close());
  return { peer, issue, url: `${peer.url}/token` };
}

/** Accepts the tokens in `valid`, with a challenge and an empty line before each refusal, as Google and Microsoft do. */
function strictAuth(valid: Set<string>): Decide {
  return ({ verb, line }) => {
    if (verb === 'AUTH') {
      const [, , response = ''] = line.split(' ');
      const isValid = [...valid].some(token => atob(response) === `user=${user}\x01auth=Bearer ${token}\x01\x01`);
      if (isValid) return '235 2.7.0 Accepted';
      return `334 ${btoa('{"status":"401","schemes":"bearer","scope":"https://mail.google.com/"}')}`;
    }
    return verb === '' ? '535 5.7.8 Username and token not accepted' : undefined;
  };
}

async function start(settings: Partial<Settings>, form: Record<string, string>, lifetimeSeconds?: number) {
  const tokens = await openTokenServer(form, lifetimeSeconds);
  const valid = new Set(['token-1', 'token-2']);
  const decide = strictAuth(valid);
  const { server, sender } = await openScripted(
    { user, oauth2_token_url: tokens.url, max_connections: 1, ...settings },
    { offers: ['AUTH LOGIN XOAUTH2'], decide },
  );
  return { tokens, valid, server, sender };
}

const refreshForm = {
  grant_type: 'refresh_token',
  client_id: 'app-1',
  client_secret: 'hush/secret+1',
  refresh_token: 'hush//refresh',
};
const authOf = (commands: string[][]) => commands.flat().filter(line => line.startsWith('AUTH'));

describe('signing in by OAuth 2.0', () => {
  const flows: [string, Partial<Settings>, Record<string, string>][] = [
    ['a refresh token of Google', refresh, refreshForm],
    [
      'a refresh token of Microsoft',
      { ...application, oauth2_refresh_token: 'hush//refresh' },
      { ...refreshForm, scope: 'https://outlook.office.com/SMTP.Send offline_access' },
    ],
    [
      'client credentials of Microsoft',
      application,
      {
        grant_type: 'client_credentials',
        client_id: 'app-1',
        client_secret: 'hush/secret+1',
        scope: 'https://outlook.office365.com/.default',
      },
    ],
  ];
  it.each(flows)('works with %s', async (_, settings, form) => {
    const { server, sender, tokens } = await start(settings, form);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(authOf(server.commands)).toEqual([`AUTH XOAUTH2 ${btoa(`user=${user}\x01auth=Bearer token-1\x01\x01`)}`]);
    expect(tokens.peer.seen).toHaveLength(1);
  });

  it('works with a service account of Google that acts for the user', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { tokens, server, sender } = await start(
      {
        oauth2_service: 'google',
        oauth2_service_account: JSON.stringify({
          client_email: 'belfry@acme.iam.test',
          private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
        }),
      },
      {},
    );
    tokens.peer.reply = ({ body }) => {
      const { grant_type, assertion = '' } = Object.fromEntries(new URLSearchParams(body));
      const [header = '', claims = '', signature = ''] = assertion.split('.');
      const verify = createVerify('sha256').update(`${header}.${claims}`);
      const isGenuine = verify.verify(createPublicKey(privateKey), signature, 'base64url');
      const { iss, sub, aud, scope, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
      const isRight =
        isGenuine &&
        grant_type === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
        iss === 'belfry@acme.iam.test' &&
        sub === user &&
        aud === tokens.url &&
        scope === 'https://mail.google.com/' &&
        exp - iat === 3_600;
      return isRight ? { body: '{"access_token":"token-1","expires_in":3599}' } : { status: 400, body: claims };
    };
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(authOf(server.commands)).toHaveLength(1);
  });

  it('requests one token for many connections, and the next one before it expires', async () => {
    const { tokens, server, sender } = await start({ ...refresh, max_connections: 5 }, refreshForm);
    const sendMany = () =>
      Promise.all(Array.from({ length: 10 }, (_, n) => sender.send(exampleOutgoing({ id: `id-${n}` }))));
    expect((await sendMany()).every(({ ok }) => ok)).toBe(true);
    expect(server.connections).toBeGreaterThan(1);
    expect(tokens.peer.seen).toHaveLength(1);
  });

  it('gets a new token if the server no longer accepts the old one', async () => {
    const { tokens, valid, server, sender } = await start(refresh, refreshForm);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    valid.delete('token-1');
    // The server closes the connection, so that the next mail signs in again.
    server.decide = command => (command.verb === 'MAIL' ? '421 4.3.2 later' : strictAuth(valid)(command));
    const closed = await sender.send(exampleOutgoing());
    expect(closed).toMatchObject({ ok: false, retry: true });
    expect(closed).not.toHaveProperty('denied');
    server.decide = strictAuth(valid);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(tokens.peer.seen).toHaveLength(2);
  });

  it('fails permanently if a new token is rejected, and never reveals it', async () => {
    const { valid, sender } = await start(refresh, refreshForm);
    valid.clear();
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({
      ok: false,
      retry: false,
      denied: true,
      reason: expect.stringMatching(/^535 5\.7\.8/),
    });
    expect(JSON.stringify(outcome)).not.toMatch(/token-1|hush/);
  });

  it('explains a refresh token that has expired, and what to do', async () => {
    const { tokens, server, sender } = await start(refresh, refreshForm);
    const body = {
      error: 'invalid_grant',
      error_description: 'AADSTS700082: hush//refresh has expired due to inactivity.',
    };
    tokens.peer.reply = { status: 400, body: JSON.stringify(body) };
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: false, denied: true });
    const reason = outcome.ok ? '' : outcome.reason;
    expect(reason).toMatch(
      /^signing in to Google: the refresh token has expired or was revoked: authorize again .*AADSTS700082/,
    );
    expect(reason).not.toContain('hush//refresh');
    expect(explainDenied(providers.smtp!, refresh, reason)).toMatch(
      /^SMTP rejected the OAuth 2\.0 credentials .*oauth2_refresh_token/,
    );
    expect(server.mails).toEqual([]);
  });

  it.each<[string, Reply, object]>([
    ['a busy token server', { status: 503, headers: { 'retry-after': '7' } }, { retry: true, retryAfterSeconds: 7 }],
    ['a temporary error', { status: 400, body: '{"error":"temporarily_unavailable"}' }, { retry: true }],
    ['an answer without a token', { body: '{}' }, { retry: true }],
    ['a lost answer', 'drop', { retry: true }],
    ['a wrong client', { status: 401, body: '{"error":"invalid_client"}' }, { retry: false, denied: true }],
  ])('after %s has the right outcome, and no mail was sent', async (_, reply, expected) => {
    const { tokens, server, sender } = await start(refresh, refreshForm);
    tokens.peer.reply = reply;
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, ...expected });
    expect(outcome).not.toHaveProperty('unknown');
    expect(server.connections).toBe(0);
    tokens.peer.reply = tokens.issue;
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
  });

  it('asks no token server in a private network', async () => {
    const { sender } = await start({ ...refresh, oauth2_token_url: 'http://169.254.169.254/token' }, refreshForm);
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('private or reserved') });
  });

  it('requires TLS', async () => {
    const { server, sender } = await start({ ...refresh, starttls: undefined, timeout_ms: 300 }, refreshForm);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false });
    expect(authOf(server.commands)).toEqual([]);
  });
});

describe('settings', () => {
  const mistakesOf = (settings: object) => {
    const entry = { use: 'smtp', host: 'smtp.acme.test', from: user, ...settings };
    const found = [...checkEntry(providers, entry, 'email'), ...findMissing(providers, readEntry(providers, entry))];
    return [...new Set(found.map(({ field }) => field))];
  };
  it.each<[string, object, string[]]>([
    ['a user alone', { user }, ['password']],
    ['a refresh token of Google', { user, ...refresh }, []],
    ['an application of Microsoft', { user, ...application }, []],
    ['no user', refresh, ['user']],
    ['no tenant', { user, ...application, oauth2_tenant: undefined }, ['oauth2_tenant']],
    ['no secret', { user, ...application, oauth2_client_secret: undefined }, ['oauth2_client_secret']],
    ['no refresh token', { user, ...refresh, oauth2_refresh_token: undefined }, ['oauth2_refresh_token']],
    ['no service', { user, password: 'x', ...client }, ['oauth2_service']],
    ['another server without its URL', { user, ...client, oauth2_service: 'other' }, ['oauth2_token_url']],
    [
      'a broken service account',
      { user, oauth2_service: 'google', oauth2_service_account: '{}' },
      ['oauth2_service_account'],
    ],
  ])('with %s lack %2$j', (_, settings, fields) => {
    expect(mistakesOf(JSON.parse(JSON.stringify(settings)))).toEqual(fields);
  });
});

describe('a value that expires', () => {
  it('is renewed once for all, and used until it expires if that fails', async () => {
    let renewals = 0;
    let fails = false;
    const value = new RenewedValue<number, string>(async () => {
      renewals++;
      return fails ? { failure: 'no' } : { value: renewals, lifetimeMs: 200 };
    });
    expect(await Promise.all([value.get(), value.get()])).toMatchObject([{ value: 1 }, { value: 1 }]);
    expect(renewals).toBe(1);
    fails = true;
    await expect.poll(async () => (await value.get()) && renewals, { timeout: 5_000 }).toBe(2);
    await expect.poll(() => value.get(), { timeout: 5_000 }).toEqual({ failure: 'no' });
    fails = false;
    expect(await value.get()).toMatchObject({ isNew: true });
  });
});
