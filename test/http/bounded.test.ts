/**
 * No input or response of a tenant delays other tenants. Every parser of tenant text gets pathological input of growing
 * size. The tests measure the CPU time of the event loop's thread, so that a busy machine does not matter.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { findDelimiter, readHeader, readRow } from '../../src/core/audience/list-file.ts';
import { compileExpression, compilePredicate, expressionLimits } from '../../src/core/expressions/expressions.ts';
import { type Content, compileLayout, compileMessage } from '../../src/core/render/render.ts';
import { routes } from '../../src/http/routes.ts';
import { ThreadsBusyError } from '../../src/lib/load/thread-pool.ts';
import { Rendering } from '../../src/pipeline/rendering/rendering.ts';
import { fromStatus, readRetryAfter } from '../../src/providers/http-outcome.ts';
import { type Ask, asker } from '../support/api.ts';
import { fill, pathValues } from '../support/api-paths.ts';
import { costOf, cpuMs, isTooSlow, limitMs, maxMsFor } from '../support/cpu-time.ts';
import { silent, testService } from '../support/database.ts';
import { bodies, contextOf, expressions, shapes } from '../support/hostile-shapes.ts';
import { buildTenants, type Tenants } from '../support/tenants.ts';

/** A whole turn of the loop may take this many times the limit: several pieces of work may meet in it, and this test has a part. */
const maxTurnLimits = 4;
const size = 64_000;
/** Of rendering. Shorter than usual: many of these never end. */
const renderCpuMs = 100;
/** Media with HTML and with a text format. */
const media = ['email', 'slack'];

/** The better of two: the first one may meet the garbage of the one before. */
const cheaperOf = (work: () => unknown): number => Math.min(costOf(work), costOf(work));

const worst: string[] = [];
function expectCheap(name: string, ms: number): void {
  if (isTooSlow(ms)) worst.push(`${name}: ${ms.toFixed(0)} ms`);
}

function finish(): void {
  expect(worst.splice(0)).toEqual([]);
}

describe('a filter', () => {
  test.each(Object.entries(expressions))('of %s ends soon', (name, write) => {
    for (const size of [1_000, 30_000, 400_000]) {
      const context = contextOf(size);
      expectCheap(
        `${name} at ${size}`,
        cheaperOf(() => compileExpression(write(size))(context)),
      );
      expectCheap(
        `${name} of users`,
        cheaperOf(() => compilePredicate(write(size), 10_000)(context)),
      );
    }
    finish();
  });

  test('of any pathological shape is parsed quickly', () => {
    for (const [name, shape] of Object.entries(shapes)) {
      const text = shape(expressionLimits.source);
      expectCheap(
        name,
        cheaperOf(() => compileExpression(text)({ a: text })),
      );
    }
    finish();
  });

  test('gives the same result with and without a budget', () => {
    const orders = Array.from({ length: 1_000 }, (_, i) => ({ id: i, total: i * 2, tags: ['a', `t${i % 3}`] }));
    const evaluate = (expression: string) => compileExpression(expression)({ orders, name: '  Ada ' }).value;
    expect(evaluate('length(orders[?total > `1000` && contains(tags, `"t1"`)])')).toBe(166);
    expect(evaluate('sort_by(orders, &total)[-1].id')).toBe(999);
    expect(evaluate('orders[*].tags[] | length(@)')).toBe(2_000);
    expect(evaluate('trim(name)')).toBe('Ada');
    expect(evaluate("trim_left('xxaxx', 'x')")).toBe('axx');
    expect(evaluate("replace('aaaa', 'a', 'b', `2`)")).toBe('bbaa');
    expect(evaluate("replace('aaaa', 'a', '$&')")).toBe('$&$&$&$&');
    expect(evaluate("pad_left('7', `3`, '0')")).toBe('007');
    expect(evaluate('let $n = name in orders[0].[$n, id]')).toEqual(['  Ada ', 0]);
  });

  test('reports a result that is too large to show', () => {
    expect(() => compileExpression(`[@, @]${' | [@, @]'.repeat(100)}`)({})).toThrow('yields too much');
  });
});

