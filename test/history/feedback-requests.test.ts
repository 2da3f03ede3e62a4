/** The webhooks of services at the address of a channel, over HTTP. */
import { createHmac, createSign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FeedbackRequest } from '../../src/core/feedback/event.ts';
import { feedbackReaders } from '../../src/providers/feedback/index.ts';
import { providers as allProviders } from '../../src/providers/index.ts';
import { matchLateFeedback } from '../../src/services/history/feedback/feedback.ts';
import { findFeedbackAddress, receiveFeedback, SignedDocuments } from '../../src/services/history/feedback/requests.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { certificate, certificateKey } from '../support/certificate.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let api: HttpPeer;
beforeAll(async () => {
  world = await joinWorld();
  let count = 0;
  api = await openHttpPeer(seen => {
    count++;
    if (seen.path.startsWith('/2010-04-01/')) return { status: 201, body: JSON.stringify({ sid: `SM${count}` }) };
    return { body: JSON.stringify({ MessageID: `m-${count}`, id: `<m-${count}@x.test>` }) };
  });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await api.close();
});

const signingKey = 'key-of-the-webhook';
const accountSid = `AC${'0'.repeat(32)}`;
const providers = () => ({
  postmark: { use: 'postmark', server_token: 't', from: 'a@acme.test', endpoint: api.url },
  mailgun: {
    use: 'mailgun',
    api_key: 'k',
    from: 'a@acme.test',
    endpoint: api.url,
    webhook_secret: signingKey,
  },
  twilio: { use: 'twilio', account_sid: accountSid, auth_token: 'hush', from: '+15555550100', endpoint: api.url },
});

const phone = '+15555550123';

async function tenantWith(name: 'postmark' | 'mailgun' | 'twilio', changes: object = {}): Promise<Tenant> {
  const type = name === 'twilio' ? 'sms' : 'email';
  const user = { email: 'ada@x.test', addresses: [{ name: 'sms', value: phone }] };
  return world.tenant({
    users: [user],
    channels: [{ slug: 'out', name: 'Out', type, providers: [{ ...providers()[name], ...changes }] }],
    notifications: [{ channels: ['out'] }],
  });
}

const detailsOf = async (tenant: Tenant) => (await tenant.ask({ path: `/api/o/${tenant.slug}/c/out/` })).body.feedback;
const addressOf = async (tenant: Tenant): Promise<string> => (await detailsOf(tenant)).addresses[0].url;
const unmatchedOf = async (tenant: Tenant) =>
  (await tenant.ask({ path: `/api/o/${tenant.slug}/feedback/unmatched/` })).body;
const storedOf = async (tenant: Tenant) => (await tenant.ask({ path: `/api/o/${tenant.slug}/feedback/` })).body;

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
  });
  return { status: response.status, body: (await response.json()) as { code?: string } };
}

async function send(tenant: Tenant): Promise<{ id: string; ref: string }> {
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  const [delivery] = await tenant.deliveries(id);
  return { id, ref: `${id}.${delivery!.id}` };
}

const bounce = (ref: string, more: object = {}) => ({
  RecordType: 'Bounce',
  Type: 'HardBounce',
  MessageID: 'm',
  Email: 'ada@x.test',
  Metadata: { belfry_id: ref },
  BouncedAt: '2026-11-17T10:03:00Z',
  Details: '550 5.1.1 no such user',
  ...more,
});

const mailgunBody = (ref: string, key = signingKey) => {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  return {
    signature: { timestamp, token: 't', signature: createHmac('sha256', key).update(`${timestamp}t`).digest('hex') },
    'event-data': {
      event: 'failed',
      severity: 'permanent',
      reason: 'bounce',
      recipient: 'ada@x.test',
      timestamp: Date.now() / 1_000,
      'user-variables': { belfry_id: ref },
      'delivery-status': { code: 550, message: '5.1.1 no such user' },
    },
  };
};

