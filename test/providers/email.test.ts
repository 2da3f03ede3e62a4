import { createHash, createHmac } from 'node:crypto';
import type { Static, TObject } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import { createOutbound, type Outbound } from '../../src/lib/network/outbound.ts';
import { readRetryAfter, toReason } from '../../src/providers/http-outcome.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { Outgoing } from '../../src/providers/sending.ts';
import { type ComplianceCase, exampleOutgoing } from '../support/compliance.ts';
import { emailCases } from '../support/compliance-email.ts';
import { fairNow } from '../support/fair-clock.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from '../support/http-peer.ts';

const { sendgrid, mailgun, mailjet, postmark, resend, ses, brevo, sparkpost, mailersend, mailtrap } = emailCases;
const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const automatic = { 'Auto-Submitted': 'auto-generated' };
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('on the wire', () => {
  let peer: HttpPeer;
  let outbound: Outbound;
  beforeAll(async () => {
    peer = await openHttpPeer();
    outbound = createOutbound({ allow: ['127.0.0.0/8'], timeoutMs: 2_000 });
  });
  afterAll(async () => {
    await outbound.close();
    await peer.close();
  });

  const send = async <S extends TObject>(
    { provider, settings, answers }: { provider: Provider<S> } & Pick<ComplianceCase<S>, 'settings' | 'answers'>,
    { changes = {}, outgoing = {}, reply = answers.accepted as Reply }: Options<S> = {},
  ) => {
    peer.seen.length = 0;
    peer.reply = reply;
    const sender = provider.open({ ...settings(peer.url), ...changes }, { outbound });
    const outcome = await sender.send(exampleOutgoing(outgoing));
    return { outcome, seen: peer.seen[0] as RecordedRequest };
  };
  const plain: Partial<Outgoing> = { content: { title: 'T', text: 'only text', missing: [] } };

  it('sendgrid receives a v3 mail/send request', async () => {
    const { seen } = await send(sendgrid, { changes: { reply_to: 'Help <help@acme.test>' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/v3/mail/send']);
    expect(seen.headers).toMatchObject({
      authorization: 'Bearer SG.hush.hush-hush',
      'content-type': 'application/json',
    });
    expect(JSON.parse(seen.body)).toEqual({
      personalizations: [{ to: [{ email: 'jane@acme.test' }], custom_args: { belfry_id: id } }],
      from: { email: 'no-reply@acme.test', name: 'Acme' },
      reply_to: { email: 'help@acme.test', name: 'Help' },
      subject: 'Order 7 is paid',
      content: [
        { type: 'text/plain', value: 'Hello Jane' },
        { type: 'text/html', value: '<p>Hello <b>Jane</b></p>' },
      ],
      categories: ['acme', 'order-paid', 'Receipt, by mail'],
      headers: { 'Message-ID': `<${id}@acme.test>`, ...automatic },
    });
  });

  it('sparkpost receives braces that it does not replace', async () => {
    const { seen } = await send(sparkpost, { outgoing: { content: { title: '{{x}}', text: '{{{y', missing: [] } } });
    expect(JSON.parse(seen.body).content).toMatchObject({
      subject: '{{opening_double_curly()}}x}}',
      text: '{{opening_double_curly()}}{y',
    });
  });

  const variables =
    '{{ a }} {% b %} {# c #} {$d} [[e]] %recipient.f% %unsubscribe_url% {{{ pm:unsubscribe }}} 100 % {}';
  const replaced = {
    brevo: /\{\{|\{%|\{#/,
    mailersend: /\{\{|\{%|\{#|\{\$/,
    sparkpost: /\{\{(?!opening_double_curly\(\)\}\})/,
    mailjet: /\[\[/,
    mailgun: /%(recipient|unsubscribe)[\w.]*%/,
    postmark: /\{\{\{\s*pm:/,
  };

  it.each(Object.entries(replaced))(
    '%s receives no variable that it would replace, and shows the same',
    async (name, pattern) => {
      const content = { title: variables, text: variables, html: `<p>${variables}</p>`, missing: [] };
      const { seen } = await send(emailCases[name as 'brevo'], { outgoing: { content } });
      const isForm = name === 'mailgun';
      const body = isForm ? seen.body : JSON.stringify(JSON.parse(seen.body));
      expect(body).not.toMatch(pattern);
      if (name === 'sparkpost') return;
      const shown = body.replaceAll('\u2060', '').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
      expect(shown.split(variables)).toHaveLength(4);
    },
  );

  it.each(['sendgrid', 'resend', 'ses', 'mailtrap'] as const)(
    '%s replaces nothing, and receives the text as it is',
    async name => {
      const content = { title: variables, text: variables, html: `<p>${variables}</p>`, missing: [] };
      const { seen } = await send(emailCases[name] as typeof emailCases.resend, { outgoing: { content } });
      expect(seen.body.split(variables)).toHaveLength(4);
    },
  );

  it('brevo, sparkpost, mailersend and mailtrap receive one-click unsubscribe', async () => {
    const outgoing = { unsubscribeUrl: 'https://b.test/u' };
    const headers = {
      ...automatic,
      'List-Unsubscribe': '<https://b.test/u>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    };
    expect(JSON.parse((await send(brevo, { outgoing })).seen.body).headers).toMatchObject(headers);
    expect(JSON.parse((await send(sparkpost, { outgoing })).seen.body)).toMatchObject({
      content: { headers },
      options: { transactional: false },
    });
    expect(JSON.parse((await send(mailersend, { outgoing })).seen.body).list_unsubscribe).toBe('<https://b.test/u>');
    expect(JSON.parse((await send(mailtrap, { outgoing })).seen.body).headers).toEqual(headers);
  });

  it.each([brevo, mailgun, mailtrap, postmark, resend, sendgrid, ses, sparkpost])(
    '$provider.name receives the list of the category',
    async suite => {
      const { seen } = await send(suite as unknown as ComplianceCase, { outgoing: { category: 'news' } });
      expect(seen.body).toMatch(/List-Id.{0,20}<news\.acme\.acme\.test>/s);
      expect(seen.body).toContain('Auto-Submitted');
    },
  );

  it('mailjet receives no list, which it would refuse', async () => {
    const { seen } = await send(mailjet, { outgoing: { category: 'news' } });
    expect(JSON.parse(seen.body).Messages[0].Headers).toEqual(automatic);
  });

  it('sendgrid receives no empty part and no duplicate tag', async () => {
    const tags = { organization: 'same', event: 'same', notification: 'other' };
    const { seen } = await send(sendgrid, { outgoing: { ...plain, tags } });
    expect(JSON.parse(seen.body)).toMatchObject({
      content: [{ type: 'text/plain', value: 'only text' }],
      categories: ['same', 'other'],
    });
    const empty = await send(sendgrid, { outgoing: { content: { title: 'T', text: '', missing: [] } } });
    expect(JSON.parse(empty.seen.body).content).toEqual([{ type: 'text/plain', value: ' ' }]);
  });

  it('mailgun receives a form at the sender’s domain', async () => {
    const { seen } = await send(mailgun, { changes: { reply_to: 'help@acme.test' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/v3/acme.test/messages']);
    expect(seen.headers.authorization).toBe(basic('api:key-hush-hush'));
    const form = await new Response(seen.body, {
      headers: { 'content-type': seen.headers['content-type']! },
    }).formData();
    expect([...form.entries()]).toEqual([
      ['from', 'Acme <no-reply@acme.test>'],
      ['to', 'jane@acme.test'],
      ['subject', 'Order 7 is paid'],
      ['text', 'Hello Jane'],
      ['html', '<p>Hello <b>Jane</b></p>'],
      ['h:Reply-To', 'help@acme.test'],
      ['h:Message-Id', `<${id}@acme.test>`],
      ['h:Auto-Submitted', 'auto-generated'],
      ['v:belfry_id', id],
      ['o:tag', 'acme'],
      ['o:tag', 'order-paid'],
      ['o:tag', 'Receipt_by_mail'],
    ]);
    const other = await send(mailgun, { changes: { domain: 'mg.acme.test' } });
    expect(other.seen.path).toBe('/v3/mg.acme.test/messages');
  });

  it('mailjet receives a v3.1 send request', async () => {
    const { seen } = await send(mailjet, { changes: { reply_to: 'help@acme.test' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/v3.1/send']);
    expect(seen.headers).toMatchObject({
      authorization: basic('hush-key-1:hush-secret'),
      'content-type': 'application/json',
    });
    expect(JSON.parse(seen.body)).toEqual({
      Messages: [
        {
          From: { Email: 'no-reply@acme.test', Name: 'Acme' },
          To: [{ Email: 'jane@acme.test' }],
          ReplyTo: { Email: 'help@acme.test' },
          Subject: 'Order 7 is paid',
          TemplateLanguage: false,
          TextPart: 'Hello Jane',
          HTMLPart: '<p>Hello <b>Jane</b></p>',
          Headers: automatic,
          CustomID: id,
          EventPayload: '{"organization":"acme","event":"order-paid","notification":"Receipt, by mail"}',
        },
      ],
    });
  });

  it('mailjet can refuse a message in a 200 response', async () => {
    const inside = (StatusCode: number) => ({
      body: JSON.stringify({ Messages: [{ Status: 'error', Errors: [{ StatusCode, ErrorMessage: 'not so' }] }] }),
    });
    const { outcome } = await send(mailjet, { reply: inside(400) });
    expect(outcome).toEqual({ ok: false, retry: false, reason: '200: not so' });
    expect((await send(mailjet, { reply: inside(500) })).outcome).toMatchObject({ ok: false, retry: true });
    const global = { status: 401, body: '{"StatusCode":401,"ErrorMessage":"API key authentication failure"}' };
    expect((await send(mailjet, { reply: global })).outcome).toMatchObject({
      retry: false,
      reason: '401: API key authentication failure',
    });
  });

  it('postmark receives an email', async () => {
    const changes = { reply_to: 'Help <help@acme.test>', message_stream: 'broadcasts' };
    const { seen } = await send(postmark, { changes });
    expect([seen.method, seen.path]).toEqual(['POST', '/email']);
    expect(seen.headers).toMatchObject({
      'x-postmark-server-token': 'hush-token',
      'content-type': 'application/json',
      accept: 'application/json',
    });
    expect(JSON.parse(seen.body)).toEqual({
      From: 'Acme <no-reply@acme.test>',
      To: 'jane@acme.test',
      ReplyTo: 'Help <help@acme.test>',
      Subject: 'Order 7 is paid',
      TextBody: 'Hello Jane',
      HtmlBody: '<p>Hello <b>Jane</b></p>',
      Tag: 'order-paid',
      Metadata: { belfry_id: id, organization: 'acme', notification: 'Receipt, by mail' },
      Headers: [
        { Name: 'Message-ID', Value: `<${id}@acme.test>` },
        { Name: 'X-PM-KeepID', Value: 'true' },
        { Name: 'Auto-Submitted', Value: 'auto-generated' },
      ],
      MessageStream: 'broadcasts',
    });
  });

  it('resend receives an email with an idempotency key', async () => {
    const { seen } = await send(resend, { changes: { reply_to: 'help@acme.test' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/emails']);
    expect(seen.headers).toMatchObject({
      authorization: 'Bearer re_hush_hush',
      'content-type': 'application/json',
      'idempotency-key': id,
    });
    expect(JSON.parse(seen.body)).toEqual({
      from: 'Acme <no-reply@acme.test>',
      to: ['jane@acme.test'],
      reply_to: 'help@acme.test',
      subject: 'Order 7 is paid',
      text: 'Hello Jane',
      html: '<p>Hello <b>Jane</b></p>',
      headers: automatic,
      tags: [
        { name: 'organization', value: 'acme' },
        { name: 'event', value: 'order-paid' },
        { name: 'notification', value: 'Receipt_by_mail' },
        { name: 'belfry_id', value: id.replace('.', '_') },
      ],
    });
    const again = await send(resend, { changes: { reply_to: 'help@acme.test' } });
    expect(again.seen.body).toBe(seen.body);
  });

  it('resend is retried while the same message is in flight, but not after a conflicting one', async () => {
    const conflict = (name: string) => ({ status: 409, body: JSON.stringify({ statusCode: 409, name, message: 'm' }) });
    const now = await send(resend, { reply: conflict('concurrent_idempotent_requests') });
    expect(now.outcome).toMatchObject({ ok: false, retry: true });
    const other = await send(resend, { reply: conflict('invalid_idempotent_request') });
    expect(other.outcome).toMatchObject({ ok: false, retry: false });
  });

  it('ses receives a signed v2 outbound email', async () => {
    const changes = { reply_to: 'help@acme.test', configuration_set: 'set-1' };
    const { seen } = await send(ses, { changes });
    expect([seen.method, seen.path]).toEqual(['POST', '/v2/email/outbound-emails']);
    expect(seen.headers).toMatchObject({
      'content-type': 'application/json',
      'x-amz-security-token': 'hush-session',
    });
    expect(JSON.parse(seen.body)).toEqual({
      FromEmailAddress: '"Acme" <no-reply@acme.test>',
      Destination: { ToAddresses: ['jane@acme.test'] },
      ReplyToAddresses: ['help@acme.test'],
      Content: {
        Simple: {
          Subject: { Data: 'Order 7 is paid', Charset: 'UTF-8' },
          Headers: [{ Name: 'Auto-Submitted', Value: 'auto-generated' }],
          Body: {
            Text: { Data: 'Hello Jane', Charset: 'UTF-8' },
            Html: { Data: '<p>Hello <b>Jane</b></p>', Charset: 'UTF-8' },
          },
        },
      },
      EmailTags: [
        { Name: 'organization', Value: 'acme' },
        { Name: 'event', Value: 'order-paid' },
        { Name: 'notification', Value: 'Receipt_by_mail' },
        { Name: 'belfry_id', Value: id },
      ],
      ConfigurationSetName: 'set-1',
    });
    expect(seen.headers.authorization).toBe(sign(seen, 'AKIAEXAMPLEEXAMPLE', 'hush/hush+hush', 'eu-central-1'));
  });

  it('ses receives names in ASCII', async () => {
    const { seen } = await send(ses, { changes: { from: 'Glöckner <bell@acme.test>' } });
    expect(JSON.parse(seen.body).FromEmailAddress).toBe('=?UTF-8?B?R2zDtmNrbmVy?= <bell@acme.test>');
  });

  it('ses can throttle with a 400', async () => {
    const headers = { 'x-amzn-errortype': 'ThrottlingException' };
    const { outcome } = await send(ses, { reply: { status: 400, headers, body: '{"message":"Rate exceeded"}' } });
    expect(outcome).toEqual({ ok: false, retry: true, reason: '400: Rate exceeded' });
  });

  it('a redirect is not a success', async () => {
    const { outcome } = await send(resend, { reply: { status: 302, headers: { location: 'https://else.test' } } });
    expect(outcome).toEqual({ ok: false, retry: false, reason: '302: redirects are not followed' });
  });

  it('a tenant’s own timeout applies', async () => {
    const before = fairNow();
    const { outcome } = await send(postmark, { changes: { timeout_ms: 100 }, reply: 'hang' });
    expect(outcome).toMatchObject({ ok: false, retry: true, unknown: true });
    expect(fairNow() - before).toBeLessThan(1_500);
  });
});

interface Options<S extends TObject> {
  changes?: Partial<Static<S>>;
  outgoing?: Partial<Outgoing>;
  reply?: Reply;
}

/** Computes Amazon's signature from its specification rather than with the library under test. */
function sign({ method, path, headers, body }: RecordedRequest, key: string, secret: string, region: string): string {
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (by: string | Buffer, text: string) => createHmac('sha256', by).update(text).digest();
  const names = ['host', 'x-amz-date', 'x-amz-security-token'];
  const listed = names.map(name => `${name}:${headers[name]}\n`).join('');
  const canonical = [method, path, '', listed, names.join(';'), sha(body)].join('\n');
  const time = headers['x-amz-date'] as string;
  const scope = [time.slice(0, 8), region, 'ses', 'aws4_request'].join('/');
  const text = ['AWS4-HMAC-SHA256', time, scope, sha(canonical)].join('\n');
  const signing = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const signature = hmac(signing, text).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=${key}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
}

describe('settings', () => {
  const endpoints = ['https://api.test', 'http://127.0.0.1:80/base/', 'https://user:hush@api.test', 'ftp://api.test'];
  it.each(Object.entries(emailCases))('%s keeps its keys secret and its endpoint free of them', (_, suite) => {
    const { settings, secrets, provider } = suite as unknown as ComplianceCase;
    const given = settings('https://api.test') as Record<string, string>;
    const hidden = Object.keys(given).filter(field => secrets.includes(given[field]!));
    for (const field of hidden) expect(provider.settings.properties[field]).toMatchObject({ secret: true });
    expect(hidden.length).toBeGreaterThan(0);
    const wrong = endpoints.map(endpoint => shapeErrors(provider.settings, { ...given, endpoint }).length > 0);
    expect(wrong).toEqual([false, false, true, true]);
    for (const [field, schema] of Object.entries(provider.settings.properties)) {
      expect((schema as { description?: string }).description, field).toBeTruthy();
    }
  });
});

describe('a response', () => {
  const now = Date.parse('2030-01-01T00:00:00Z');
  it.each([
    ['7', 7],
    ['0', 0],
    ['1.2', 2],
    ['Tue, 01 Jan 2030 00:01:30 GMT', 90],
    ['Tue, 01 Jan 2019 00:00:00 GMT', 0],
    ['999999999', 86_400],
    ['soon', undefined],
    ['-5', undefined],
    [undefined, undefined],
  ])('Retry-After: %s is %s seconds', (value, seconds) => {
    expect(readRetryAfter(value, now)).toBe(seconds);
  });

  it('has its secrets removed before it is truncated, so that no part of one is left', () => {
    const reason = toReason(`${'x'.repeat(290)} hush-hush-hush`, ['hush-hush-hush']);
    expect(reason).not.toContain('hush');
    expect(reason.length).toBeLessThanOrEqual(300);
  });
});