describe('a message', () => {
  let rendering: Rendering;
  let stopped = 0;
  beforeAll(async () => {
    rendering = new Rendering({ ...silent, warn: () => stopped++ } as never, renderCpuMs);
    await write({ body: '# a\n\n*b* [c](https://d.test)\n\n- e\n' }); // Warm.
  });
  afterAll(() => rendering.close());

  const write = (content: { subject?: string; body: string }, layout?: string, medium = 'email'): Promise<Content> =>
    rendering.render(1, compileMessage(content, 'checked'), () => ({ content, layout }), {
      medium,
      channel: 'x',
      scope: contextOf(100_000),
      layout: layout === undefined ? undefined : compileLayout(layout, 'checked'),
    });

  /** What this thread does for it; the others do as they please. */
  async function expectHarmless(name: string, work: () => Promise<unknown>): Promise<void> {
    let least = Number.POSITIVE_INFINITY;
    // Again where it seems dear: garbage of other cases is collected at any time.
    for (let i = 0; i < 4 && isTooSlow(least); i++) {
      const before = process.threadCpuUsage();
      await work().catch(error => {
        // On a busy machine, it is tried again later.
        if (error instanceof ThreadsBusyError) return;
        expect(error.code, `${name}: ${error.stack}`).toMatch(/^template\./);
      });
      least = Math.min(least, cpuMs(before) - 20); // Its context is made, sent to a thread, and what comes back is read.
    }
    expectCheap(name, least);
  }

  test.each(Object.keys(shapes))('with a body of %s does not block the thread', async name => {
    const text = shapes[name]!(size);
    for (const medium of media) {
      const before = stopped;
      await expectHarmless(`body for ${medium}`, () => write({ body: text }, undefined, medium));
      // It was not read to its end, and will not be for another medium either.
      if (stopped > before) break;
    }
    await expectHarmless('subject', () => write({ subject: text, body: 'x' }));
    await expectHarmless('layout', () => write({ body: 'x' }, `{{ content }}${text}`));
    finish();
  });

  test('with endless Markdown fails, and is not rendered again for each recipient', async () => {
    const content = { body: `${'a'.repeat(60_000)}@` };
    const before = stopped;
    for (let i = 0; i < 5; i++) {
      await expect(write(content)).rejects.toThrow(
        'body, line 1, column 1: takes longer than 100 ms to process as Markdown',
      );
    }
    expect(stopped - before).toBe(1);
  });

  test('that is long but valid is compiled once in a thread, and then rendered in this thread', async () => {
    const body = `# News\n\n${'Dear {{ a }}, *this* is a [paragraph](https://a.test/{{ a }}) of the letter.\n\n'.repeat(200)}`;
    await rendering.close();
    rendering = new Rendering(silent, 30_000);
    const message = compileMessage({ body }, 'checked');
    let asked = 0;
    const again = (a: string) =>
      rendering.render(
        1,
        message,
        () => {
          asked++;
          return { content: { body }, layout: undefined };
        },
        { medium: 'email', channel: 'x', scope: { a } },
      );
    expect((await again('Ada')).text).toContain('Dear Ada, this is a paragraph (https://a.test/Ada)');
    await rendering.close();
    // Without any thread.
    expect((await again('Bob')).html).toContain('Dear Bob');
    expect(asked).toBe(0);
    rendering = new Rendering(silent, 30_000);
  });

  test('with long loops within its limits renders normally', async () => {
    const body = '{% for i in (1..4000) %}{{ i }} {% endfor %}';
    expect((await write({ body }, undefined, 'sms')).text).toBe(
      Array.from({ length: 4_000 }, (_, i) => i + 1).join(' '),
    );
    await expect(write({ body: `{% for i in (1..400) %}${body}{% endfor %}` })).rejects.toThrow(
      'produces too much text',
    );
  });
});