test('a bounce that a service reports reaches the delivery, and a repetition changes nothing', async () => {
  const tenant = await tenantWith('postmark');
  const url = await addressOf(tenant);
  expect(await detailsOf(tenant)).toMatchObject({
    last_received_at: null,
    addresses: [{ service: 'postmark', ready: true }],
  });
  const { id, ref } = await send(tenant);
  for (let i = 0; i < 2; i++) expect((await post(url, bounce(ref))).status).toBe(200);
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
  expect(await storedOf(tenant)).toMatchObject([{ type: 'bounced', occurrence: id, address: 'ada@x.test' }]);
  expect(Date.parse((await detailsOf(tenant)).last_received_at)).toBeGreaterThan(0);
  expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ada@x.test suppressed: address.suppressed']);
});

test('a forged signature is answered with 401, stores nothing, and is shown at the channel', async () => {
  const tenant = await tenantWith('mailgun');
  const url = await addressOf(tenant);
  const { id, ref } = await send(tenant);
  const forged = await post(url, mailgunBody(ref, 'another key'));
  expect([forged.status, forged.body.code]).toEqual([401, 'feedback.refused']);
  expect([await storedOf(tenant), await unmatchedOf(tenant)]).toEqual([[], []]);
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent']);
  expect(await detailsOf(tenant)).toMatchObject({
    last_received_at: null,
    last_refused_at: expect.any(String),
    last_refusal: 'the signature does not match',
  });
  expect((await post(url, mailgunBody(ref))).status).toBe(200);
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
});

test('a signature of Mailgun counts for one body, however often it is used, until it expires', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWith('mailgun');
  const url = await addressOf(tenant);
  const [first, second] = [await send(tenant), await send(tenant)];
  const body = mailgunBody(first.ref);
  for (let i = 0; i < 2; i++) expect((await post(url, body)).status).toBe(200);
  const replayed = await post(url, { ...mailgunBody(second.ref), signature: body.signature });
  expect([replayed.status, replayed.body.code]).toEqual([401, 'feedback.refused']);
  expect(await tenant.outcomes(second.id)).toEqual(['ada@x.test sent']);
  expect((await detailsOf(tenant)).last_refusal).toContain('used for another request');

  const kept = () => tenant.sql(`select from received_signatures where organization_id = ${tenant.id}`);
  const { deps } = world.service.runtime;
  await runMaintenance(deps, Date.now());
  expect(await kept()).toHaveLength(1);
  await runMaintenance(deps, Date.now() + 24 * 3_600_000 + 1_000);
  expect(await kept()).toHaveLength(0);
});

