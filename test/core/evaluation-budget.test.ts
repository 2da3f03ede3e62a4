/**
 * No synchronous work on tenant input takes longer than 50 ms of CPU time: inputs are generated up to the limits of the
 * API and passed to the functions that run on the event loop. Liquid templates have their own tests.
 *
 * BELFRY_EVALUATION_SECONDS is how long each test searches at random. Without it, each tries the same inputs for 2 s.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { readHeader, readRow } from '../../src/core/audience/list-file.ts';
import { parseSearch } from '../../src/core/audience/search.ts';
import { checkDocument } from '../../src/core/configuration/check.ts';
import { isMailbox } from '../../src/core/configuration/shape.ts';
import { compileContextSchema } from '../../src/core/context-schema/check.ts';
import { loadPatterns } from '../../src/core/context-schema/patterns.ts';
import { sampleContext } from '../../src/core/context-schema/sample.ts';
import { findSchemaMistakes } from '../../src/core/context-schema/schema.ts';
import { toTypeScript } from '../../src/core/context-schema/types.ts';
import { compileDigestEnd, findDigestMistake } from '../../src/core/decision/digest.ts';
import { quietUntil } from '../../src/core/decision/quiet-hours.ts';
import { compileExpression, expressionLimits, findFilterMistake } from '../../src/core/expressions/expressions.ts';
import { compileGroupKey } from '../../src/core/expressions/group-key.ts';
import { canonicalJson, cleanJson, isCleanJson, type JsonObject, mergePatch } from '../../src/core/json.ts';
import { toAdaptiveCard } from '../../src/core/render/markdown/card.ts';
import { toChat } from '../../src/core/render/markdown/chat.ts';
import { toHtml } from '../../src/core/render/markdown/html.ts';
import { isCheapMarkdown, parseMarkdown } from '../../src/core/render/markdown/markdown.ts';
import { toSlackBlocks } from '../../src/core/render/markdown/slack.ts';
import { toPreview, toText } from '../../src/core/render/markdown/text.ts';
import { inlineLimits } from '../../src/core/render/template/limits.ts';
import { fold, isEmail, normalizeLocale, normalizePhone, readAddress } from '../../src/core/text/text.ts';
import { decodeBody, refuseWideOrDeep } from '../../src/http/server/validation.ts';
import { decidePage } from '../../src/pipeline/decide.ts';
import { costOf, cpuMs, isTooSlow, maxMsFor } from '../support/cpu-time.ts';

const search = process.env.BELFRY_EVALUATION_SECONDS;
const seconds = Number(search ?? 2);
const effort = {
  ...(!search && { seed: 1 }),
  numRuns: 1_000_000,
  interruptAfterTimeLimit: seconds * 1_000,
  endOnFailure: true,
};
const timeout = seconds * 1_000 + 120_000;
const bodyBytes = 1024 * 1024;

/** Measures the cheapest of several runs: the first one compiles, and any may include garbage collection. */
function expectCheap(name: string, work: () => unknown): void {
  let cheapest = costOf(work);
  for (let i = 0; i < 6 && isTooSlow(cheapest) && cheapest < 1_000; i++) cheapest = Math.min(cheapest, costOf(work));
  expect(cheapest, name).toBeLessThanOrEqual(maxMsFor(cheapest));
}

/** Returns undefined when the input is refused. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const listOf = <T>(length: number, write: (i: number) => T): T[] => Array.from({ length }, (_, i) => write(i));
const upTo = (max: number) => fc.oneof(fc.constant(max), fc.integer({ min: 1, max }));

const pieces = [
  ...['a', '1', ' ', '\n', '\r', '\t', '.', ',', ';', ':', '-', '_', '+', '*', '/', '\\', '"', "'", '`', '~', '<', '>'],
  ...['(', ')', '[', ']', '{', '}', '@', '#', '&', '|', '!', '?', '=', '%', '$', '^', '\0', '\u0300', '\u0315\u0300'],
  ...['a\u0301', '\u1100\u1161\u11a8', 'é', 'İ', '漢', '🔔', '\u{1d165}', '\ud800', 'ext.', ';ext=', '://', 'a@', 'a.'],
];
const unit = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 }).map(parts => parts.join(''));
const textOf = (max: number) =>
  fc
    .tuple(unit, unit, unit, upTo(max))
    .map(
      ([before, again, after, size]) => (before + again.repeat(Math.ceil(size / again.length))).slice(0, size) + after,
    );

/** Does with a body what the content parser and the hook before validation do. */
function readBody(body: string | Buffer): unknown {
  const text = decodeBody(Buffer.from(body))!;
  refuseWideOrDeep(text, body.length > 1024 * 1024 ? 10 * 1024 * 1024 : 1024 * 1024);
  const value = JSON.parse(text);
  return isCleanJson(value) ? value : cleanJson(value, {});
}