describe('the response of a receiver', () => {
  test.each(Object.entries(shapes))('with %s is understood soon', (name, shape) => {
    for (const size of [4_000, 65_536]) {
      const text = shape(size);
      const headers = { 'retry-after': text };
      expectCheap(
        `${name} at ${size}`,
        cheaperOf(() => fromStatus({ status: 500, headers, text }, ['secret'])),
      );
      expectCheap(
        'retry-after',
        cheaperOf(() => readRetryAfter(text)),
      );
    }
    finish();
  });

  test.each([
    [
      '<html><head><style>a { b }</style><script>c < d</script></head><body><h1>Bad  Gateway</h1>nginx</body>',
      'Bad Gateway nginx',
    ],
    ['plain words', 'plain words'],
    ['a < b', 'a < b'],
    ['<STYLE>a</style >b', 'b'],
    ['<script>never closed', ''],
    ['', ''],
  ])('%j reads %j', (text, words) => {
    expect(fromStatus({ status: 502, headers: {}, text }).reason).toBe(words ? `502: ${words}` : '502');
  });
});

describe('a file of members', () => {
  test.each(Object.entries(shapes))('with %s as header or cell is understood soon', (name, shape) => {
    for (const size of [4_000, 100_000]) {
      const text = shape(size);
      expectCheap(
        `delimiter ${name}`,
        cheaperOf(() => findDelimiter(text)),
      );
      expectCheap(
        `header ${name}`,
        cheaperOf(() => readHeader(['email', text])),
      );
      const header = readHeader(['email', 'locale', 'phone', 'custom.a', 'address.b', 'active']);
      const { columns } = header as Extract<typeof header, { columns: unknown }>;
      expectCheap(
        `row ${name}`,
        cheaperOf(() => readRow(['a@b.test', ...Array(5).fill(text)], columns, 2)),
      );
      expectCheap(
        `email ${name}`,
        cheaperOf(() => readRow([text], columns, 2)),
      );
    }
    finish();
  });

  test('with 100,000 columns is rejected immediately, with their number', () => {
    const cells = Array.from({ length: 100_000 }, (_, i) => `custom.${i}`);
    expectCheap(
      'header',
      cheaperOf(() => readHeader(cells)),
    );
    finish();
    expect(readHeader(cells)).toEqual({
      mistakes: [{ row: 1, field: 'header', message: 'has 100000 columns, and the maximum is 200' }],
    });
  });

  test('with 200 custom columns is parsed in linear time', () => {
    const names = Array.from({ length: 199 }, (_, i) => `custom.${i}`);
    const header = readHeader(['email', ...names]);
    const { columns } = header as Extract<typeof header, { columns: unknown }>;
    const cells = ['a@b.test', ...names.map(() => '1')];
    const few = cheaperOf(() => Array.from({ length: 100 }, () => readRow(cells.slice(0, 51), columns, 2)));
    expect(cheaperOf(() => Array.from({ length: 100 }, () => readRow(cells, columns, 2)))).toBeLessThan(few * 10 + 20);
  });
});

