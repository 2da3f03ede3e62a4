/** The guides, reference pages and provider pages, as a running service shows them. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isIgnored } from '../../deploy/checks/dockerfile.ts';
import { exampleChannel, providerPages } from '../../scripts/provider-pages.ts';
import type { Service } from '../../src/app.ts';
import { renderMarkdown } from '../../src/http/pages/docs/markdown.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry, findMissing, readEntry, withGenerated } from '../../src/providers/provider.ts';
import { testService } from '../support/database.ts';
import { root } from '../support/process.ts';

interface Entry {
  address: string;
  page: string;
  heading: string;
  words: string;
}

let service: Service;
beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
});
afterAll(() => service.stop());

const get = (address: string, headers: Record<string, string> = {}) => fetch(service.address + address, { headers });
/** Caches responses: nearly every page links to every other one. */
const looked = new Map<string, Promise<{ status: number; text: string }>>();
function look(address: string) {
  const known =
    looked.get(address) ?? get(address).then(async answer => ({ status: answer.status, text: await answer.text() }));
  looked.set(address, known);
  return known;
}
const textOf = async (address: string) => (await get(address)).text();
const read = (file: string) => readFile(path.join(root, file), 'utf8');
const titleOf = (markdown: string) => /^# (.+)$/m.exec(markdown)![1]!;
const namesIn = async (folder: string) =>
  (await readdir(path.join(root, folder))).filter(name => name.endsWith('.md') && name !== 'README.md');

/** Addresses of pages by file. */
const shown: Record<string, string> = {
  'docs/guides/README.md': '/docs/guides',
  ...Object.fromEntries(
    (await namesIn('docs/guides')).map(name => [`docs/guides/${name}`, `/docs/guides/${name.slice(0, -3)}`]),
  ),
  'docs/configuration.md': '/docs/configuration',
  'docs/accounts.md': '/docs/accounts',
  'docs/security.md': '/docs/security',
  'CHANGELOG.md': '/docs/changelog',
  'docs/providers/README.md': '/docs/providers',
  ...Object.fromEntries(Object.keys(providers).map(name => [`docs/providers/${name}.md`, `/docs/providers/${name}`])),
};