describe('a body of 1 MiB', () => {
  const nested = fc
    .tuple(
      fc.constantFrom(
        '1',
        '[]',
        '{}',
        '""',
        '"é"',
        '1e999',
        '[[]]',
        '"a\u0301"',
        '{"a":1}',
        'null',
        '0.1',
        '"\\u00e9"',
      ),
      fc.integer({ min: 0, max: 30 }),
      upTo(bodyBytes),
    )
    .map(([item, depth, size]) => {
      const items = Array(Math.max(1, Math.floor(size / (item.length + 1)))).fill(item);
      return `${'['.repeat(depth + 1)}${items.join()}${']'.repeat(depth + 1)}`.slice(0, bodyBytes);
    });
  const fields = fc
    .tuple(fc.integer({ min: 1, max: 20_000 }), unit)
    .map(([count, name]) => JSON.stringify(Object.fromEntries(listOf(count, i => [`${name}${i}`, name]))));
  // Combining marks take several bytes each, so the longest run is limited by the body.
  const texts = textOf(bodyBytes / 4).map(text => JSON.stringify({ text }));

  test('is read, cleaned, hashed and merged in time', { tags: ['sweep'], timeout }, () => {
    fc.assert(
      fc.property(fc.oneof(nested, fields, texts), body => {
        expectCheap('read', () => readBody(body));
        const value = attempt(() => readBody(body) as JsonObject);
        if (value === undefined) return;
        expectCheap('hash', () => canonicalJson(value));
        expectCheap('merge', () => mergePatch(value, value));
      }),
      effort,
    );
  });

  test('with too many combining marks in a row is refused with its field', () => {
    const errors = {};
    const text = `a${'\u0300\u0315'.repeat(200_000)}`;
    expectCheap('marks', () => cleanJson({ text }, errors));
    expect(errors).toEqual({ text: ['contains more than 30 combining marks in a row'] });
    expect(cleanJson({ text: `a${'\u0301'.repeat(30)}` }, {})).toEqual({ text: `á${'\u0301'.repeat(29)}` });
  });

  test('with more than 100,000 values is refused', () => {
    expect(() => readBody(`[${'1,'.repeat(100_000)}1]`)).toThrow('body: contains more than 100000 values');
    expect(readBody(`["\\\\","a\\"b",${'1,'.repeat(99_997)}1]`)).toHaveLength(100_000);
  });
});

describe('text', () => {
  const readers: Record<string, (text: string) => unknown> = {
    fold,
    isEmail,
    isMailbox,
    normalizePhone,
    normalizeLocale,
    readSearch: parseSearch,
    findDigestMistake,
    address: text => readAddress('email', text),
    subscription: text => readAddress('webpush', text),
  };

  test('of an address, a name or a search is read in time', { tags: ['sweep'], timeout }, () => {
    fc.assert(
      fc.property(textOf(100_000), fc.constantFrom(...Object.keys(readers)), (text, name) =>
        expectCheap(name, () => readers[name]!(text)),
      ),
      effort,
    );
  });

  test('of a row of a CSV file is read in time', { tags: ['sweep'], timeout }, () => {
    const header = readHeader(['email', 'locale', 'phone', 'active', 'opt_out', 'custom.a', 'address.b', 'first_name']);
    const { columns } = header as Extract<typeof header, { columns: unknown }>;
    const cell = fc.oneof(
      textOf(30_000),
      fc.integer({ min: 1, max: 15_000 }).map(n => '['.repeat(n) + ']'.repeat(n)),
    );
    fc.assert(
      fc.property(fc.array(cell, { minLength: 8, maxLength: 8 }), cells =>
        expectCheap('row', () => readRow(cells, columns, 2)),
      ),
      effort,
    );
  });
});

