/** Trying out a channel or a notification really sends one message, and tells what the provider said. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { applyConfiguration } from '../src/services/declarative.ts';
import { createKey } from '../src/services/keys.ts';
import { type Ask, asker, expectProblem } from './support/api.ts';
import { testService } from './support/database.ts';
import { closedUrl, type HttpPeer, openHttpPeer } from './support/http-peer.ts';
import { openSmtpPeer, type SmtpPeer } from './support/smtp.ts';

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
  test('sends a mail to the address, and says what the server called it', async () => {
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

  test('tells the real answer of a provider that refuses', async () => {
    smtp.fault = { rcpt: '550 5.1.1 nobody here' };
    const answer = await tryOut('mail', { to: 'you@acme.test' });
    smtp.fault = undefined;
    expect(answer.body).toMatchObject({ ok: false, provider: 'smtp', reason: 'provider.failed', message_id: null });
    expect(answer.body.detail).toContain('nobody here');
  });

  test('that cannot be reached says so', async () => {
    const { body } = await tryOut('gone', {});
    expect(body).toMatchObject({
      ok: false,
      reason: 'provider.failed',
      detail: expect.stringMatching(/connect|refused/i),
    });
  });

  test('tells the status and at most 200 characters of whatever a server answers', async () => {
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

  test('with a place of its own needs no address, any other does', async () => {
    expect((await tryOut('hook')).body).toMatchObject({ ok: true, provider: 'standard-webhooks' });
    expect(JSON.parse(web.seen.at(-1)!.body).title).toBe('A test from Belfry');
    expect((await tryOut('team')).body).toMatchObject({ ok: true, provider: 'slack-webhook' });
    expect(web.seen.at(-1)!.path).toBe('/T/B/c');
    expectProblem(await tryOut('mail', {}), 400, 'request.invalid', ['to']);
    expectProblem(await tryOut('mail', { to: 'you' }), 400, 'request.invalid', ['to']);
  });

  test('tries the provider that is asked for', async () => {
    const { body } = await tryOut('mail', { to: 'you@acme.test', provider: 1 });
    expect(body).toMatchObject({ ok: true, provider: 'sandbox', detail: 'a sandbox sends nothing' });
    expectProblem(await tryOut('mail', { to: 'you@acme.test', provider: 2 }), 400, 'request.invalid', ['provider']);
    expect((await tryOut('none', { to: 'you@acme.test' })).body).toMatchObject({
      ok: false,
      reason: 'channel.unusable',
    });
  });

  test('refuses words with a mistake before anything is sent', async () => {
    const before = smtp.mails.length;
    expectProblem(await tryOut('mail', { to: 'you@acme.test', body: '{{' }), 400, 'template.invalid', ['body']);
    expect(smtp.mails.length).toBe(before);
  });
});

describe('where no private network is allowed', () => {
  test('a channel is refused alike whether somebody listens or not, and is told what would allow it', async () => {
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
        `${host} is a private or reserved address, not to be reached: allow its network with BELFRY_OUTBOUND_ALLOW, such as ` +
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

  test('sends its message to the address, filter or no filter', async () => {
    const body = { to: 'you@acme.test', channel: 'mail', context: { order: 'A-1' } };
    expect((await ask({ method: 'POST', path, body })).body).toMatchObject({ ok: true, provider: 'smtp' });
    expect(smtp.mails.at(-1)).toMatchObject({ to: ['you@acme.test'], headers: { subject: 'Order A-1' } });
    expect(smtp.mails.at(-1)!.raw).toContain('For Jane at you@acme.test');
  });

  test('that gathers is sent as a digest of the one context', async () => {
    const body = { to: 'you@acme.test', channel: 'mail', context: { order: 'A-1' } };
    expect((await ask({ method: 'POST', path: digestPath, body })).body).toMatchObject({ ok: true, provider: 'smtp' });
    expect(smtp.mails.at(-1)).toMatchObject({ headers: { subject: '1 new' } });
    expect(smtp.mails.at(-1)!.raw).toContain('Order A-1');
  });

  test('that cannot be written says why, and sends nothing', async () => {
    const before = web.seen.length;
    const { body } = await ask({ method: 'POST', path, body: { channel: 'hook' } });
    expect(body).toMatchObject({ ok: false, reason: 'template.failed', detail: expect.stringContaining('hook') });
    expect(web.seen.length).toBe(before);
  });

  test('is refused with what is wrong', async () => {
    expectProblem(await ask({ method: 'POST', path, body: {} }), 400, 'request.invalid', ['channel']);
    expectProblem(await ask({ method: 'POST', path, body: { channel: 'fax' } }), 400, 'request.invalid', ['channel']);
    expectProblem(await ask({ method: 'POST', path, body: { channel: 'mail' } }), 400, 'request.invalid', ['to']);
    const body = { channel: 'mail', to: 'you@acme.test', user: 'nobody@acme.test' };
    expectProblem(await ask({ method: 'POST', path, body }), 400, 'request.invalid', ['user']);
  });
});

test('nothing is kept as a delivery, and the audit log knows who tried', async () => {
  const { deps } = service.runtime;
  expect(await deps.db.selectFrom('deliveries').select('id').execute()).toEqual([]);
  expect(await deps.db.selectFrom('delivery_stats').select('status').execute()).toEqual([]);
  const { body } = await ask({ path: '/api/o/acme/audit/?action=test&noun=channel&path=mail' });
  expect(body[0]).toMatchObject({ actor: { name: 'all' }, after: { to: 'you@acme.test', ok: expect.any(Boolean) } });
});
