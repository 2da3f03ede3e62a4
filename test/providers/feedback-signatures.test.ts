/** Who sent a webhook: each service's signature, forged, altered, replayed and missing. */
import { createHash, createHmac, createPrivateKey, createSign, generateKeyPairSync, sign } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { FeedbackRequest, VerificationTools } from '../../src/core/feedback/event.ts';
import { feedbackReaders } from '../../src/providers/feedback/index.ts';
import { certificate, certificateKey, expiredCertificate } from '../support/certificate.ts';

const now = Date.parse('2026-12-03T10:00:00Z');
const seconds = String(now / 1_000);
const url = 'https://belfry.acme.test/feedback/mail/?a=1';
const secret = 'a secret of the webhook';

interface Sent {
  body: string;
  headers?: Record<string, string | undefined>;
  url?: string;
  contentType?: string;
}

const fetchNothing = () => Promise.reject(new Error('nothing may be fetched'));

function check(name: string, sent: Sent, key = secret, tools: Partial<VerificationTools> = {}) {
  const request: FeedbackRequest = { url, headers: {}, contentType: '', ...sent, bytes: Buffer.from(sent.body) };
  return feedbackReaders[name]!.verify!(request, key, { now, fetchText: fetchNothing, ...tools });
}

const hex = (data: string, key = secret) => createHmac('sha256', key).update(data).digest('hex');
const ofUrl = (fields: string, key = secret) =>
  createHmac('sha1', key)
    .update(url + fields)
    .digest('base64');

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
const svixSecret = `whsec_${Buffer.from('a key of 24 or more bytes').toString('base64')}`;

