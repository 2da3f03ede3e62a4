/** Pages other than the console. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { errorCodes } from '../../src/core/errors.ts';
import { testService } from '../support/database.ts';

let service: Service;
beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
});
afterAll(() => service.stop());

const get = (path: string, headers: Record<string, string> = {}) => fetch(service.address + path, { headers });

/** Returns every URL of this server that a page links to. */
const addressesIn = (html: string) => [...html.matchAll(/(?:href|src)="(\/[^"#]*)/g)].map(([, path]) => path!);

describe.each(['/docs', '/docs/', '/docs/problems', '/docs/problems/'])('%s', path => {
  test('is a page that can connect only to this server', async () => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.redirected).toBe(false);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self';/);
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    const html = await answer.text();
    expect(html).not.toMatch(/https?:\/\/(?!127\.0\.0\.1:8000)/);
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style=|\{\{/);
  });

  test('has no broken link', { tags: ['sweep'] }, async () => {
    const addresses = addressesIn(await (await get(path)).text());
    expect(addresses.length).toBeGreaterThan(2);
    const answers = await Promise.all(addresses.map(address => get(address)));
    expect(answers.filter(answer => answer.status !== 200).map(answer => answer.url)).toEqual([]);
  });

  test('is sent once and then revalidated', async () => {
    const first = await get(path);
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const etag = first.headers.get('etag') ?? '';
    const again = await get(path, { 'if-none-match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const changed = await get(path, { 'if-none-match': '"other"' });
    expect(changed.status).toBe(200);
  });
});

test('the script of the reference is served here, sent once and then revalidated', async () => {
  const [first, second] = await Promise.all([get('/docs/js/scalar.js'), get('/docs/js/scalar.js')]);
  expect(first.status).toBe(200);
  expect(first.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  const script = await first.text();
  expect(script.length).toBeGreaterThan(1_000_000);
  expect(script).toContain('createApiReference');
  expect(await second.text()).toBe(script);
  const again = await get('/docs/js/scalar.js', { 'if-none-match': first.headers.get('etag') ?? '' });
  expect(again.status).toBe(304);
});

test('every error code is explained where problem documents point', async () => {
  const html = await (await get('/docs/problems/')).text();
  expect(errorCodes.filter(code => !html.includes(`id="${code}"`))).toEqual([]);
  const { type, status, title } = (await (await get('/api/system/ping/')).json()) as Record<string, string>;
  const [path = '', anchor = ''] = type!.split('#');
  const row = (await (await get(path)).text()).split('\n').find(line => line.includes(`id="${anchor}"`));
  expect(row).toContain(`<td>${status}</td><td>${title}</td>`);
});

test.each(['/docs/nope', '/docs/js/', '/docs/js/other.js', '/pages/', '/pages/../pages.ts', '/pages/scalar.ts'])(
  '%s does not exist',
  async path => {
    const answer = await get(path);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({ code: 'path.not_found', status: 404 });
  },
);