describe('a schedule', () => {
  const field = fc.constantFrom('*', '0', '30', '2', '31', '29', '1-5', '*/7', 'L', '1#5', '31W', 'LW', '+1', '2,4,6');
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Africa/Casablanca', 'Antarctica/Troll', 'Australia/Lord_Howe');
  const time = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 })).map(([hour, minute]) => {
    const two = (n: number) => String(n).padStart(2, '0');
    return `${two(hour)}:${two(minute)}`;
  });
  const now = fc.integer({ min: Date.parse('2020-01-01'), max: Date.parse('2040-01-01') });

  test('is evaluated in time even if it never comes or only years from now', { tags: ['sweep'], timeout }, () => {
    fc.assert(
      fc.property(
        fc.array(field, { minLength: 5, maxLength: 5 }),
        zone,
        now,
        time,
        time,
        (fields, where, at, from, to) => {
          const every = fields.join(' ');
          expectCheap(`${every} in ${where}`, () => findDigestMistake(every) ?? compileDigestEnd(every)(where, at));
          expectCheap('quiet hours', () => quietUntil({ from, to }, where, at));
        },
      ),
      effort,
    );
  });
});

describe('an expression', () => {
  const context = {
    text: 'ab'.repeat(50_000),
    items: listOf(2_000, i => ({ i, s: `x${i}`, l: [i, [i]] })),
    numbers: listOf(100_000, i => i),
    fields: Object.fromEntries(listOf(5_000, i => [`k${i}`, i])),
  };
  const { expression } = fc.letrec<{ expression: string }>(tie => {
    const inner = tie('expression');
    const call = (name: string, ...args: fc.Arbitrary<string>[]) =>
      fc.tuple(...args).map(all => `${name}(${all.join(', ')})`);
    const by = inner.map(one => `&${one}`);
    return {
      expression: fc.oneof(
        { maxDepth: 6, depthSize: 'medium', withCrossShrink: true },
        fc.constantFrom('text', 'items', 'numbers', 'fields', 's', 'i', 'l', '@', '$', '`1`', "'a'", "''", '`100000`'),
        ...[
          'abs',
          'avg',
          'keys',
          'values',
          'length',
          'max',
          'min',
          'sort',
          'sum',
          'reverse',
          'to_string',
          'to_number',
        ].map(name => call(name, inner)),
        ...['items', 'from_items', 'lower', 'upper', 'trim', 'to_array', 'type'].map(name => call(name, inner)),
        ...['contains', 'starts_with', 'ends_with', 'join', 'split', 'find_first', 'find_last', 'merge', 'zip'].map(
          name => call(name, inner, inner),
        ),
        ...['sort_by', 'max_by', 'min_by', 'group_by'].map(name => call(name, inner, by)),
        call('map', by, inner),
        call('replace', inner, inner, inner),
        call('pad_left', inner, inner, fc.constant("'x'")),
        fc.tuple(inner, fc.constantFrom('==', '<', '&&', '||', '|', '+', '*', '.'), inner).map(all => all.join(' ')),
        fc.tuple(inner, fc.constantFrom('[*]', '[]', '.*', '[0]', '[::-1]', '[::2]')).map(all => all.join('')),
        fc.tuple(inner, inner).map(([list, condition]) => `${list}[?${condition}]`),
        fc.tuple(inner, inner).map(([a, b]) => `[${a}, ${b}]`),
        fc.tuple(inner, inner).map(([a, b]) => `{a: ${a}, b: ${b}}`),
        fc.tuple(inner, inner).map(([a, b]) => `let $x = ${a} in ${b}`),
        inner.map(one => `!(${one})`),
      ),
    };
  });
  const repeated = fc
    .tuple(
      fc.constantFrom('(', '!', '[', '-', '&', 'a.', 'a|', 'a[?', 'a||', '{a:', 'abs(', 'let $a=a in ', 'a[]', 'a+'),
      upTo(4_000),
    )
    .map(([one, size]) => `${one.repeat(size)}a`.slice(0, expressionLimits.source));

  test('that is nested so deep that the stack overflows is refused with a message', () => {
    for (const source of [`a${'[]'.repeat(1_999)}`, `${'['.repeat(1_999)}a${']'.repeat(1_999)}`]) {
      expect(findFilterMistake(source)).toContain('is nested too deep');
      expect(() => compileExpression(source)(context)).toThrow('is nested too deep');
    }
  });

  test('is compiled, checked and evaluated in time', { tags: ['sweep'], timeout }, () => {
    fc.assert(
      fc.property(fc.oneof({ arbitrary: expression, weight: 5 }, repeated), source => {
        expectCheap(`check ${source}`, () => findFilterMistake(source));
        expect(() => findFilterMistake(source)).not.toThrow();
        let evaluate: ((value: unknown) => unknown) | undefined;
        expectCheap(`compile ${source}`, () => {
          evaluate = compileExpression(source);
        });
        if (evaluate) expectCheap(`evaluate ${source}`, () => evaluate!(context));
        expectCheap(`key ${source}`, () => compileGroupKey(source)({ ...context }));
      }),
      effort,
    );
  });
});