function token(claims: object, key = secret, head: object = { alg: 'HS256', typ: 'JWT' }): string {
  const text = [head, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `Bearer ${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}
const hashOf = (body: string) => createHash('sha256').update(body).digest('hex');

const mailgunBody = (timestamp: string, key = secret) =>
  JSON.stringify({
    signature: { timestamp, token: 't0ken', signature: hex(`${timestamp}t0ken`, key) },
    'event-data': {},
  });

/** Builds a request as the service signs it, at a time and with a key. */
const signed: Record<string, { key: string; send(key: string, time: string): Sent; hasTime: boolean }> = {
  sendgrid: {
    key: publicKey,
    hasTime: true,
    send: (_, time) => ({
      body: '[{"event":"open"}]',
      headers: {
        'x-twilio-email-event-webhook-timestamp': time,
        'x-twilio-email-event-webhook-signature': sign(
          'sha256',
          Buffer.from(`${time}[{"event":"open"}]`),
          keys.privateKey,
        ).toString('base64'),
      },
    }),
  },
  mailgun: { key: secret, hasTime: true, send: (key, time) => ({ body: mailgunBody(time, key) }) },
  resend: {
    key: svixSecret,
    hasTime: true,
    send: (key, time) => ({
      body: '{"type":"email.sent"}',
      headers: {
        'svix-id': 'msg_1',
        'svix-timestamp': time,
        'svix-signature': `v1,b2xkIHNpZ25hdHVyZQ== ${new Webhook(key).sign('msg_1', new Date(Number(time) * 1_000), '{"type":"email.sent"}')}`,
      },
    }),
  },
  mailersend: {
    key: secret,
    hasTime: false,
    send: key => ({ body: '{"data":{}}', headers: { signature: hex('{"data":{}}', key) } }),
  },
  mailtrap: {
    key: secret,
    hasTime: false,
    send: key => ({ body: '{"events":[]}', headers: { 'mailtrap-signature': hex('{"events":[]}', key) } }),
  },
  mandrill: {
    key: secret,
    hasTime: false,
    send: key => ({
      body: 'mandrill_events=%5B%5D',
      headers: { 'x-mandrill-signature': ofUrl('mandrill_events[]', key) },
    }),
  },
  twilio: {
    key: secret,
    hasTime: false,
    send: key => ({
      body: 'To=%2B15005550006&MessageStatus=sent&AccountSid=AC1',
      headers: { 'x-twilio-signature': ofUrl('AccountSidAC1MessageStatussentTo+15005550006', key) },
    }),
  },
  whatsapp: {
    key: secret,
    hasTime: false,
    send: key => ({ body: '{"entry":[]}', headers: { 'x-hub-signature-256': `sha256=${hex('{"entry":[]}', key)}` } }),
  },
  vonage: {
    key: secret,
    hasTime: true,
    send: (key, time) => ({
      body: '{"status":"read"}',
      headers: { authorization: token({ iat: Number(time), payload_hash: hashOf('{"status":"read"}') }, key) },
    }),
  },
};

describe.each(Object.entries(signed))('%s', (name, { key, send, hasTime }) => {
  const otherKey =
    key === svixSecret ? `whsec_${Buffer.from('another key of many bytes').toString('base64')}` : `${secret}!`;

  test('accepts its own request', async () => {
    expect(await check(name, send(key, seconds), key)).toMatchObject({ ok: true });
  });

  test('refuses a request without a signature', async () => {
    const { body } = send(key, seconds);
    const unsigned = name === 'mailgun' ? { body: '{"event-data":{}}' } : { body };
    expect(await check(name, unsigned, key)).toMatchObject({ ok: false });
  });

  test('refuses a signature of another key', async () => {
    const wrong = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'der', type: 'spki' });
    const expected = name === 'sendgrid' ? wrong.toString('base64') : key;
    expect(await check(name, send(otherKey, seconds), expected)).toMatchObject({ ok: false });
  });

  test('refuses an altered body', async () => {
    // Mailgun signs only its token: the body is protected by TLS alone.
    const request = send(key, seconds);
    const body = name === 'mailgun' ? request.body.replace('t0ken', 't1ken') : `${request.body}&x=1`;
    expect(await check(name, { ...request, body }, key)).toMatchObject({ ok: false });
  });

  test('accepts nothing without a secret', async () => {
    const empty = key === svixSecret || key === publicKey ? send(key, seconds) : send('', seconds);
    expect(await check(name, empty, '')).toMatchObject({ ok: false });
  });

  test(hasTime ? 'refuses a replay, and a time in the future' : 'has no time to check', async () => {
    const day = 86_400;
    if (!hasTime) expect(await check(name, send(key, seconds), key, { now: 0 })).toEqual({ ok: true });
    else
      for (const time of [Number(seconds) - day - 1, Number(seconds) + 301]) {
        expect(await check(name, send(key, String(time)), key)).toMatchObject({ ok: false });
      }
  });
});

describe('Resend', () => {
  test('refuses a request after five minutes, because each attempt is signed separately', async () => {
    expect(
      await check('resend', signed.resend!.send(svixSecret, String(Number(seconds) - 301)), svixSecret),
    ).toMatchObject({ ok: false });
  });
});

describe('Mailgun', () => {
  test('accepts the signature in the fields of a form', async () => {
    const body = new URLSearchParams({
      event: 'opened',
      timestamp: seconds,
      token: 't',
      signature: hex(`${seconds}t`),
    });
    expect(await check('mailgun', { body: body.toString() })).toMatchObject({ ok: true });
  });
});

describe('Vonage', () => {
  test('refuses a token without a signature, whatever it claims', async () => {
    const claims = { iat: Number(seconds), payload_hash: hashOf('{}') };
    const unsigned = token(claims, secret, { alg: 'none' });
    expect(await check('vonage', { body: '{}', headers: { authorization: unsigned } })).toMatchObject({ ok: false });
  });
});

test('twilio signs every different value of a repeated field, in order', () => {
  const body = 'To=%2B1&MediaUrl=https%3A%2F%2Fb.test&MediaUrl=https%3A%2F%2Fa.test&MediaUrl=https%3A%2F%2Fb.test';
  const signature = ofUrl('MediaUrlhttps://a.testMediaUrlhttps://b.testTo+1');
  const contentType = 'application/x-www-form-urlencoded';
  expect(check('twilio', { body, contentType, headers: { 'x-twilio-signature': signature } })).toMatchObject({
    ok: true,
  });
});

describe.each(['twilio', 'mandrill'])('%s', name => {
  test('refuses a request that was signed for another URL', async () => {
    const request = { ...signed[name]!.send(secret, seconds), url: 'https://belfry.acme.test/feedback/other/' };
    expect(await check(name, request)).toMatchObject({ ok: false });
  });
});

describe.each(['postmark', 'brevo', 'sparkpost', 'mailjet'])('%s, which signs nothing', name => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  test('accepts basic authentication, a bearer token, and a token in the URL', async () => {
    expect(
      await check(name, { body: '{}', headers: { authorization: basic('user:pass:word') } }, 'user:pass:word'),
    ).toEqual({ ok: true });
    expect(await check(name, { body: '{}', headers: { authorization: 'Bearer t0ken' } }, 't0ken')).toEqual({
      ok: true,
    });
    expect(await check(name, { body: '{}', url: `${url}&token=t0ken` }, 't0ken')).toEqual({ ok: true });
  });

  test.each([
    ['no credentials', {}, url],
    ['another password', { authorization: basic('user:other') }, url],
    ['a longer password', { authorization: basic('user:passwords') }, url],
    ['another token', { authorization: 'Bearer user:passwor' }, url],
    ['another token in the URL', {}, `${url}&token=other`],
    ['an empty token', {}, `${url}&token=`],
    ['a malformed header', { authorization: 'Basic' }, url],
  ])('refuses %s', async (_, headers, at) => {
    expect(await check(name, { body: '{}', headers, url: at }, 'user:password')).toMatchObject({ ok: false });
    expect(await check(name, { body: '{}', headers, url: at }, '')).toMatchObject({ ok: false });
  });
});

describe('Amazon SNS', () => {
  const topic = 'arn:aws:sns:eu-west-1:123456789012:feedback';
  const certUrl = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem';
  const fieldsOf: Record<string, string[]> = {
    Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
    SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  };

  function message(changes: Record<string, string> = {}, after: Record<string, string | undefined> = {}): Sent {
    const fields: Record<string, string> = {
      Type: 'Notification',
      MessageId: '1',
      TopicArn: topic,
      Message: '{"eventType":"Open"}',
      Timestamp: new Date(now - 1_000).toISOString(),
      SignatureVersion: '2',
      SigningCertURL: certUrl,
      ...changes,
    };
    const text = fieldsOf[fields.Type!]!.filter(name => fields[name] !== undefined).map(
      name => `${name}\n${fields[name]}\n`,
    );
    const digest = fields.SignatureVersion === '1' ? 'sha1' : 'sha256';
    const signature = createSign(digest).update(text.join('')).sign(createPrivateKey(certificateKey), 'base64');
    return { body: JSON.stringify({ ...fields, Signature: signature, ...after }) };
  }

  const tools = { fetchText: async (at: string) => (at === certUrl ? certificate : fetchNothing()) };
  const verify = (sent: Sent, key = topic, more: Partial<VerificationTools> = tools) => check('ses', sent, key, more);

  test.each(['1', '2'])('is accepted with signature version %s, with and without a subject', async SignatureVersion => {
    expect(await verify(message({ SignatureVersion }))).toEqual({ ok: true });
    expect(await verify(message({ SignatureVersion, Subject: 'Amazon SES Event' }))).toEqual({ ok: true });
  });

  test('is accepted when it asks to confirm a subscription, and names the URL to open', async () => {
    const SubscribeURL = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t';
    const sent = message({ Type: 'SubscriptionConfirmation', SubscribeURL, Token: 't' });
    expect(await verify(sent)).toEqual({ ok: true });
    const urlOf = (one: Sent) =>
      feedbackReaders.ses!.confirmationUrl!({ contentType: '', bytes: Buffer.from(one.body) });
    expect(urlOf(sent)).toBe(SubscribeURL);
    expect(urlOf(message())).toBeUndefined();
    const elsewhere = message({ Type: 'SubscriptionConfirmation', SubscribeURL: 'https://sns.evil.test/', Token: 't' });
    expect(urlOf(elsewhere)).toBeUndefined();
  });

  test.each<[what: string, sent: Sent, key?: string]>([
    ['an altered message', message({}, { Message: '{"eventType":"Bounce"}' })],
    ['an added subject', message({}, { Subject: 'x' })],
    ['another topic, though Amazon signed it', message({ TopicArn: 'arn:aws:sns:eu-west-1:999999999999:evil' })],
    ['an old message', message({ Timestamp: new Date(now - 86_400_001).toISOString() })],
    ['a message without a time', message({ Timestamp: 'x' })],
    ['an unknown signature version', message({}, { SignatureVersion: '3' })],
    ['no signature', message({}, { Signature: undefined })],
    ['a signature of the other version', message({ SignatureVersion: '1' }, { SignatureVersion: '2' })],
    ['garbage', { body: 'x' }],
    ['no topic', message({ TopicArn: '' }), ''],
  ])('refuses %s', async (_, sent, key) => {
    if (key !== '') expect(await verify(sent, key)).toMatchObject({ ok: false });
    else expect(await verify(message(), '')).toMatchObject({ ok: false });
  });

  test.each([
    'http://sns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.test/a.pem',
    'https://evil.test/sns.eu-west-1.amazonaws.com/a.pem',
    'https://evil-sns.eu-west-1.amazonaws.com/a.pem',
    'https://s3.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com@evil.test/a.pem',
    'https://user@sns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com:8443/a.pem',
    'https://sns.eu-west-1.amazonaws.com/a.txt',
    'https://sns.eu-west-1.amazonaws.com/a.pem',
    ...[
      's3',
      's3-eu-west-1',
      'eu-west',
      'euwest-1',
      'eu-west-1a',
      'elasticbeanstalk',
      'eu-west-1.elb',
      'cn-north-1',
    ].map(region => `https://sns.${region}.amazonaws.com/SimpleNotificationService-1.pem`),
    'https://sns.eu-west-1.amazonaws.com.cn/SimpleNotificationService-1.pem',
    'x',
  ])('never fetches a certificate from %s', async SigningCertURL => {
    const fetched: string[] = [];
    const fetchText = async (at: string) => {
      fetched.push(at);
      return certificate;
    };
    expect(await verify(message({ SigningCertURL }), topic, { fetchText })).toMatchObject({ ok: false });
    expect(fetched).toEqual([]);
  });

  test.each(['us-east-1', 'us-gov-west-1', 'ap-southeast-10', 'il-central-1', 'mx-central-1'])(
    'accepts a certificate of the region %s',
    async region => {
      const SigningCertURL = `https://sns.${region}.amazonaws.com/SimpleNotificationService-9c6465fa7f48.pem`;
      expect(await verify(message({ SigningCertURL }), topic, { fetchText: async () => certificate })).toEqual({
        ok: true,
      });
    },
  );

  test('accepts a certificate of a region in China', async () => {
    const SigningCertURL = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-9c6465fa7f48.pem';
    expect(await verify(message({ SigningCertURL }), topic, { fetchText: async () => certificate })).toEqual({
      ok: true,
    });
  });

  test('refuses an expired certificate, and one that cannot be fetched or read', async () => {
    for (const fetchText of [async () => expiredCertificate, async () => 'no certificate', fetchNothing]) {
      expect(await verify(message(), topic, { fetchText })).toMatchObject({ ok: false });
    }
  });
});
