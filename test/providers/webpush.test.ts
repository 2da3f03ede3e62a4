/**
 * Web Push as a browser sees it: the body is decrypted by RFC 8291 and RFC 8188 with nothing but the browser's keys, and
 * the sender's signature checked by RFC 8292 with nothing but the public key.
 */
import { verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import type { ButtonChoice } from '../../src/core/message/buttons.ts';
import { generateVapidKeys, vapid } from '../../src/providers/push/webpush/vapid.ts';
import { chatCases, createBrowser, vapidKeys } from '../support/compliance-chat.ts';
import { decryptPush, toPublicKey } from '../support/push-service.ts';
import { openWire } from '../support/wire.ts';

const push = chatCases.vapid;
const wire = openWire();
const browser = createBrowser();

/** Keeps the raw bytes, which are not text. */
const seen: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
const service = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  seen.push({ headers: request.headers, body: Buffer.concat(chunks) });
  response.writeHead(201).end();
});
let origin = '';
beforeAll(async () => {
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
afterAll(() => {
  service.closeAllConnections();
  service.close();
});
beforeEach(() => {
  seen.length = 0;
});

const toAddress = () => browser.subscribe(`${origin}/push/subscription-7`);
const send = async (wish: Parameters<typeof wire.send<typeof vapid.settings>>[1] = {}) => {
  const { outcome } = await wire.send(push, { ...wish, outgoing: { address: toAddress(), ...wish.outgoing } });
  return { outcome, ...seen[0]! };
};

describe('a push message', () => {
  it('can be decrypted by its browser', async () => {
    const { headers, body, outcome } = await send({ content: { text: 'Größe ✓', data: { order: 7 } } });
    expect(outcome).toEqual({ ok: true });
    expect(headers).toMatchObject({ 'content-encoding': 'aes128gcm', 'content-type': 'application/octet-stream' });
    expect(headers['content-length']).toBe(String(body.length));
    expect(JSON.parse(decryptPush(browser, body))).toEqual({
      id: '01890a5d-ac96-774b-bcce-b302099a8057',
      title: 'Order 7 is paid',
      body: 'Größe ✓',
      data: { order: 7 },
      organization: expect.any(String),
    });
  });

  it('has the buttons that fit into a notification, if there is somewhere to post them to', async () => {
    const button = (choice: ButtonChoice, label: string) => ({ choice, label, token: `token ${choice}` });
    const buttons = [button('a', 'Acknowledge'), button('r', 'Resolve'), button('s', 'Snooze 1 h')];
    const interactionUrl = 'https://belfry.test/interactions/f/vapid/';
    const { body } = await send({ outgoing: { buttons, interactionUrl } });
    const actions = [button('a', 'Acknowledge'), button('s', 'Snooze 1 h')];
    expect(JSON.parse(decryptPush(browser, body))).toMatchObject({ actions, respond_url: interactionUrl });
    seen.length = 0;
    const all = [button('b', 'Acknowledge all'), button('a', 'Acknowledge: Disk')];
    const bundle = await send({ outgoing: { buttons: all, interactionUrl } });
    expect(JSON.parse(decryptPush(browser, bundle.body)).actions).toEqual([all[0]]);
    seen.length = 0;
    expect(JSON.parse(decryptPush(browser, (await send({ outgoing: { buttons } })).body))).not.toHaveProperty(
      'actions',
    );
  });

  it('is more urgent than configured if its priority is', async () => {
    expect((await send({ outgoing: { urgent: true } })).headers).toMatchObject({ urgency: 'high' });
  });

  it('is signed by its sender for this push service, for less than a day', async () => {
    const { headers } = await send();
    const [, token = '', key = ''] = /^vapid t=([^,]+), k=(\S+)$/.exec(headers.authorization ?? '') ?? [];
    expect(key).toBe(vapidKeys.public_key);
    const [head = '', claims = '', signature = ''] = token.split('.');
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(read(head)).toEqual({ typ: 'JWT', alg: 'ES256' });
    expect(read(claims)).toEqual({ aud: origin, exp: expect.any(Number), sub: 'mailto:ops@acme.test' });
    const left = read(claims).exp - Date.now() / 1000;
    expect(left > 0 && left <= 24 * 3600).toBe(true);
    const publicKey = toPublicKey(Buffer.from(vapidKeys.public_key, 'base64url'));
    const check = (text: string) =>
      verify(
        'sha256',
        Buffer.from(text),
        { key: publicKey, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      );
    expect([check(`${head}.${claims}`), check(`${head}.${claims}x`)]).toEqual([true, false]);
  });

  it('is kept for a day, or as long as configured', async () => {
    expect((await send()).headers).toMatchObject({ ttl: '86400', urgency: 'normal' });
    seen.length = 0;
    const { headers } = await send({ settings: { ttl_seconds: 0, urgency: 'high' } });
    expect(headers).toMatchObject({ ttl: '0', urgency: 'high' });
  });

  it('replaces only an earlier attempt of itself that was not fetched yet', async () => {
    for (const id of ['one', 'one', 'two']) await send({ outgoing: { id, address: toAddress() } });
    const [first, twin, other] = seen.map(({ headers }) => headers.topic);
    expect(first).toMatch(/^[A-Za-z0-9_-]{1,32}$/);
    expect([twin === first, other === first]).toEqual([true, false]);
  });

  it('is truncated to what every push service accepts', async () => {
    const { body } = await send({ content: { text: '"ü😀\n'.repeat(2000) } });
    expect(body.length).toBeLessThanOrEqual(4096);
    const { body: text } = JSON.parse(decryptPush(browser, body));
    expect(text).toMatch(/^"ü😀\n.*…$/s);
    expect(text.isWellFormed()).toBe(true);
    expect(Buffer.byteLength(text)).toBeGreaterThan(2500);
  });

  it('does not repeat a title that is its first line', async () => {
    const { body } = await send({ content: { title: 'Hello', text: 'Hello\n\nHow are you?' } });
    expect(JSON.parse(decryptPush(browser, body))).toMatchObject({ title: 'Hello', body: 'How are you?' });
    seen.length = 0;
    const other = await send({ content: { title: 'Hello', text: 'Hello Jane' } });
    expect(JSON.parse(decryptPush(browser, other.body))).toMatchObject({ title: 'Hello', body: 'Hello Jane' });
  });

  it('that is too large even without text is refused before it is sent', async () => {
    const { outcome } = await send({ content: { data: 'x'.repeat(4000) } });
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('4 KB') });
    expect(seen).toEqual([]);
  });
});

describe('a subscription', () => {
  it.each([404, 410])('is given up after %d', async status => {
    const { outcome } = await wire.send(push, { reply: { status, body: 'expired' } });
    expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: `${status}: expired` });
  });

  it.each([400, 401, 403, 413])('is kept after %d', async status => {
    const { outcome } = await wire.send(push, { reply: { status, body: 'bad' } });
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: `${status}: bad` });
  });

  const good = JSON.parse(browser.subscribe('http://127.0.0.1:9/x'));
  it.each([
    ['no JSON', 'jane@acme.test'],
    ['a list', '[]'],
    ['nothing', 'null'],
    ['without keys', JSON.stringify({ endpoint: good.endpoint })],
    ['without an endpoint', JSON.stringify({ keys: good.keys })],
    ['at no http address', JSON.stringify({ ...good, endpoint: 'ftp://acme.test/' })],
    ['with a short secret', JSON.stringify({ ...good, keys: { ...good.keys, auth: 'AAAA' } })],
    ['with a key that is no point', JSON.stringify({ ...good, keys: { ...good.keys, p256dh: `B${'A'.repeat(86)}` } })],
  ])('that is %s will never work', async (_, address) => {
    const { outcome } = await send({ outgoing: { address } });
    expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: 'the address is not a push subscription' });
  });
});

describe('keys', () => {
  it('are generated in pairs that are valid settings', () => {
    const keys = generateVapidKeys();
    expect(keys).not.toEqual(generateVapidKeys());
    expect(shapeErrors(vapid.settings, { subject: 'https://acme.test/contact', ...keys })).toEqual([]);
  });

  it('that do not belong together are detected without giving up the address', async () => {
    const { outcome } = await send({ settings: { private_key: generateVapidKeys().private_key } });
    expect(outcome).toEqual({
      ok: false,
      retry: false,
      reason: 'the private key does not belong to the public key',
    });
    expect(seen).toEqual([]);
  });
});
