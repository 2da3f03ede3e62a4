/** The web console as served. */
import { readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { testService } from '../support/database.ts';

const dist = new URL('../../console/dist/', import.meta.url);

let service: Service;
beforeAll(async () => {
  await buildConsole();
  service = await testService({ BELFRY_ROLE: 'api' });
});
afterAll(() => service.stop());

const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const get = (path: string, headers: Record<string, string> = {}) => fetch(service.address + path, { headers });
const assetsIn = (html: string) =>
  [...html.matchAll(/(?:href|src)="(\/[^"]*)/g)].map(([, path]) => path!).filter(path => path !== '/docs');

describe.each(['/', '/sign-in', '/o/acme', '/o/acme/occurrences?status=completed', '/o/acme/p/shop/a/web/e/paid'])(
  '%s',
  path => {
    test('serves the console with a policy that allows connections only to this server', async () => {
      const answer = await get(path, page);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
      const policy = answer.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toMatch(/script-src 'self';/);
      expect(policy).toContain("connect-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/https?:|\*|unsafe/);
      const html = await answer.text();
      expect(html).toContain('<div id="root">');
      expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style=|\{\{|https?:/);
    });

    test('has a fresh nonce in every response, the same as in its policy', async () => {
      const answers = await Promise.all([get(path, page), get(path, page)]);
      const nonces = answers.map(
        answer => /'nonce-([\w-]{20,})'/.exec(answer.headers.get('content-security-policy')!)?.[1],
      );
      expect(new Set(nonces).size).toBe(2);
      for (const [i, answer] of answers.entries()) {
        expect(await answer.text()).toContain(`<meta property="csp-nonce" nonce="${nonces[i]}">`);
      }
    });

    test('is revalidated with its ETag, and a 304 has no new policy', async () => {
      const first = await get(path, page);
      expect(first.headers.get('cache-control')).toBe('no-cache');
      const again = await get(path, { ...page, 'if-none-match': first.headers.get('etag')! });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect(again.headers.has('content-security-policy')).toBe(false);
      const changed = await get(path, { ...page, 'if-none-match': '"other"' });
      expect(changed.status).toBe(200);
    });
  },
);

test('the page refers only to existing files with the right content type', async () => {
  const assets = assetsIn(await (await get('/', page)).text());
  expect(assets.length).toBeGreaterThan(3);
  for (const path of assets) {
    const answer = await get(path);
    expect([path, answer.status]).toEqual([path, 200]);
    const texts = 'text/javascript|text/css|image/svg\\+xml|application/manifest\\+json';
    expect(answer.headers.get('content-type')).toMatch(new RegExp(`^(image/png|(${texts}); charset=utf-8)$`));
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('the service worker is never cached, asks only this server, and keeps files that exist', async () => {
  const answer = await get('/console-sw.js');
  expect(answer.headers.get('cache-control')).toBe('no-cache');
  expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; connect-src 'self'");
  const { files } = JSON.parse(/belfryShell=(\{.*?\});/.exec(await answer.text())![1]!) as { files: string[] };
  expect(files.length).toBeGreaterThan(5);
  for (const path of files) expect([path, (await get(path)).status]).toEqual([path, 200]);
});

test('a file with a hash in its name is cached forever and served compressed', async () => {
  const script = assetsIn(await (await get('/', page)).text()).find(path => /^\/assets\/.*\.js$/.test(path))!;
  const plain = await get(script, { 'accept-encoding': 'identity' });
  expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  const text = await plain.text();
  for (const [accepted, expected] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br;q=0', null],
    ['deflate', null],
  ] as const) {
    const answer = await get(script, { 'accept-encoding': accepted });
    expect([accepted, answer.headers.get('content-encoding')]).toEqual([accepted, expected]);
    expect(answer.headers.get('vary')).toBe('accept-encoding');
    expect(await answer.text()).toBe(text);
  }
});

test.each([
  '/api/nope',
  '/api/o/acme/nope/',
  '/docs/nope',
  '/pages/nope',
  '/assets/nope.js',
  '/metrics/nope',
  '/healthz/x',
])('%s is a 404 problem even when HTML is accepted', async path => {
  const answer = await get(path, page);
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
});

test.each(['/assets/../index.html', '/assets/%2e%2e/sources.txt', '/manifest.json', '/sources.txt', '/assets/'])(
  '%s is not served',
  async path => {
    expect((await get(path)).status).toBe(404);
  },
);

test('a request that does not accept HTML gets an error instead of the console', async () => {
  const answers = await Promise.all([
    get('/o/acme', { accept: 'application/json' }),
    get('/o/acme', { accept: '*/*' }),
    fetch(`${service.address}/o/acme`, { method: 'POST', headers: page }),
  ]);
  expect(answers.map(answer => answer.status)).toEqual([404, 404, 404]);
});

test('the frame for messages allows no scripts', async () => {
  const answer = await get('/frame', page);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain('sandbox allow-same-origin');
  expect(policy).toContain("frame-ancestors 'self'");
  expect(policy).not.toMatch(/script/);
});

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
}

/** Returns the number and compressed size of the files that the modules load statically. */
function measureLoad(modules: string[]): { files: number; bytes: number } {
  const manifest = JSON.parse(readFileSync(new URL('manifest.json', dist), 'utf8')) as Record<string, Chunk>;
  const seen = new Set<string>();
  const files = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const { file, imports = [], css = [] } = manifest[name]!;
    for (const each of [file, ...css]) files.add(each);
    imports.forEach(visit);
  };
  modules.forEach(visit);
  const sizeOf = (file: string) => statSync(new URL(`${file}.br`, dist), { throwIfNoEntry: false })?.size;
  const bytes = [...files].reduce((sum, file) => sum + (sizeOf(file) ?? statSync(new URL(file, dist)).size), 0);
  return { files: files.size, bytes };
}

test.each(['src/pages/sign-in.tsx', 'src/pages/overview/overview.tsx'])(
  'the first load of %s is under 300 kB in fewer than 20 files',
  page => {
    const { files, bytes } = measureLoad(['index.html', 'src/frame.tsx', page]);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(300_000);
    expect(files).toBeLessThan(20);
  },
);