describe('Markdown', () => {
  const signs = [
    '*',
    '_',
    '`',
    '~',
    '[',
    '](',
    '![',
    '<',
    '#',
    '-',
    '|',
    '\n',
    '&',
    '@',
    '\\',
    'a',
    '1. ',
    '- ',
    '> ',
    'é',
  ];
  const whole = [
    'http://a.b ',
    'a@b.c ',
    '|a|\n',
    '|-|\n',
    '    ',
    '[a](b)',
    '**a**',
    '```\n',
    '- [ ] ',
    '\u115f\ufdd0\u1160',
  ];
  const markdown = fc
    .tuple(
      fc.array(fc.constantFrom(...signs, ...whole), { minLength: 1, maxLength: 6 }).map(parts => parts.join('')),
      fc.array(fc.constantFrom(...signs, ...whole), { maxLength: 6 }).map(parts => parts.join('')),
      upTo(inlineLimits.markdown),
    )
    .map(([again, after, size]) => again.repeat(Math.ceil(size / again.length)).slice(0, size - after.length) + after);

  test('that is parsed on the event loop is parsed and rendered for every medium in time', {
    tags: ['sweep'],
    timeout,
  }, () => {
    fc.assert(
      fc.property(markdown, textOf(2_000), (source, value) => {
        if (!isCheapMarkdown(source)) return;
        expectCheap(`read ${JSON.stringify(source)}`, () => parseMarkdown(source));
        const blocks = attempt(() => parseMarkdown(source)) ?? [];
        const values = [value];
        expectCheap(`write ${JSON.stringify(source)}`, () => {
          toHtml(blocks, values);
          toText(blocks, values);
          toPreview(blocks, values, 140);
        });
        expectCheap(`cards of ${JSON.stringify(source)}`, () => {
          toAdaptiveCard('a', blocks, values);
          toSlackBlocks('a', blocks, values);
        });
        for (const medium of ['slack', 'discord', 'telegram', 'chat'] as const) {
          expectCheap(`${medium} of ${JSON.stringify(source)}`, () => toChat(medium, blocks, values));
        }
      }),
      effort,
    );
  });
});

