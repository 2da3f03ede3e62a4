/** @belfry/client against the real service, also through a network that loses responses. */
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  Belfry,
  BelfryConnectionError,
  BelfryError,
  verifyWebhook,
  type WebhookData,
  WebhookVerificationError,
} from '../../sdk/client/src/index.ts';
import type { Service } from '../../src/app.ts';
import { generateWebhookSecret, type testType, type WebhookType } from '../../src/core/configuration/webhooks.ts';
import { root } from '../support/process.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let belfry: Belfry;
const event = 'shop/web/order-paid';

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  belfry = client({});
});
afterAll(() => service.stop());

function client(options: Partial<ConstructorParameters<typeof Belfry>[0]>): Belfry {
  return new Belfry({ url: service.address, key: tenants.acme.keys.all, organization: 'acme', ...options });
}

const countOccurrences = async () => {
  const { db } = service.runtime.deps;
  const { n } = await db
    .selectFrom('occurrences')
    .select(({ fn }) => fn.countAll<string>().as('n'))
    .where('organization_id', '=', tenants.acme.id)
    .executeTakeFirstOrThrow();
  return Number(n);
};

type Way = (request: IncomingMessage, response: ServerResponse, forward: () => Promise<IncomingMessage>) => void;

/** A proxy between client and service: the first requests are handled by these functions, later ones are forwarded. */
async function network(...ways: Way[]): Promise<{ url: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    seen.push(request);
    const forward = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const { method, headers, url } = request;
        const onward = httpRequest(new URL(url!, service.address), { method, headers }, resolve).on('error', reject);
        request.pipe(onward);
      });
    const way = ways.shift();
    if (way) way(request, response, forward);
    else void forward().then(answer => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** The service handles the request, but the response is lost. */
const loseAnswer: Way = (request, _response, forward) =>
  void forward().then(answer => answer.resume().on('end', () => request.socket.destroy()));
const answerWith =
  (status: number, headers: Record<string, string> = {}): Way =>
  (request, response) =>
    void request.resume().on('end', () => response.writeHead(status, headers).end('a proxy'));

test('files are text: CSV in both directions, and JSON lines', async () => {
  const [list] = await belfry.get('/api/o/{org}/p/{prj}/d/', { path: { prj: 'shop' } });
  const path = { prj: 'shop', pk: list!.id };
  const body = 'email,first_name\nnew@acme.test,New\n';
  const imported = await belfry.post('/api/o/{org}/p/{prj}/d/{pk}/import/', { path, body });
  expect(imported).toMatchObject({ rows: 1 });
  const csv: string = await belfry.get('/api/o/{org}/p/{prj}/d/{pk}/export/', { path });
  expect(csv).toContain('new@acme.test,New');
  const lines: string = await belfry.get('/api/o/{org}/audit/export/', {});
  const entries = lines.trim().split('\n');
  expect(entries.length).toBeGreaterThan(1);
  for (const entry of entries) expect(JSON.parse(entry)).toHaveProperty('action');
});

describe('verifyWebhook', () => {
  const secret = generateWebhookSecret();
  const now = () => new Date(Math.floor(Date.now() / 1_000) * 1_000);
  const body = JSON.stringify({ type: 'webhook.test', timestamp: now().toISOString(), data: { organization: 'acme' } });
  const sign = (key: string, at = now()) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at.getTime() / 1_000),
    'webhook-signature': new Webhook(key).sign('msg_1', at, body),
  });

  test('returns the event of a signed request, also while the secret is rotated', async () => {
    const headers = sign(secret);
    const expected = { id: 'msg_1', ...JSON.parse(body) };
    expect(await verifyWebhook(body, headers, secret)).toEqual(expected);
    expect(await verifyWebhook(Buffer.from(body), new Headers(headers), secret)).toEqual(expected);
    const both = `${sign(generateWebhookSecret())['webhook-signature']} ${headers['webhook-signature']}`;
    expect(await verifyWebhook(body, { ...headers, 'webhook-signature': both }, secret)).toEqual(expected);
  });

  test.for<[string, string, Record<string, string>]>([
    ['another body', `${body} `, sign(secret)],
    ['another secret', body, sign(generateWebhookSecret())],
    ['an old request', body, sign(secret, new Date(now().getTime() - 600_000))],
    ['a request dated ahead', body, sign(secret, new Date(now().getTime() + 600_000))],
    ['another id', body, { ...sign(secret), 'webhook-id': 'msg_2' }],
    ['a time that is no number', body, { ...sign(secret), 'webhook-timestamp': 'now' }],
    ['a signature that is no base64', body, { ...sign(secret), 'webhook-signature': 'v1,%' }],
    ['no headers', body, {}],
  ])('refuses %s', async ([, text, headers]) => {
    await expect(verifyWebhook(text, headers, secret)).rejects.toThrow(WebhookVerificationError);
  });

  test('has data for each type of event', () => {
    const types: Record<WebhookType | typeof testType, true> = {} as Record<keyof WebhookData, true>;
    const reverse: Record<keyof WebhookData, true> = {} as Record<WebhookType | typeof testType, true>;
    expect([types, reverse]).toEqual([{}, {}]);
  });
});