describe.each(Object.entries(shown))('%s', (file, address) => {
  test('is a page that can connect only to this server, and runs only its own script', async () => {
    const answer = await get(address);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe|data:/);
    const html = await answer.text();
    expect(html).not.toMatch(/<script(?![^>]* src="\/pages\/)|<style|<[^>]+ style=|<[^>]+ on\w+=/);
    expect(html).not.toMatch(/(src|srcset)="https?:/);
    const [heading] = /<h1 .*<\/h1>/.exec(html)!;
    expect(heading.replaceAll(/<[^>]+>/g, '').replaceAll('&#39;', "'")).toBe(titleOf(await read(file)));
    const ids = [...html.matchAll(/<[^>]+ id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids.filter((id, i) => id === '' || ids.indexOf(id) !== i)).toEqual([]);
    // The list of pages names it, as the one that is shown.
    expect(html).toContain(`<a href="${address}" aria-current="page">`);
  });

  test('is sent once and then revalidated', async () => {
    const first = await get(address);
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const again = await get(address, { 'if-none-match': first.headers.get('etag') ?? '' });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test('has no broken link', async () => {
    const html = await textOf(address);
    const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link!.replaceAll('&amp;', '&'));
    const outside = links.filter(link => !/^[/#]/.test(link));
    expect(outside.filter(link => !/^(https:\/\/[\w.-]+|http:\/\/127\.0\.0\.1:|mailto:)/.test(link))).toEqual([]);
    const broken: string[] = [];
    for (const link of new Set(links.filter(each => /^[/#]/.test(each)))) {
      const [target = '', anchor] = link.split('#');
      const { status, text } = target === '' ? { status: 200, text: html } : await look(target);
      if (status !== 200 || (anchor && !text.includes(` id="${anchor}"`))) broken.push(link);
    }
    expect(broken).toEqual([]);
  });

  test('is found by the search', async () => {
    const entries = (await (await get('/docs/search.json')).json()) as Entry[];
    const title = titleOf(await read(file));
    const own = entries.filter(entry => entry.address.split('#')[0] === address);
    expect(own[0]).toMatchObject({ address, page: title, heading: '' });
    const headings = [...(await textOf(address)).matchAll(/<h[2-6] id="([^"]+)"/g)].map(([, id]) => `${address}#${id}`);
    expect(own.map(entry => entry.address)).toEqual([address, ...headings]);
    // Text without marks: a word of the first paragraph, as it is read.
    const [paragraph = ''] = /<p>(.*?)<\/p>/s.exec(await textOf(address))!;
    const word = paragraph.replaceAll(/<[^>]+>/g, '').match(/\p{L}{4,}/u)?.[0];
    expect(own.some(entry => entry.words.includes(word!))).toBe(true);
    expect(own.every(entry => entry.words === entry.words.replaceAll(/\s+/g, ' ').trim())).toBe(true);
  });
});

test('the schema says for every index of the ledger what it is for', async () => {
  const schema = await readFile(path.join(root, 'schema.sql'), 'utf8');
  const indexes = [...schema.matchAll(/^CREATE (?:UNIQUE )?INDEX (\w+) ON (?:occurrences|deliveries) [^;]*;(.*)$/gm)];
  expect(indexes.length).toBeGreaterThan(10);
  expect(indexes.filter(([, , comment]) => !comment!.startsWith(' -- ')).map(([, name]) => name)).toEqual([]);
});

test('the list of guides is complete', async () => {
  const index = await read('docs/guides/README.md');
  expect((await namesIn('docs/guides')).filter(name => !index.includes(`](${name})`))).toEqual([]);
});

test('images and examples come from the package, and an example is served as text', async () => {
  const picture = await get('/docs/images/preferences-page.png');
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(
    Buffer.from(await picture.arrayBuffer())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  for (const name of ['acme.yaml', 'copy-people.mjs', 'inbox.html']) {
    const example = await get(`/docs/examples/${name}`);
    expect([name, example.headers.get('content-type')]).toEqual([name, 'text/plain; charset=utf-8']);
    expect(await example.text()).toBe(await read(`docs/examples/${name}`));
  }
});

test('the search finds error codes', async () => {
  const entries = (await (await get('/docs/search.json')).json()) as Entry[];
  expect(entries).toContainEqual({
    address: '/docs/problems/#path.not_found',
    page: 'Error codes',
    heading: 'path.not_found',
    words: expect.any(String),
  });
  const first = await get('/docs/search.json');
  expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const again = await get('/docs/search.json', { 'if-none-match': first.headers.get('etag') ?? '' });
  expect(again.status).toBe(304);
});

test.each([
  '/docs/guides/nope',
  '/docs/guides/README',
  '/docs/guides/inbox.md',
  '/docs/providers/nope',
  '/docs/providers/notes',
  '/docs/images/nope.png',
  '/docs/examples/',
  '/docs/architecture',
  '/docs/guides/..%2fsecurity',
  '/docs/guides/%2e%2e%2f%2e%2e%2fpackage.json',
  '/docs/constructor',
])('%s does not exist', async address => {
  const answer = await get(address, { accept: 'text/html' });
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(await answer.json()).toMatchObject({ code: 'path.not_found', status: 404 });
});

test('only Markdown becomes HTML, whatever a document contains', () => {
  const text = [
    '# A <b>title</b>',
    '<script>alert(1)</script>',
    'A [link](javascript:alert`1`) and <img src=x onerror=alert(1)> in words.',
    '## Twice',
    '## Twice',
    '`<b>` [other](../../deploy/caddy/Caddyfile) [this](other.md#part)',
  ].join('\n\n');
  const find = (file: string) => (file === 'docs/guides/other.md' ? '/docs/guides/other' : undefined);
  const { html, sections } = renderMarkdown(text, 'docs/guides/one.md', find);
  expect(html).not.toMatch(/<script|<img|<b>|href="javascript/);
  expect(html).toContain('&lt;script&gt;');
  expect(html).toContain('other (<code>deploy/caddy/Caddyfile</code>)');
  expect(html).toContain('<a href="/docs/guides/other#part">this</a>');
  expect(sections.map(({ id }) => id).slice(1)).toEqual(['twice', 'twice-1']);
});

describe('the package', () => {
  test('contains every document that is shown', async () => {
    const { files } = JSON.parse(await read('package.json')) as { files: string[] };
    const rules = (await read('.dockerignore')).split('\n');
    const needed = [...Object.keys(shown), 'docs/images/preferences-page.png', 'docs/examples/acme.yaml'];
    const isPacked = (file: string) =>
      files.some(each => file === each || file.startsWith(`${each}/`) || path.matchesGlob(file, each));
    expect(needed.filter(file => !isPacked(file))).toEqual([]);
    expect(needed.filter(file => isIgnored(file, rules))).toEqual([]);
  });
});

describe('provider pages', () => {
  test('exist for exactly the available providers', async () => {
    const names = await readdir(path.join(root, 'docs/providers'), { recursive: true });
    const expected = Object.keys(providers).flatMap(name => [`${name}.md`, `notes/${name}.md`]);
    expect(names.sort()).toEqual(['README.md', 'notes', ...expected].sort());
  });

  test.each(Object.keys(providers))('%s: says every setting, and its example can be applied', async name => {
    const text = (await providerPages())[`docs/providers/${name}.md`]!;
    expect(await read(`docs/providers/${name}.md`)).toBe(text);
    const provider = providers[name]!;
    for (const [field, schema] of Object.entries(provider.settings.properties) as [string, { secret?: boolean }][]) {
      const row = new RegExp(`^\\| \`${field}\` \\| ([^|]*) \\|`, 'm').exec(text);
      expect([field, row?.[1]?.endsWith(', secret')]).toEqual([field, schema.secret === true]);
    }
    const [, yaml] = /^```yaml\n(.*?)^```/ms.exec(text.slice(text.indexOf('## Example')))!;
    const channel = exampleChannel(provider) as { type: string; providers: [{ use: string }] };
    expect(parse(yaml!)).toEqual({ channels: [channel] });
    const [entry] = channel.providers;
    // Secrets have their own form: the environment belongs to the operator.
    const given = Object.entries(entry).filter(([, value]) => !String(value).startsWith('${env:'));
    expect(checkEntry(providers, Object.fromEntries(given) as typeof entry, channel.type)).toEqual([]);
    expect(findMissing(providers, withGenerated(providers, readEntry(providers, entry), []))).toEqual([]);
  });
});