describe("a context's schema", () => {
  beforeAll(loadPatterns);

  const pattern = fc
    .tuple(
      fc.constantFrom('', '(?i)', '^', '(?s)'),
      fc.constantFrom(
        'a',
        '\\p{L}',
        '[^\\pL]',
        '[a-\\x{10FFFF}]',
        '(a|b)',
        '.*',
        'a{100}',
        'a{1,3}',
        '(x{1000}|y)',
        '[a-z]',
        '((a{10}){10}){10}',
      ),
      upTo(100),
    )
    .map(([before, one, times]) => (before + one.repeat(times)).slice(0, 500));
  const leaf = fc.oneof(
    fc.constantFrom<JsonObject>(
      ...['string', 'integer', 'array', 'object'].map(type => ({ type })),
      { uniqueItems: true },
      { minProperties: 1 },
      { maxLength: 400_000 },
      { enum: listOf(1_000, i => i) },
      { const: [[{}]] },
      { required: listOf(500, i => `r${i}`) },
      { multipleOf: 0.01, minimum: 0, maximum: 1e6 },
      { additionalProperties: false },
    ),
    fc.constantFrom('uri', 'email', 'hostname', 'ipv6', 'date-time', 'duration', 'uuid').map(format => ({ format })),
    pattern.map(source => ({ pattern: source })),
    pattern.map(source => ({ patternProperties: { [source]: { type: 'string' } } })),
  ) as fc.Arbitrary<JsonObject>;
  const schema = [1, 2, 3].reduce<fc.Arbitrary<JsonObject>>(
    inner =>
      fc.oneof(
        leaf,
        inner.map(one => ({ items: one })),
        inner.map(one => ({ additionalProperties: one })),
        inner.map(one => ({ propertyNames: one })),
        inner.map(one => ({ not: one })),
        fc
          .tuple(fc.constantFrom('allOf', 'anyOf', 'oneOf', 'prefixItems'), inner, upTo(100))
          .map(([keyword, one, count]) => ({ [keyword]: Array(count).fill(one) })),
      ),
    leaf,
  );
  const contexts: Record<string, JsonObject> = {
    numbers: { a: listOf(190_000, i => i % 10) },
    texts: { a: listOf(50_000, i => `text ${i}`) },
    objects: { a: listOf(9_000, i => ({ x: i, y: [i] })) },
    'a long text': { a: 'a'.repeat(1_000_000) },
    emoji: { a: '🔔'.repeat(250_000) },
    fields: { a: Object.fromEntries(listOf(19_000, i => [`k${i}`, i])) },
    'long texts': { a: listOf(450, i => `${i}${'a:/.@-%'.repeat(300)}`) },
    'a long key': { a: { ['k'.repeat(500_000)]: listOf(100, () => 'x') } },
  };

  test('is compiled, and checks a context of 1 MiB, in time', { tags: ['sweep'], timeout }, () => {
    fc.assert(
      fc.property(schema, fc.constantFrom(...Object.keys(contexts)), (inner, name) => {
        const whole: JsonObject = { type: 'object', properties: { a: inner } };
        if (JSON.stringify(whole).length > bodyBytes) return;
        const shown = JSON.stringify(inner).slice(0, 300);
        expectCheap(`mistakes of ${shown}`, () => findSchemaMistakes(whole));
        if (findSchemaMistakes(whole).length > 0) return;
        expectCheap(`compile ${shown}`, () => compileContextSchema(whole));
        expectCheap(`sample of ${shown}`, () => sampleContext(whole));
        expectCheap(`type of ${shown}`, () => toTypeScript('a', [{ path: 'a', name: 'a', context_schema: whole }]));
        const check = compileContextSchema(whole);
        expectCheap(`${name} by ${shown}`, () => check(contexts[name]!));
      }),
      effort,
    );
  });

  test.each<[what: string, inner: JsonObject, context: string]>([
    ['compares a list a hundred times', { anyOf: listOf(100, () => ({ enum: [1] })) }, 'objects'],
    ['checks nothing for each item a hundred times', { items: { allOf: listOf(100, () => true) } }, 'numbers'],
    [
      'counts fields 1,900 times',
      { allOf: listOf(19, () => ({ allOf: listOf(100, () => ({ minProperties: 1 })) })) },
      'fields',
    ],
  ])('that %s gives up in time', (_, inner, name) => {
    const check = compileContextSchema({ type: 'object', properties: { a: inner } });
    expectCheap(name, () => check(contexts[name]!));
  });

  test('with 20 patterns of case-insensitive Unicode classes is refused', () => {
    const properties = Object.fromEntries(listOf(20, i => [`p${i}`, { pattern: '(?i)[a-\\x{10FFFF}]'.repeat(25) }]));
    expectCheap('patterns', () => findSchemaMistakes({ type: 'object', properties }));
    expect(findSchemaMistakes({ type: 'object', properties })[0]?.message).toContain('more than 100 Unicode classes');
    const legitimate = { a: { pattern: "^\\p{L}[\\p{L}\\p{M}' -]*$" }, b: { pattern: '(?i)^(größe|länge)$' } };
    expect(findSchemaMistakes({ type: 'object', properties: legitimate })).toEqual([]);
  });
});