describe('other tenants', () => {
  let service: Service;
  let tenants: Tenants;
  let hostile: Ask;
  let other: Ask;
  beforeAll(async () => {
    service = await testService({ BELFRY_ROLE: 'api' });
    const { deps } = service.runtime;
    await deps.rendering.close();
    Object.assign(deps, { rendering: new Rendering(silent, renderCpuMs) });
    tenants = await buildTenants(service.runtime.deps);
    hostile = asker(service.address, tenants.acme.keys.all);
    other = asker(service.address, tenants.rival.keys.all);
  });
  afterAll(async () => {
    await service.runtime.deps.rendering.close();
    await service.stop();
  });

  /** Sends them all at once, while another tenant asks again and again; how long the longest turn of the loop took. */
  async function turnsDuring(requests: (() => Promise<{ status: number; text: string }>)[]) {
    let isOver = false;
    let maxMs = 0;
    const turns = (async () => {
      let last = process.threadCpuUsage();
      while (!isOver) {
        await new Promise(setImmediate);
        maxMs = Math.max(maxMs, cpuMs(last));
        last = process.threadCpuUsage();
      }
    })();
    let pingMs = 0;
    const pings = (async () => {
      while (!isOver) {
        const before = process.threadCpuUsage();
        const { status } = await other({ path: `/api/o/${tenants.rival.slug}/` });
        expect(status).toBe(200);
        pingMs = Math.max(pingMs, cpuMs(before));
      }
    })();
    const answers = await Promise.all(requests.map(request => request()));
    isOver = true;
    await Promise.all([turns, pings]);
    for (const { status, text } of answers) {
      expect([status < 500 || status === 503, status, text.slice(0, 200)]).toEqual([true, status, text.slice(0, 200)]);
      expect(text.length).toBeLessThan(300_000);
    }
    return { maxMs, pingMs };
  }

  /** Again where a turn seems long: garbage of other cases is collected at any time. */
  async function expectTurnsShort(name: string, requests: Parameters<typeof turnsDuring>[0]): Promise<void> {
    const longest = async () => {
      const { maxMs, pingMs } = await turnsDuring(requests);
      return Math.max(maxMs, pingMs);
    };
    let ms = await longest();
    for (let i = 0; i < 2 && ms > maxTurnLimits * limitMs; i++) ms = Math.min(ms, await longest());
    expect(ms, name).toBeLessThanOrEqual(maxMsFor(ms, maxTurnLimits));
  }

  const withBody = routes.filter(route => route.body && !route.consumes);

  test.each(withBody.map(route => [route.method, route.path, route] as const))(
    '%s %s takes a bad body, another tenant is served',
    async (method, _, route) => {
      const { properties = {} } = route.body as { properties?: object };
      const fields = Object.keys(properties);
      const size = route.permission === 'public' ? 16_000 : 100_000;
      const given = Object.values(bodies).map(write => write(size, fields.length > 0 ? fields : ['a']));
      const path = fill(route.path, pathValues(tenants));
      for (const body of given) await expectTurnsShort(body.slice(0, 40), [() => hostile({ method, path, body })]);
    },
  );

  test('an anonymous caller gets a short response to a long body', async () => {
    const body = bodies['unknown fields']!(1_000_000, []);
    const answer = await hostile({ method: 'POST', path: '/api/session/', body });
    expect(answer.status).toBe(413);
    const shorter = bodies['unknown fields']!(16_000, []);
    const refused = await hostile({ method: 'POST', path: '/api/session/', body: shorter });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.errors)).toHaveLength(100);
    expect(refused.body.detail).toMatch(/^email: is required \(and at least \d+ more\)$/);
    expect(refused.text.length).toBeLessThan(20_000);
  });

  test('are not delayed by previews of pathological drafts', async () => {
    const path = fill('/api/o/:org/p/:prj/a/:app/e/:evt/preview/', pathValues(tenants));
    const draft = (more: object) => () => hostile({ method: 'POST', path, body: JSON.stringify(more) });
    const context = contextOf(40_000);
    const requests = [
      ...Object.values(expressions).map(write => {
        const text = write(400_000).slice(0, 4_000);
        return draft({ message: { body: 'x' }, filter: text, users: text, context });
      }),
      ...['an address that is none', 'an item without an end', 'a link without an end', 'a heading and spaces'].map(
        name => draft({ message: { body: shapes[name]!(60_000) }, channels: ['email', 'slack', 'teams', 'sms'] }),
      ),
      ...['a loop that writes an address', 'a loop that writes an item', 'a loop in a loop', 'many filters'].map(name =>
        draft({ message: { subject: 'x', body: shapes[name]!(1_000) }, layout: shapes[name]!(60_000), context }),
      ),
    ];
    await expectTurnsShort('previews', requests);
  });

  test('are not delayed by a pathological file', async () => {
    const path = fill('/api/o/:org/p/:prj/d/:pk/import/', pathValues(tenants));
    const send = (body: string) => () =>
      hostile({ method: 'POST', path, body, headers: { 'content-type': 'text/csv' } });
    const files = {
      columns: `email,${Array.from({ length: 100_000 }, (_, i) => `custom.${i}`).join()}\n`,
      'a cell without an end': `email\n"${'a,\n'.repeat(1_000_000)}`,
      commas: `email\n${','.repeat(3_000_000)}`,
      lines: '\n'.repeat(3_000_000),
      'bad rows': `email,custom.a\n${'x,"\n"\n'.repeat(90_000)}`,
    };
    for (const [name, file] of Object.entries(files)) await expectTurnsShort(name, [send(file)]);
  });
});
