/**
 * Small malicious configuration files: the command line and the API refuse them in bounded time and memory.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { type Ask, asker } from '../support/api.ts';
import { run, writeTemporary } from '../support/declarative.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

/** Limits of CPU time and memory growth. Without protection these files took minutes or all memory. */
const maxCpuMs = 15_000;
const maxGrowthBytes = 1_500_000_000;

let service: Service;
let tenants: Tenants;
let ask: Ask;
beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

async function bounded<T>(work: () => Promise<T>): Promise<T> {
  const cpu = process.cpuUsage();
  const { rss } = process.memoryUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  expect((user + system) / 1_000).toBeLessThan(maxCpuMs);
  expect(process.memoryUsage().rss - rss).toBeLessThan(maxGrowthBytes);
  return result;
}

const levels = Array.from({ length: 12 }, (_, i) => i);
const list = (length: number, write: (i: number) => string) => Array.from({ length }, (_, i) => write(i));
const depth = 100_000;
const organization = (slug: string) => `organizations:\n  - slug: ${slug}\n    name: A\n`;

const files: Record<string, [text: string, message: string]> = {
  'an alias bomb': [
    `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${levels
      .map(i => `a${i + 1}: &a${i + 1} [${list(10, () => `*a${i}`).join()}]`)
      .join('\n')}\norganizations: [*a12]\n`,
    'uses aliases more than 1000 times',
  ],
  '100,000 nested sequences': [`organizations: ${'['.repeat(depth)}${']'.repeat(depth)}`, 'is nested too deeply'],
  '100,000 sequences that do not end': [`organizations: ${'['.repeat(depth)}`, 'is nested too deeply'],
  'a scalar of 5 MB': [organization('a'.repeat(5_000_000)), 'organizations/0/slug: is longer than 100 characters'],
  'the same anchor 10,000 times': [
    `organizations:\n${'  - &a { slug: x, name: X }\n'.repeat(10_000)}`,
    '"x" is duplicated',
  ],
  'an alias of itself': ['organizations: &a [*a]', 'contains an alias of itself'],
  'merge keys that double': [
    `a0: &a0 { k: v }\n${list(300, i => `a${i + 1}: &a${i + 1}\n  <<: [*a${i}, *a${i}]\n  k${i}: 1`).join('\n')}`,
    'uses aliases more than 1000 times',
  ],
  '30,000 keys': [`${list(30_000, i => `a${i}: &a${i} 1`).join('\n')}\n`, 'a0: is not a known field'],
  '30,000 equal keys': [`organizations: [{ ${'a: 1, '.repeat(30_000)} }]`, 'Map keys must be unique'],
  '10,000 documents': ['---\norganizations: []\n'.repeat(10_000), 'contains more than one document'],
  'one character with 500,000 marks': [
    organization(`a${'\u0300\u0315'.repeat(250_000)}`),
    'contains more than 30 combining marks in a row',
  ],
};

describe('belfry plan', () => {
  test.each(Object.entries(files))('refuses %s and says why', async (_, [text, message]) => {
    const file = await writeTemporary('bomb.yaml', text);
    const { code, err } = await bounded(() => run(service.runtime.deps, ['plan', file]));
    expect(code).toBe(1);
    expect(err).toContain(message);
    expect(err.length).toBeLessThan(100_000);
  });

  test('takes time in proportion to the number of keys', async () => {
    const cost = async (keys: number) => {
      const text = `organizations: [{ ${list(keys, i => `k${i}: 1`).join(', ')} }]`;
      const file = await writeTemporary('keys.yaml', text);
      const before = process.cpuUsage();
      await run(service.runtime.deps, ['plan', file]);
      return process.cpuUsage(before).user;
    };
    await cost(1_000);
    // Eight times in proportion, 64 times if it were quadratic: there is room for a busy machine.
    expect(await cost(30_000)).toBeLessThan(24 * (await cost(3_750)));
  });
});

describe('the API', () => {
  const plan = (body: string, type = 'application/json') =>
    ask({
      method: 'POST',
      path: `/api/o/${tenants.acme.slug}/configuration/plan/`,
      body,
      headers: { 'content-type': type },
    });
  const document = (more: object) => JSON.stringify({ organization: { slug: tenants.acme.slug, name: 'A', ...more } });

  test('accepts only JSON, never YAML', async () => {
    const { status } = await bounded(() => plan(files['an alias bomb']![0], 'application/yaml'));
    expect(status).toBe(415);
  });

  test.each([
    ['100,000 nested lists', () => `{"organization":${'['.repeat(depth)}${']'.repeat(depth)}}`, 'is nested more than'],
    ['a text of 5 MB', () => document({ logo_url: `https://${'a'.repeat(5_000_000)}` }), 'organization/logo_url'],
    [
      'a million members',
      () => document({ projects: [list(1_000_000, () => 'a')] }),
      'contains more than 250000 values',
    ],
    ['500,000 marks', () => document({ name: `a${'\u0300\u0315'.repeat(250_000)}` }), 'combining marks in a row'],
  ])('refuses %s with 400 and names the field', async (_, write, message) => {
    const { status, text } = await bounded(() => plan(write()));
    expect(status).toBe(400);
    expect(text).toContain(message);
    expect(text.length).toBeLessThan(100_000);
  });
});
