/** @belfry/client against the real service, also through a network that loses answers. */
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
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Belfry, BelfryConnectionError, BelfryError } from '../sdk/client/src/index.ts';
import type { Service } from '../src/app.ts';
import { testService } from './support/database.ts';
import { root } from './support/process.ts';
import { buildTenants, type Tenants } from './support/tenants.ts';

let service: Service;
let tenants: Tenants;
let belfry: Belfry;
const event = 'shop/web/order-paid';

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  tenants = await buildTenants(service.runtime.deps);
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

/** Between the client and the service: the first requests go these ways, later ones straight through. */
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

/** The service has done it, and nobody hears of it. */
const loseAnswer: Way = (request, _response, forward) =>
  void forward().then(answer => answer.resume().on('end', () => request.socket.destroy()));
const answerWith =
  (status: number, headers: Record<string, string> = {}): Way =>
  (request, response) =>
    void request.resume().on('end', () => response.writeHead(status, headers).end('a proxy'));

describe('a trigger', () => {
  test('gives the occurrence, with context, options and correlation id', async () => {
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

  test('whose answers are lost is stored once', async () => {
    const before = await countOccurrences();
    const { url, seen } = await network(loseAnswer, loseAnswer);
    await client({ url }).trigger(event, { order: 'A-2' });
    expect(await countOccurrences()).toBe(before + 1);
    const keys = seen.map(request => request.headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  });

  test('is another one with every call, and the same with the same key', async () => {
    const [one, two] = [await belfry.trigger(event), await belfry.trigger(event)];
    expect(one.occurrence).not.toBe(two.occurrence);
    const own = { idempotencyKey: 'order A-3' };
    expect(await belfry.trigger(event, {}, own)).toEqual(await belfry.trigger(event, {}, own));
    const inOptions = { options: { idempotency_key: 'order A-4' } };
    expect(await belfry.trigger(event, {}, inOptions)).toEqual(await belfry.trigger(event, {}, inOptions));
  });

  test.each([[''], ['web/order-paid'], ['a/b/c/d/e'], ['shop//order-paid']])('of %j is refused at once', async name => {
    await expect(belfry.trigger(name)).rejects.toThrow('is not project/application/event');
  });

  test('may name the organization', async () => {
    const { url, seen } = await network();
    await client({ url, organization: 'globex' }).trigger(`acme/${event}`);
    expect(seen[0]!.url).toBe('/api/o/acme/p/shop/a/web/e/order-paid/trigger/');
    const without = client({ organization: undefined });
    await expect(without.get('/api/o/{org}/', {})).rejects.toThrow('organization: is missing');
  });
});

describe('trying again', () => {
  test.each([502, 503, 504, 500])('after %i of a proxy', async status => {
    const { url, seen } = await network(answerWith(status));
    await client({ url }).trigger(event);
    expect(seen).toHaveLength(2);
  });

  test('waits for as long as it is told to', async () => {
    const { url } = await network(answerWith(429, { 'retry-after': '1' }));
    const began = performance.now();
    await client({ url }).get('/api/system/ping/', {});
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test('ends after as many attempts as are wanted', async () => {
    const { url, seen } = await network(...Array.from({ length: 9 }, () => answerWith(503)));
    await expect(client({ url, maxRetries: 2 }).trigger(event)).rejects.toThrow(BelfryConnectionError);
    expect(seen).toHaveLength(3);
  });

  test('is not done with what may have been done already', async () => {
    const { url, seen } = await network(loseAnswer);
    const body = { email: 'once@acme.test' };
    await expect(client({ url }).post('/api/o/{org}/u/', { body })).rejects.toThrow(BelfryConnectionError);
    expect(seen).toHaveLength(1);
    expect(await belfry.get('/api/o/{org}/u/{username}/', { path: { username: body.email } })).toMatchObject(body);
  });

  test('ends when the caller has had enough', async () => {
    const { url } = await network(answerWith(503, { 'retry-after': '60' }));
    const controller = new AbortController();
    const waiting = client({ url }).trigger(event, {}, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 100);
    await expect(waiting).rejects.toThrow('enough');
  });

  test('gives up a request that takes too long', async () => {
    const { url, seen } = await network(() => {});
    await client({ url }).trigger(event, {}, { timeoutMs: 3_000 });
    expect(seen).toHaveLength(2);
  });
});

describe('errors', () => {
  test('have the code, the fields and the id of the request', async () => {
    const refused = await belfry.post('/api/o/{org}/u/', { body: { email: 'nobody' } }).catch(error => error);
    expect(refused).toBeInstanceOf(BelfryError);
    expect(refused).toMatchObject({ status: 400, code: 'request.invalid', errors: { email: [expect.any(String)] } });
    expect(refused.requestId).toMatch(/^[\da-f-]{36}$/);
    expect([refused.is('request.invalid'), refused.is('user.exists')]).toEqual([true, false]);
  });

  test('name what is unauthorized, and are not tried again', async () => {
    const { url, seen } = await network();
    await expect(client({ url, key: 'bf_no' }).trigger(event)).rejects.toMatchObject({ status: 401 });
    expect(seen).toHaveLength(1);
  });

  test('tell when something else answers', async () => {
    const { url } = await network(answerWith(404, { 'content-type': 'text/html' }));
    await expect(client({ url }).get('/api/system/ping/', {})).rejects.toThrow('not Belfry answered with status 404');
  });

  test('tell when nobody answers', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await new Promise(resolve => gone.once('listening', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise(resolve => gone.close(resolve));
    await expect(client({ url: `http://127.0.0.1:${port}`, maxRetries: 0 }).trigger(event)).rejects.toThrow(
      'ECONNREFUSED',
    );
  });
});

test('lists are read page by page, to their end, from the address that the client knows', async () => {
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

test('a key follows no redirect', async () => {
  const { url: elsewhere, seen } = await network();
  const { url } = await network(answerWith(302, { location: `${elsewhere}/api/system/ping/` }));
  await expect(client({ url }).get('/api/system/ping/', {})).rejects.toThrow(BelfryConnectionError);
  expect(seen).toEqual([]);
});

test('has no dependency, and is below 10 kB minified', async () => {
  const bundle = await rolldown({ input: path.join(root, 'sdk/client/src/index.ts') });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  expect(output[0].imports).toEqual([]);
  expect(output[0].code.length).toBeLessThan(10_000);
});