describe('a trigger', () => {
  test('returns the occurrence, with context, options and correlation id', async () => {
    const { occurrence } = await belfry.trigger(
      event,
      { order: 'A-1' },
      { options: { priority: 'urgent' }, correlationId: 'c 1' },
    );
    const found = await belfry.get('/api/o/{org}/occurrence/{identifier}/', { path: { identifier: occurrence } });
    expect(found).toMatchObject({
      event,
      context: { order: 'A-1' },
      options: { priority: 'urgent' },
      correlation_id: 'c 1',
    });
  });

  test('whose responses are lost is stored once', async () => {
    const before = await countOccurrences();
    const { url, seen } = await network(loseAnswer, loseAnswer);
    await client({ url }).trigger(event, { order: 'A-2' });
    expect(await countOccurrences()).toBe(before + 1);
    const keys = seen.map(request => request.headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  });

  test('is a new occurrence with every call, and the same with the same idempotency key', async () => {
    const [one, two] = [await belfry.trigger(event), await belfry.trigger(event)];
    expect(one.occurrence).not.toBe(two.occurrence);
    const own = { idempotencyKey: 'order A-3' };
    expect(await belfry.trigger(event, {}, own)).toEqual(await belfry.trigger(event, {}, own));
    const inOptions = { options: { idempotency_key: 'order A-4' } };
    expect(await belfry.trigger(event, {}, inOptions)).toEqual(await belfry.trigger(event, {}, inOptions));
  });

  test.each([[''], ['web/order-paid'], ['a/b/c/d/e'], ['shop//order-paid']])(
    'of %j is refused before any request',
    async name => {
      await expect(belfry.trigger(name)).rejects.toThrow('is not project/application/event');
    },
  );

  test('may name the organization', async () => {
    const { url, seen } = await network();
    await client({ url, organization: 'globex' }).trigger(`acme/${event}`);
    expect(seen[0]!.url).toBe('/api/o/acme/p/shop/a/web/e/order-paid/trigger/');
    const without = client({ organization: undefined });
    await expect(without.get('/api/o/{org}/', {})).rejects.toThrow('organization: is missing');
  });
});

describe('a retry', () => {
  test.each([502, 503, 504, 500])('follows a %i of a proxy', async status => {
    const { url, seen } = await network(answerWith(status));
    await client({ url }).trigger(event);
    expect(seen).toHaveLength(2);
  });

  test('waits for the time in Retry-After', async () => {
    const { url } = await network(answerWith(429, { 'retry-after': '1' }));
    const began = performance.now();
    await client({ url }).get('/api/system/ping/', {});
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test('stops after the configured number of attempts', async () => {
    const { url, seen } = await network(...Array.from({ length: 9 }, () => answerWith(503)));
    await expect(client({ url, maxRetries: 2 }).trigger(event)).rejects.toThrow(BelfryConnectionError);
    expect(seen).toHaveLength(3);
  });

  test('is not made for a request that may already have been executed', async () => {
    const { url, seen } = await network(loseAnswer);
    const body = { email: 'once@acme.test' };
    await expect(client({ url }).post('/api/o/{org}/u/', { body })).rejects.toThrow(BelfryConnectionError);
    expect(seen).toHaveLength(1);
    expect(await belfry.get('/api/o/{org}/u/{username}/', { path: { username: body.email } })).toMatchObject(body);
  });

  test('stops when the caller aborts', async () => {
    const { url } = await network(answerWith(503, { 'retry-after': '60' }));
    const controller = new AbortController();
    const waiting = client({ url }).trigger(event, {}, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await expect(waiting).rejects.toThrow('enough');
  });

  test('follows a request that times out', { tags: ['sweep'] }, async () => {
    const { url, seen } = await network(() => {});
    await client({ url }).trigger(event, {}, { timeoutMs: 3_000 });
    expect(seen).toHaveLength(2);
  });
});

describe('errors', () => {
  test('have the code, the fields and the request id', async () => {
    const refused = await belfry.post('/api/o/{org}/u/', { body: { email: 'nobody' } }).catch(error => error);
    expect(refused).toBeInstanceOf(BelfryError);
    expect(refused).toMatchObject({ status: 400, code: 'request.invalid', errors: { email: [expect.any(String)] } });
    expect(refused.requestId).toMatch(/^[\da-f-]{36}$/);
    expect([refused.is('request.invalid'), refused.is('user.exists')]).toEqual([true, false]);
  });

  test('are not retried when the request is unauthorized', async () => {
    const { url, seen } = await network();
    await expect(client({ url, key: 'bf_no' }).trigger(event)).rejects.toMatchObject({ status: 401 });
    expect(seen).toHaveLength(1);
  });

  test('report a response that is not from Belfry', async () => {
    const { url } = await network(answerWith(404, { 'content-type': 'text/html' }));
    await expect(client({ url }).get('/api/system/ping/', {})).rejects.toThrow('status 404 is not from Belfry');
  });

  test('report that the server is unreachable', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await new Promise(resolve => gone.once('listening', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise(resolve => gone.close(resolve));
    await expect(client({ url: `http://127.0.0.1:${port}`, maxRetries: 0 }).trigger(event)).rejects.toThrow(
      'ECONNREFUSED',
    );
  });
});

test('lists are read page by page to their end, only from the configured address', async () => {
  const people = Array.from({ length: 7 }, (_, i) => `reader-${i}@acme.test`);
  for (const email of people) await belfry.post('/api/o/{org}/u/', { body: { email } });
  const { url, seen } = await network();
  const found: string[] = [];
  for await (const user of client({ url }).list('/api/o/{org}/u/', { query: { limit: 2 } })) found.push(user.email);
  expect(found.filter(email => email.startsWith('reader-'))).toEqual(people);
  expect(seen.length).toBeGreaterThanOrEqual(4);
  const first = await client({ url })
    .list('/api/o/{org}/u/', { query: { limit: 1 } })
    .next();
  expect(first.value).toMatchObject({ email: found[0] });
});

test('a key is not sent to the target of a redirect', async () => {
  const { url: elsewhere, seen } = await network();
  const { url } = await network(answerWith(302, { location: `${elsewhere}/api/system/ping/` }));
  await expect(client({ url }).get('/api/system/ping/', {})).rejects.toThrow(BelfryConnectionError);
  expect(seen).toEqual([]);
});

test('the package has no dependencies and is below 10 kB minified', async () => {
  const bundle = await rolldown({ input: path.join(root, 'sdk/client/src/index.ts') });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  expect(output[0].imports).toEqual([]);
  expect(output[0].code.length).toBeLessThan(10_000);
});