describe('feedback counts only for the channel that received it', () => {
  /** An organization with its own channel, and a second project. */
  async function twoProjects() {
    const tenant = await tenantWith('postmark');
    const base = `/api/o/${tenant.slug}`;
    const create = async (path: string, slug: string, from: string) => {
      const body = { slug, name: slug, type: 'email', providers: [{ ...providers().postmark, from }] };
      const answer = await tenant.ask({ method: 'POST', path: `${base}${path}`, body });
      expect(answer.status, answer.text).toBe(201);
      return answer.body.feedback.addresses[0].url as string;
    };
    const other = await tenant.ask({ method: 'POST', path: `${base}/p/`, body: { slug: 'rival', name: 'Rival' } });
    expect(other.status, other.text).toBe(201);
    return { tenant, create };
  }

  test('a channel of another project, or another domain, fails no delivery and suppresses no address', async () => {
    const { tenant, create } = await twoProjects();
    const { id, ref } = await send(tenant);
    const foreign = [
      await create('/p/rival/c/', 'rivals', 'a@acme.test'),
      await create('/c/', 'elsewhere', 'a@elsewhere.test'),
    ];
    for (const url of foreign) {
      for (const report of [bounce(ref), bounce(ref, { Type: 'SpamComplaint' })]) {
        expect((await post(url, report)).status).toBe(200);
      }
    }
    await matchLateFeedback(world.service.runtime.deps, Date.now());
    expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent']);
    expect(await storedOf(tenant)).toEqual([]);
    expect(await unmatchedOf(tenant)).not.toEqual([]);
    const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/suppressions/` });
    expect(body).toEqual([]);
  });

  test('a channel with the same owner and domain may share the account of the service', async () => {
    const { tenant, create } = await twoProjects();
    const { id, ref } = await send(tenant);
    const url = await create('/c/', 'bulk', 'Bulk <bulk@ACME.test>');
    expect((await post(url, bounce(ref))).status).toBe(200);
    expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
  });

  test('what the channel of a project reports stops the channels of that project only', async () => {
    const { tenant, create } = await twoProjects();
    const base = `/api/o/${tenant.slug}`;
    const { body: projects } = await tenant.ask({ path: `${base}/p/` });
    const own = (projects as { slug: string }[]).find(({ slug }) => slug !== 'rival')!.slug;
    // Precedes the channel of the organization with the same slug.
    const url = await create(`/p/${own}/c/`, 'out', 'a@acme.test');
    const { id, ref } = await send(tenant);
    expect((await post(url, bounce(ref))).status).toBe(200);
    expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
    const { body } = await tenant.ask({ path: `${base}/suppressions/` });
    expect(body).toMatchObject([{ target: 'ada@x.test', projects: [own] }]);
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ada@x.test suppressed: address.suppressed']);
    const testSend = async (path: string) =>
      (await tenant.ask({ method: 'POST', path: `${base}${path}/out/test/`, body: { to: 'ada@x.test' } })).body;
    expect(await testSend(`/p/${own}/c`)).toMatchObject({ ok: false, reason: 'address.suppressed' });
    expect(await testSend('/c')).toMatchObject({ ok: true });
  });
});

test('without its secret, a service that signs is refused', async () => {
  const tenant = await tenantWith('mailgun', { webhook_secret: undefined });
  expect(await detailsOf(tenant)).toMatchObject({ addresses: [{ service: 'mailgun', ready: false }] });
  expect((await post(await addressOf(tenant), mailgunBody('x'))).status).toBe(401);
});

test('credentials in the address of a service that signs nothing are checked if the channel has them', async () => {
  const tenant = await tenantWith('postmark', { webhook_secret: 'user:pass' });
  const url = await addressOf(tenant);
  expect((await post(url, bounce('x'))).status).toBe(401);
  const authorization = `Basic ${Buffer.from('user:pass').toString('base64')}`;
  expect((await post(url, bounce('x'), { authorization })).status).toBe(200);
});

test('a body of 10 MB is answered with 413', async () => {
  const tenant = await tenantWith('postmark');
  const answer = await post(await addressOf(tenant), 'x'.repeat(10_000_000)).catch(() => ({ status: 413 }));
  expect(answer.status).toBe(413);
});

test('a thousand events in one request are all stored', async () => {
  const tenant = await tenantWith('postmark');
  const { ref } = await send(tenant);
  const opens = Array.from({ length: 1_000 }, (_, i) => ({
    RecordType: 'Open',
    MessageID: `m-${i}`,
    Recipient: 'ada@x.test',
    Metadata: { belfry_id: i < 500 ? ref : `x-${i}` },
    ReceivedAt: new Date(Date.UTC(2026, 0, 1) + i * 3_600_000).toISOString(),
  }));
  expect((await post(await addressOf(tenant), opens)).status).toBe(200);
  expect([await storedOf(tenant), await unmatchedOf(tenant)].map(list => list.length)).toEqual([500, 500]);
});

test('an unknown event type is answered with 200 and counted', async () => {
  const tenant = await tenantWith('postmark');
  expect((await post(await addressOf(tenant), { RecordType: 'Holiday' })).status).toBe(200);
  const metrics = await (await fetch(`${world.service.address}/metrics`)).text();
  expect(metrics).toMatch(/^belfry_feedback_events_total\{source="postmark",type="ignored"\} [1-9]/m);
  expect((await post(await addressOf(tenant), '{')).status).toBe(400);
});

test('a status callback of Twilio is verified against the address and matched by the id of the message', async () => {
  const tenant = await tenantWith('twilio');
  const url = await addressOf(tenant);
  await tenant.apply({
    channels: [{ slug: 'out', name: 'Out', type: 'sms', providers: [{ ...providers().twilio, status_callback: url }] }],
    notifications: [{ channels: ['out'] }],
  });
  const { id } = await send(tenant);
  const sent = api.seen.at(-1)!;
  expect(new URLSearchParams(sent.body).get('StatusCallback')).toBe(url);
  const [row] = await tenant.sql<{ sid: string }>(
    'select provider_message_id as sid from deliveries where occurrence_id = $1',
    id,
  );
  const fields = { ErrorCode: '30005', MessageSid: row!.sid, MessageStatus: 'undelivered', To: phone };
  const sign = (key: string) =>
    createHmac('sha1', key)
      .update(url + Object.entries(fields).sort().flat().join(''))
      .digest('base64');
  const headers = (key: string) => ({
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': sign(key),
  });
  const body = new URLSearchParams(fields).toString();
  expect((await post(url, body, headers('another'))).status).toBe(401);
  expect((await post(url, body, headers('hush'))).status).toBe(200);
  expect((await tenant.deliveries(id))[0]).toMatchObject({ status: 'failed', reason: 'bounced' });
});

test('an address exists only with its token and a service of the channel, and is hidden from readers', async () => {
  const tenant = await tenantWith('postmark');
  const url = await addressOf(tenant);
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  for (const wrong of [
    url.replace('postmark', 'sendgrid'),
    url.replace('postmark', 'mail'),
    url.replace(/[0-9a-f]{64}/, '0'.repeat(64)),
  ]) {
    expect((await post(wrong, bounce('x'))).status).toBe(404);
  }
  const key = await tenant.post(`/api/o/${tenant.slug}/k/`, { name: 'reader', permissions: ['channel:read'] });
  const response = await fetch(`${world.service.address}/api/o/${tenant.slug}/c/out/`, {
    headers: { authorization: `Key ${key.body.key}` },
  });
  expect(await response.json()).toMatchObject({ feedback: { addresses: [{ service: 'postmark', url: null }] } });
});

test('every service whose reports can be read has an address, and Meta gets its challenge back', async () => {
  const wired = Object.values(allProviders).map(
    one => one.feedback?.({ webhook_service: 'mandrill' } as never)?.service,
  );
  expect(Object.keys(feedbackReaders).filter(name => name !== 'smtp' && !wired.includes(name))).toEqual([]);
  const url = await addressOf(await tenantWith('postmark'));
  const response = await fetch(`${url}?hub.mode=subscribe&hub.challenge=1158201444`);
  expect([response.status, await response.text()]).toEqual([200, '1158201444']);
  const script = await fetch(`${url}?hub.challenge=${encodeURIComponent('<script>')}`);
  expect(await script.json()).toEqual({ ok: true });
});

test('a bounce mail can be posted to a channel with a mail server', async () => {
  const smtp = { use: 'smtp', host: 'mail.acme.test', from: 'a@acme.test' };
  const tenant = await world.tenant({
    users: ['ada@x.test'],
    channels: [{ slug: 'out', name: 'Out', type: 'email', providers: [smtp] }],
    notifications: [{ channels: ['out'] }],
  });
  const mail = [
    'From: MAILER-DAEMON@mx.test',
    'Subject: Undelivered',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.test',
    '',
    'Final-Recipient: rfc822; ada@x.test',
    'Action: failed',
    'Status: 5.1.1',
    '',
    '--b',
    'Content-Type: message/rfc822',
    '',
    'Message-ID: <m-1@acme.test>',
    '',
    '--b--',
    '',
  ].join('\r\n');
  expect((await post(await addressOf(tenant), mail, { 'content-type': 'message/rfc822' })).status).toBe(200);
  expect(await unmatchedOf(tenant)).toMatchObject([
    { source: 'smtp', type: 'bounced', permanent: true, recipient: 'ada@x.test', message_id: '<m-1@acme.test>' },
  ]);
});

test('a posted mail is read by the threads for mails, in the name of the organization', async () => {
  const smtp = { use: 'smtp', host: 'mail.acme.test', from: 'a@acme.test' };
  const channels = [{ slug: 'out', name: 'Out', type: 'email', providers: [smtp] }];
  const tenant = await world.tenant({ users: ['ada@x.test'], channels, notifications: [{ channels: ['out'] }] });
  const url = await addressOf(tenant);
  const { deps } = world.service.runtime;
  const read: number[] = [];
  const mailReader = {
    async read(organizationId: number) {
      read.push(organizationId);
      return { events: [], paths: [] };
    },
  };
  const address = await findFeedbackAddress(deps, url.split('/').at(-3)!, 'mail');
  const request = { url, contentType: 'message/rfc822', headers: {}, bytes: Buffer.from('Subject: x\r\n\r\n') };
  await receiveFeedback({ ...deps, mailReader }, address!, request, new SignedDocuments(deps.outbound));
  expect(read).toEqual([tenant.id]);
  const unreadable = await post(url, 'no header', { 'content-type': 'message/rfc822' });
  expect(unreadable).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('the body is not a mail') },
  });
});

test('a subscription of Amazon SNS is confirmed once its signature is verified, and other topics are refused', async () => {
  const topic = 'arn:aws:sns:eu-central-1:123456789012:belfry';
  const ses = {
    use: 'ses',
    region: 'eu-central-1',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    secret_access_key: 'k',
    from: 'a@acme.test',
    topic_arn: topic,
  };
  const tenant = await world.tenant({
    users: ['ada@x.test'],
    channels: [{ slug: 'out', name: 'Out', type: 'email', providers: [ses] }],
    notifications: [{ channels: ['out'] }],
  });
  const peer = await openHttpPeer(seen => ({ body: seen.path.endsWith('.pem') ? certificate : 'ok' }));
  const { deps } = world.service.runtime;
  // Amazon's host is answered by a server on loopback.
  const outbound: typeof deps.outbound = {
    ...deps.outbound,
    request: (url, request) => deps.outbound.request(peer.url + new URL(url).pathname, request),
  };
  const [token, service] = new URL(await addressOf(tenant)).pathname.split('/').slice(2) as [string, string];
  const address = (await findFeedbackAddress(deps, token, service))!;
  const receive = (fields: object, more: object = {}) => {
    const message: Record<string, string> = {
      MessageId: '1',
      Timestamp: new Date().toISOString(),
      TopicArn: topic,
      ...fields,
    };
    const text = Object.keys(message)
      .sort()
      .map(name => `${name}\n${message[name]}\n`);
    const Signature = createSign('RSA-SHA256').update(text.join('')).sign(certificateKey, 'base64');
    const SigningCertURL = 'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem';
    const body = JSON.stringify({ ...message, SignatureVersion: '2', Signature, SigningCertURL, ...more });
    const request: FeedbackRequest = { url: '', contentType: 'text/plain', headers: {}, bytes: Buffer.from(body) };
    return receiveFeedback({ ...deps, outbound }, address, request, new SignedDocuments(outbound));
  };
  const subscription = {
    Type: 'SubscriptionConfirmation',
    Message: 'Confirm',
    Token: 't',
    SubscribeURL: 'https://sns.eu-central-1.amazonaws.com/confirm',
  };
  await expect(receive({ ...subscription, TopicArn: `${topic}2` })).rejects.toMatchObject({ code: 'feedback.refused' });
  const elsewhere = { SigningCertURL: 'https://sns.eu-central-1.amazonaws.com.evil.test/cert.pem' };
  await expect(receive(subscription, elsewhere)).rejects.toMatchObject({ code: 'feedback.refused' });
  expect(peer.seen).toEqual([]);
  await receive(subscription);
  expect(peer.seen.map(seen => seen.path)).toEqual(['/SimpleNotificationService-1.pem', '/confirm']);
  const Message = JSON.stringify({
    eventType: 'Bounce',
    bounce: { bounceType: 'Permanent', bouncedRecipients: [{ emailAddress: 'ada@x.test' }] },
    mail: { messageId: 'ses-1' },
  });
  await receive({ Type: 'Notification', Message });
  expect(await unmatchedOf(tenant)).toMatchObject([{ source: 'ses', type: 'bounced', message_id: 'ses-1' }]);
  await peer.close();
});
