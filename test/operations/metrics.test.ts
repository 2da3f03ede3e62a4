/** Access to the Prometheus metrics, next to the API and on their own port. */
import { request } from 'node:http';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { sendError } from '../../src/http/server/errors.ts';
import { registerMetrics } from '../../src/http/server/metrics/metrics.ts';
import { testService } from '../support/database.ts';

const token = 'a token of many letters'.replaceAll(' ', '-');
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

/** Sends any method, including those that fetch rejects. */
function send(method: string, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { method }, response => {
      response.resume().on('end', () => resolve(response.statusCode!));
    })
      .on('error', reject)
      .end();
  });
}

describe('metrics next to the API', () => {
  let service: Service;
  beforeAll(async () => {
    service = await testService({ BELFRY_ROLE: 'api' });
  });
  afterAll(() => service.stop());

  const labels = async (name: string) => {
    const text = await (await fetch(`${service.address}/metrics`)).text();
    const lines = text.matchAll(/^belfry_http_requests_total\{(.*)\} \d+$/gm);
    return new Set([...lines].map(([, all]) => new RegExp(`${name}="([^"]*)"`).exec(all!)![1]));
  };

  test('are open without a token on a loopback address', async () => {
    const answer = await fetch(`${service.address}/metrics`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    expect(await answer.text()).toContain('belfry_triggers_waiting 0');
  });

  test('are read once for all requests within a second', async () => {
    const read = async () => (await fetch(`${service.address}/metrics`)).text();
    const [first, ...others] = await Promise.all([read(), read(), read()]);
    expect(new Set([...others, await read()])).toEqual(new Set([first]));
    await expect.poll(read, { timeout: 5_000 }).not.toBe(first);
  });

  test('count unknown paths under one route, and unknown methods as other', async () => {
    for (let i = 0; i < 20; i++) await fetch(`${service.address}/nowhere/${i}`);
    for (const method of ['PROPFIND', 'MKCOL', 'PURGE', 'LOCK']) await send(method, `${service.address}/api/o/acme/`);
    for (const method of ['REPORT', 'SEARCH']) await send(method, `${service.address}/nowhere/`);
    await expect.poll(async () => [...(await labels('method'))].sort(), { timeout: 5_000 }).toEqual(['GET', 'other']);
    const routes = [...(await labels('route'))];
    expect(routes).toContain('none');
    expect(routes.filter(route => route!.includes('nowhere'))).toEqual([]);
  });
});

describe('metrics of a server that other machines can reach', () => {
  const open = (access: { token?: string; ownPort?: boolean }) => {
    const app = Fastify().setErrorHandler(sendError);
    const metrics = { observe: () => {}, read: async () => ({ type: 'text/plain', text: 'belfry_workers 1' }) };
    registerMetrics(app, metrics, { ownPort: false, token: undefined, isPublic: true, ...access });
    return app;
  };

  test('are closed without a token', async () => {
    const answer = await open({}).inject('/metrics');
    expect([answer.statusCode, answer.json()]).toEqual([403, expect.objectContaining({ code: 'metrics.closed' })]);
    expect(answer.json().detail).toContain('METRICS_TOKEN');
  });

  test('are served with the token', async () => {
    const answer = await open({ token }).inject({ url: '/metrics', headers: bearer(token) });
    expect(answer.body).toBe('belfry_workers 1');
  });
});

describe('metrics behind a token', () => {
  let service: Service;
  beforeAll(async () => {
    service = await testService({ BELFRY_ROLE: 'api', METRICS_TOKEN: token });
  });
  afterAll(() => service.stop());

  test.each([
    ['nothing', {}],
    ['another token', bearer(`${token}-`)],
    ['no bearer', { authorization: token }],
    ['an empty one', bearer('')],
  ])('are denied with %s', async (_what, headers: Record<string, string>) => {
    const answer = await fetch(`${service.address}/metrics`, { headers });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await answer.json()).toMatchObject({ code: 'metrics.token', detail: expect.stringContaining('Bearer') });
  });

  test('are served with the token', async () => {
    const answer = await fetch(`${service.address}/metrics`, { headers: bearer(token) });
    expect(await answer.text()).toContain('belfry_http_requests_total');
  });
});

describe('metrics on their own port', () => {
  let service: Service;
  beforeAll(async () => {
    service = await testService({ BELFRY_ROLE: 'api', METRICS_PORT: '0', METRICS_TOKEN: token });
  });
  afterAll(() => service.stop());

  test('are served there, and no longer next to the API', async () => {
    expect((await fetch(`${service.address}/metrics`, { headers: bearer(token) })).status).toBe(404);
    const answer = await fetch(service.metricsAddress!, { headers: bearer(token) });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    expect(await answer.text()).toContain('route="none",status="404"');
  });

  test('require the token, and nothing else is served there', async () => {
    expect((await fetch(service.metricsAddress!)).status).toBe(401);
    expect(await send('POST', service.metricsAddress!)).toBe(405);
    const elsewhere = new URL('/api/system/ping/', service.metricsAddress);
    expect((await fetch(elsewhere, { headers: bearer(token) })).status).toBe(404);
  });

  test('prevent the start if the port is in use, naming the setting', async () => {
    const { port } = new URL(service.metricsAddress!);
    await expect(testService({ BELFRY_ROLE: 'api', METRICS_PORT: port })).rejects.toThrow(
      /set METRICS_PORT to another/,
    );
  });
});