describe('a configuration document', () => {
  const notification = { channels: ['email'], recipients: {}, message: { subject: 's', body: 'b' } };
  const notifications = (more: (i: number) => object, count: number) => ({
    projects: [
      {
        slug: 'p',
        name: 'P',
        applications: [
          {
            slug: 'a',
            name: 'A',
            events: [
              {
                slug: 'e',
                name: 'E',
                notifications: listOf(count, i => ({ name: `n${i}`, ...notification, ...more(i) })),
              },
            ],
          },
        ],
      },
    ],
  });
  const members = (write: (i: number) => string) => ({
    projects: [{ slug: 'p', name: 'P', distribution_lists: [{ name: 'l', members: listOf(100_000, write) }] }],
  });
  const documents: Record<string, () => object> = {
    'of filters': () => notifications(() => ({ filter: `${'a.b || '.repeat(570)}a == \`1\`` }), 1_000),
    'of unknown channels': () => ({
      channels: [],
      ...notifications(() => ({ channels: listOf(100, j => `c${j}`) }), 1_000),
    }),
    'of schedules': () => notifications(() => ({ digest: { every: `0 8 * * ${'1-5,'.repeat(20)}0` } }), 1_000),
    'of members': () => members(i => `é${i}@${'a.'.repeat(40)}test`),
    'of one member 100,000 times': () => members(() => 'a@b.test'),
    'of time zones': () => ({ users: listOf(9_000, i => ({ email: `u${i}@a.test`, timezone: `Europe/Berli${i}` })) }),
    'of phone numbers': () => ({
      users: [
        { email: 'a@b.test', addresses: listOf(6_000, i => ({ name: 'phone', value: `+4930${1_000_000 + i}` })) },
      ],
    }),
  };

  /** Returns the CPU time between each two yields to the event loop. */
  function costsOfSlices(document: unknown): number[] {
    const work = checkDocument(document, () => []);
    const costs: number[] = [];
    for (let isDone: boolean | undefined = false; !isDone; ) {
      costs.push(
        costOf(() => {
          // A document with mistakes ends with an error.
          isDone = true;
          isDone = work.next().done;
        }),
      );
    }
    return costs;
  }

  test.each(Object.entries(documents))('%s is checked in short slices', { tags: ['sweep'], timeout }, (_, write) => {
    // Parsed, like every document: text that was put together in the test costs more to read.
    const parsed = () => JSON.parse(JSON.stringify({ organizations: [{ slug: 'a', name: 'A', ...write() }] }));
    let costs = costsOfSlices(parsed());
    // The cheapest of each slice: garbage may be collected in any.
    for (let i = 0; i < 4 && isTooSlow(Math.max(...costs)); i++) {
      const others = costsOfSlices(parsed());
      costs = costs.map((cost, slice) => Math.min(cost, others[slice] ?? cost));
    }
    expect(Math.max(...costs)).toBeLessThanOrEqual(maxMsFor(Math.max(...costs)));
  });
});

test('an event with many heavy filters yields to the event loop between them', {
  tags: ['sweep'],
  timeout,
}, async () => {
  const context = { numbers: listOf(100_000, i => i) };
  const matches = (value: unknown) => compileExpression('length(numbers[?abs(@) < `0`]) > `0`')(value).isTrue;
  const heavy = listOf(200, id => ({
    id: id + 1,
    name: `n${id}`,
    active: true,
    environs: null,
    channels: [],
    matches,
  }));
  const plan = { organization: { id: 1 }, project: { id: 1 }, notifications: heavy } as never;
  let longest = 0;
  let isOver = false;
  const turns = (async () => {
    let last = process.threadCpuUsage();
    while (!isOver) {
      await new Promise(setImmediate);
      longest = Math.max(longest, cpuMs(last));
      last = process.threadCpuUsage();
    }
  })();
  const plans = { listUsable: async () => [] };
  const { refused } = await decidePage({ plans, recipients: {} } as never, plan, {
    context,
    options: {},
    cursor: null,
    now: 0,
    limit: 1_000,
  });
  isOver = true;
  await turns;
  expect(refused).toHaveLength(200);
  // Filters take up to 20 ms each, and one or two run in the same turn.
  expect(longest).toBeLessThanOrEqual(4 * maxMsFor(longest));
});
