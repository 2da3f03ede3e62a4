/** Test sends of channels and notifications: one real message, and the provider's answer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { newAccount, signInNewAccount } from '../support/accounts.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { closedUrl, type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let service: Service;
let ask: Ask;
let smtp: SmtpPeer;
let web: HttpPeer;

const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  smtp = await openSmtpPeer();
  web = await openHttpPeer();
  const { deps } = service.runtime;
  const mail = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'bell@acme.test', starttls: 'never' };
  const hook = (url: string) => ({ use: 'standard-webhooks', url, secret });
  const sendgrid = { use: 'sendgrid', endpoint: web.url, api_key: 'SG.key', from: 'bell@acme.test' };
  const notifications = [
    {
      name: 'receipt',
      active: false,
      recipients: { trigger: true },
      channels: ['mail'],
      filter: 'never',
      message: { subject: 'Order {{ order }}', body: 'For {{ user.first_name }} at {{ address }}' },
      overrides: { hook: { body: '{% for i in (1..1000000) %}xxxxxxxxxx{% endfor %}' } },
    },
    {
      name: 'summary',
      recipients: { trigger: true },
      channels: ['mail'],
      digest: { every: '1h' },
      message: {
        subject: '{{ count }} new',
        body: '{% for item in items %}Order {{ item.context.order }}{% endfor %}',
      },
    },
  ];
  const events = [{ slug: 'paid', name: 'Paid', notifications }];
  const organization = {
    slug: 'acme',
    name: 'Acme',
    channels: [
      { slug: 'mail', name: 'Mail', type: 'email', enabled: false, providers: [mail, { use: 'sandbox' }] },
      { slug: 'hook', name: 'Hook', type: 'webhook', providers: [hook(`${web.url}/in`)] },
      { slug: 'gone', name: 'Gone', type: 'webhook', providers: [hook(await closedUrl())] },
      { slug: 'api', name: 'API', type: 'email', providers: [sendgrid] },
      { slug: 'team', name: 'Team', type: 'slack', providers: [{ use: 'slack-webhook', url: `${web.url}/T/B/c` }] },
      {
        slug: 'text',
        name: 'Text',
        type: 'sms',
        providers: [
          {
            use: 'twilio',
            endpoint: web.url,
            account_sid: `AC${'0'.repeat(32)}`,
            auth_token: 'x',
            from: '+15555550199',
          },
        ],
      },
      { slug: 'push-anywhere', name: 'Anywhere', type: 'webhook', providers: [{ use: 'standard-webhooks', secret }] },
      { slug: 'none', name: 'None', type: 'email', providers: [] },
    ],
    users: [{ email: 'jane@acme.test', first_name: 'Jane' }],
    projects: [{ slug: 'shop', name: 'Shop', applications: [{ slug: 'web', name: 'Web', events }] }],
  };
  await applyConfiguration(deps, { organizations: [organization] }, { prune: false });
  ask = asker(service.address, (await createKey(deps, 'acme', { name: 'all', permissions: ['*'] })).key);
});
afterAll(async () => {
  await service.stop();
  await smtp.close();
  await web.close();
});

const tryOut = (channel: string, body?: object) =>
  ask({ method: 'POST', path: `/api/o/acme/c/${channel}/test/`, body });

describe('a channel', () => {
  test("sends a mail to the address, and returns the server's message id", async () => {
    const answer = await tryOut('mail', { to: 'you@acme.test', subject: 'Hello', body: 'To {{ address }}' });
    expect(answer.body, answer.text).toEqual({
      ok: true,
      provider: 'smtp',
      reason: null,
      detail: null,
      message_id: expect.any(String),
      ms: expect.any(Number),
    });
    expect(smtp.mails.at(-1)).toMatchObject({ to: ['you@acme.test'], headers: { subject: 'Hello' } });
    expect(smtp.mails.at(-1)!.raw).toContain('To you@acme.test');
  });

  test('returns the answer of a provider that refuses', async () => {
    smtp.fault = { rcpt: '550 5.1.1 nobody here' };
    const answer = await tryOut('mail', { to: 'you@acme.test' });
    smtp.fault = undefined;
    expect(answer.body).toMatchObject({ ok: false, provider: 'smtp', reason: 'provider.failed', message_id: null });
    expect(answer.body.detail).toContain('nobody here');
  });

  test('explains rejected credentials by the settings that hold them', async () => {
    web.reply = { status: 401, body: '{"errors":[{"message":"The provided authorization grant is invalid"}]}' };
    const { body } = await tryOut('api', { to: 'you@acme.test' });
    web.reply = {};
    expect(body).toMatchObject({
      ok: false,
      reason: 'provider.failed',
      detail:
        'SendGrid rejected the API key (401: The provided authorization grant is invalid): create one with Mail Send ' +
        'access under Settings, API Keys. Enter the new value in the channel’s settings (api_key).',
    });
  });

  test('that cannot be reached returns the reason', async () => {
    const { body } = await tryOut('gone', {});
    expect(body).toMatchObject({
      ok: false,
      reason: 'provider.failed',
      detail: expect.stringMatching(/connect|refused/i),
    });
  });

  test('returns the status and at most 200 characters of the answer of a server', async () => {
    const page = 'internal '.repeat(1_000);
    web.reply = { status: 502, headers: { 'x-message-id': page }, body: page };
    const refused = await tryOut('hook');
    web.reply = { status: 202, headers: { 'x-message-id': page }, body: page };
    const taken = await tryOut('api', { to: 'you@acme.test' });
    web.reply = {};
    expect(refused.body.detail).toMatch(/^502: internal/);
    expect(refused.body.detail.length).toBeLessThanOrEqual(200);
    expect(taken.body).toMatchObject({ ok: true, provider: 'sendgrid' });
    expect(taken.body.message_id.length).toBeLessThanOrEqual(200);
  });

  test('with a fixed room needs no address, any other does', async () => {
    expect((await tryOut('hook')).body).toMatchObject({ ok: true, provider: 'standard-webhooks' });
    expect(JSON.parse(web.seen.at(-1)!.body).title).toBe('A test from Belfry');
    expect((await tryOut('team')).body).toMatchObject({ ok: true, provider: 'slack-webhook' });
    expect(web.seen.at(-1)!.path).toBe('/T/B/c');
    expectProblem(await tryOut('mail', {}), 400, 'request.invalid', ['to']);
    expectProblem(await tryOut('mail', { to: 'you' }), 400, 'request.invalid', ['to']);
  });

  test('uses the requested provider', async () => {
    const { body } = await tryOut('mail', { to: 'you@acme.test', provider: 1 });
    expect(body).toMatchObject({ ok: true, provider: 'sandbox', detail: 'the sandbox does not send messages' });
    expectProblem(await tryOut('mail', { to: 'you@acme.test', provider: 2 }), 400, 'request.invalid', ['provider']);
    expect((await tryOut('none', { to: 'you@acme.test' })).body).toMatchObject({
      ok: false,
      reason: 'channel.unusable',
    });
  });

  test('refuses an invalid template before anything is sent', async () => {
    const before = smtp.mails.length;
    expectProblem(await tryOut('mail', { to: 'you@acme.test', body: '{{' }), 400, 'template.invalid', ['body']);
    expect(smtp.mails.length).toBe(before);
  });
});

describe('without allowed private networks', () => {
  test('a private address is refused whether or not a server listens, and the answer says what would allow it', async () => {
    const closed = await testService({ BELFRY_ROLE: 'api', BELFRY_OUTBOUND_ALLOW: '' });
    try {
      const { deps } = closed.runtime;
      const hook = (url: string) => [{ use: 'standard-webhooks', url, secret }];
      const mail = (port: number) => [{ use: 'smtp', host: 'localhost', port, from: 'bell@acme.test' }];
      const channels = [
        { slug: 'open', name: 'Open', type: 'webhook', providers: hook(`${web.url}/in`) },
        { slug: 'closed', name: 'Closed', type: 'webhook', providers: hook(await closedUrl()) },
        { slug: 'open-mail', name: 'Open mail', type: 'email', providers: mail(smtp.port) },
        { slug: 'closed-mail', name: 'Closed mail', type: 'email', providers: mail(1) },
      ];
      await applyConfiguration(deps, { organizations: [{ slug: 'acme', name: 'Acme', channels }] }, { prune: false });
      const { key } = await createKey(deps, 'acme', { name: 'all', permissions: ['channel:write'] });
      const [connections, asked] = [web.connections, asker(closed.address, key)];
      const details: string[] = [];
      for (const { slug, type } of channels) {
        const body = type === 'email' ? { to: 'you@acme.test' } : {};
        const answer = await asked({ method: 'POST', path: `/api/o/acme/c/${slug}/test/`, body });
        expect(answer.body, answer.text).toMatchObject({ ok: false, reason: 'provider.failed' });
        details.push(answer.body.detail);
      }
      const said = (host: string) =>
        `${host} is a private or reserved address: allow its network with BELFRY_OUTBOUND_ALLOW, such as ` +
        '127.0.0.0/8 for this machine';
      expect(details).toEqual([said('127.0.0.1'), said('127.0.0.1'), said('localhost'), said('localhost')]);
      expect(web.connections).toBe(connections);
    } finally {
      await closed.stop();
    }
  });
});

describe('a notification', () => {
  let path: string;
  let digestPath: string;
  beforeAll(async () => {
    const event = '/api/o/acme/p/shop/a/web/e/paid/';
    const [receipt, summary] = (await ask({ path: `${event}n/` })).body;
    path = `${event}n/${receipt.id}/test/`;
    digestPath = `${event}n/${summary.id}/test/`;
  });

  test('sends its message to the address, whatever its filter', async () => {
    const body = { to: 'you@acme.test', channel: 'mail', context: { order: 'A-1' } };
    expect((await ask({ method: 'POST', path, body })).body).toMatchObject({ ok: true, provider: 'smtp' });
    expect(smtp.mails.at(-1)).toMatchObject({ to: ['you@acme.test'], headers: { subject: 'Order A-1' } });
    expect(smtp.mails.at(-1)!.raw).toContain('For Jane at you@acme.test');
  });

  test('with a digest is sent as a digest of the one context', async () => {
    const body = { to: 'you@acme.test', channel: 'mail', context: { order: 'A-1' } };
    expect((await ask({ method: 'POST', path: digestPath, body })).body).toMatchObject({ ok: true, provider: 'smtp' });
    expect(smtp.mails.at(-1)).toMatchObject({ headers: { subject: '1 new' } });
    expect(smtp.mails.at(-1)!.raw).toContain('Order A-1');
  });

  test('that cannot be rendered returns the reason and sends nothing', async () => {
    const before = web.seen.length;
    const { body } = await ask({ method: 'POST', path, body: { channel: 'hook' } });
    expect(body).toMatchObject({ ok: false, reason: 'template.failed', detail: expect.stringContaining('hook') });
    expect(web.seen.length).toBe(before);
  });

  test('is refused with the invalid field', async () => {
    expectProblem(await ask({ method: 'POST', path, body: {} }), 400, 'request.invalid', ['channel']);
    expectProblem(await ask({ method: 'POST', path, body: { channel: 'fax' } }), 400, 'request.invalid', ['channel']);
    expectProblem(await ask({ method: 'POST', path, body: { channel: 'mail' } }), 400, 'request.invalid', ['to']);
    const body = { channel: 'mail', to: 'you@acme.test', user: 'nobody@acme.test' };
    expectProblem(await ask({ method: 'POST', path, body }), 400, 'request.invalid', ['user']);
  });
});

describe('without the permission channel:write, a test of a notification', () => {
  let path: string;
  let editor: Awaited<ReturnType<typeof signInNewAccount>>;
  let trigger: Ask;
  const send = (asked: Ask, to: string | undefined, channel = 'mail') =>
    asked({ method: 'POST', path, body: { to, channel } });
  beforeAll(async () => {
    const { deps } = service.runtime;
    const event = '/api/o/acme/p/shop/a/web/e/paid/';
    path = `${event}n/${(await ask({ path: `${event}n/` })).body[0].id}/test/`;
    editor = await signInNewAccount(service.address, deps, { membership: { organization: 'acme', role: 'editor' } });
    await newAccount(deps, { email: 'viewer@acme.test', membership: { organization: 'acme', role: 'viewer' } });
    await newAccount(deps, { email: 'stranger@rival.test' });
    const { key } = await createKey(deps, 'acme', { name: 'trigger', permissions: ['event:trigger'] });
    trigger = asker(service.address, key);
  });

  test("reaches the caller's own address and the addresses of team members", async () => {
    const byEditor: Ask = asked => editor.ask(asked);
    for (const [asked, to] of [
      [byEditor, editor.email],
      [byEditor, editor.email.toUpperCase()],
      [byEditor, 'viewer@acme.test'],
      [trigger, 'viewer@acme.test'],
      [trigger, editor.email],
    ] as const) {
      expect((await send(asked, to)).body).toMatchObject({ ok: true, provider: 'smtp' });
      expect(smtp.mails.at(-1)!.to).toEqual([to.toLowerCase()]);
    }
  });

  test('refuses every other address with 403, and sends and records nothing', async () => {
    const byEditor: Ask = asked => editor.ask(asked);
    const { deps } = service.runtime;
    const countTests = async () =>
      (await deps.db.selectFrom('audit').select('id').where('action', '=', 'test').execute()).length;
    const before = { mails: smtp.mails.length, requests: web.seen.length, tests: await countTests() };
    for (const asked of [byEditor, trigger]) {
      for (const to of ['you@elsewhere.test', 'jane@acme.test', 'stranger@rival.test', 'VIEWER@acme.test.evil.test']) {
        expectProblem(await send(asked, to), 403, 'test.address');
      }
      expectProblem(await send(asked, '+15555550100', 'text'), 403, 'test.address');
      expectProblem(await send(asked, `${web.url}/anywhere`, 'push-anywhere'), 403, 'test.address');
    }
    const { body } = await send(trigger, 'you@elsewhere.test');
    expect(body.detail).toBe(
      'to: a test reaches your own email address and those of team members; any other address requires the permission channel:write',
    );
    expect({ mails: smtp.mails.length, requests: web.seen.length, tests: await countTests() }).toEqual(before);
  });

  test('still reaches the room that the channel itself is set to', async () => {
    expect((await send(trigger, undefined, 'team')).body).toMatchObject({ ok: true, provider: 'slack-webhook' });
    expect((await send(trigger, 'https://elsewhere.test/', 'team')).body).toMatchObject({ ok: true });
    expect(web.seen.at(-1)!.path).toBe('/T/B/c');
  });
});

test('no delivery is stored, and the audit log records the caller', async () => {
  const { deps } = service.runtime;
  expect(await deps.db.selectFrom('deliveries').select('id').execute()).toEqual([]);
  expect(await deps.db.selectFrom('delivery_stats').select('status').execute()).toEqual([]);
  const { body } = await ask({ path: '/api/o/acme/audit/?action=test&noun=channel&path=mail' });
  expect(body[0]).toMatchObject({ actor: { name: 'all' }, after: { to: 'you@acme.test', ok: expect.any(Boolean) } });
});

test('tests of one organization that hang are limited, and leave room for others', async () => {
  const { testSends } = service.runtime.deps;
  const { organization } = (await service.runtime.deps.tenantCache.resolvePath({ org: 'acme' }))!;
  const run = () => ask({ method: 'POST', path: '/api/o/acme/c/hook/test/', body: {} });
  const hold = (id: number) => {
    let held = 0;
    while (testSends.take(id, 1)) held++;
    return () => testSends.release(id, held);
  };
  const freeOther = hold(-1);
  expect((await run()).body).toMatchObject({ ok: true });
  freeOther();
  const freeOwn = hold(organization.id);
  expectProblem(await run(), 429, 'test.limited');
  freeOwn();
  expect((await run()).body).toMatchObject({ ok: true });
});
