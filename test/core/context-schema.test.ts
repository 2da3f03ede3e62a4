/** Context schemas: which schemas and contexts are accepted, compared with Ajv, and that neither check takes long. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileContextSchema } from '../../src/core/context-schema/check.ts';
import { loadPatterns } from '../../src/core/context-schema/patterns.ts';
import { sampleContext } from '../../src/core/context-schema/sample.ts';
import { findSchemaMistakes } from '../../src/core/context-schema/schema.ts';
import { AppError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { cpuMs } from '../support/cpu-time.ts';

beforeAll(loadPatterns);

/** Returns messages by field; undefined when the context is accepted. */
function errorsOf(schema: JsonObject, context: JsonObject) {
  expect(findSchemaMistakes(schema)).toEqual([]);
  try {
    compileContextSchema(schema)(context);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('context.invalid');
    return error.details.fields;
  }
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });

describe('a schema is refused for', () => {
  const of = (inner: Json) => object({ a: inner });
  const deep = (levels: number): JsonObject => (levels === 0 ? {} : { items: deep(levels - 1) });
  const doubled = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      `d${i}`,
      { allOf: i === 19 ? [true] : [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
    ]),
  ) as JsonObject;
  test.each<[string, Json, string, string]>([
    ['a misspelt keyword', { type: 'object', requried: ['a'] }, 'requried', 'not a supported keyword'],
    ['another type at the top', { type: 'array' }, 'type', 'must be "object" at the top'],
    ['no type at the top', {}, 'type', 'must be "object" at the top'],
    ['an unknown type', of({ type: 'text' }), 'properties/a/type', 'must be one of object, array'],
    ['a keyword with a value of the wrong type', object({}, { required: 'a' }), 'required', 'must be an array'],
    ['a subschema that is not a schema', object({ a: 'string' }), 'properties/a', 'must be an object or a boolean'],
    ['an external reference', of({ $ref: 'https://x.test/s.json' }), 'properties/a/$ref', 'below $defs'],
    ['a reference without a target', of({ $ref: '#/$defs/b' }), 'properties/a/$ref', 'does not exist'],
    [
      'a recursive reference',
      { type: 'object', $defs: { t: { items: { $ref: '#/$defs/t' } } }, properties: { a: { $ref: '#/$defs/t' } } },
      'properties/a/items/$ref',
      'contains itself',
    ],
    [
      'references that expand to too many subschemas',
      { ...of({ $ref: '#/$defs/d0' }), $defs: doubled },
      '',
      'more than 2000 subschemas',
    ],
    [
      'look-around',
      of({ pattern: '(?=a)b' }),
      'properties/a/pattern',
      'look-around and back-references are not supported',
    ],
    ['an invalid pattern', object({}, { patternProperties: { '(': {} } }), 'patternProperties/(', 'cannot be used'],
    ['a pattern that is too large', of({ pattern: '(a{100}){10}' }), 'properties/a/pattern', 'too large a pattern'],
    ['a pattern that is too long', of({ pattern: 'a'.repeat(501) }), 'properties/a/pattern', 'longer than 500'],
    [
      'too many patterns',
      object(Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`p${i}`, { pattern: 'a' }]))),
      '',
      'more than 20 patterns',
    ],
    ['an unknown format', of({ format: 'regex' }), 'properties/a/format', 'must be one of date'],
    ['being too long', of({ description: 'x'.repeat(65_536) }), '', 'longer than 65536'],
    ['being nested too deep', of(deep(70)), '', 'levels deep'],
  ])('%s', (_, schema, at, message) => {
    expect(findSchemaMistakes(schema)).toContainEqual({ at, message: expect.stringContaining(message) });
  });
});

describe('a context is refused with the path of the field that', () => {
  test.each<[string, JsonObject, JsonObject, Record<string, string>]>([
    ['is missing', object({}, { required: ['a'] }), {}, { 'context/a': 'is required' }],
    ['has the wrong type', object({ a: { type: 'integer' } }), { a: 1.5 }, { 'context/a': 'must be a whole number' }],
    [
      'is nested',
      object({ a: { type: 'array', items: object({ b: { type: ['string', 'null'] } }) } }),
      { a: [{ b: 'x' }, { b: 1 }] },
      { 'context/a/1/b': 'must be a string or null' },
    ],
    [
      'is unknown',
      object({ a: {} }, { additionalProperties: false }),
      { aa: 1 },
      { 'context/aa': 'is not a known field (known: a)' },
    ],
    ['is too short', object({ a: { minLength: 3 } }), { a: 'ab' }, { 'context/a': 'is shorter than 3 characters' }],
    ['is too long', object({ a: { maxLength: 1 } }), { a: 'ab' }, { 'context/a': 'is longer than 1 characters' }],
    ['is not in the enum', object({ a: { enum: ['x', 2] } }), { a: 3 }, { 'context/a': 'must be one of x, 2' }],
    ['is too small', object({ a: { minimum: 2 } }), { a: 1 }, { 'context/a': 'must be at least 2' }],
    [
      'has duplicate items',
      object({ a: { uniqueItems: true } }),
      { a: [{ b: 1 }, { b: 1 }] },
      { 'context/a': 'must not contain duplicate items' },
    ],
    [
      'matches no branch of a union',
      object({ a: { anyOf: [{ type: 'string' }, { type: 'null' }] } }),
      { a: 1 },
      { 'context/a': 'must be a string' },
    ],
    [
      'another field requires',
      object({ a: {} }, { dependentRequired: { a: ['b'] } }),
      { a: 1 },
      { 'context/b': 'is required' },
    ],
    [
      'does not match a reference',
      { ...object({ a: { $ref: '#/$defs/n', description: 'd' } }), $defs: { n: { type: 'number' } } },
      { a: 'x' },
      { 'context/a': 'must be a number' },
    ],
    [
      'does not match the keywords beside a reference',
      { ...object({ a: { $ref: '#/$defs/n', maximum: 3 } }), $defs: { n: { type: 'number' } } },
      { a: 4 },
      { 'context/a': 'must be at most 3' },
    ],
    [
      'is not a valid email',
      object({ a: { format: 'email' } }),
      { a: 'x' },
      { 'context/a': 'is not a valid email address' },
    ],
    ['has a slash in its name', object({ 'a/b': { type: 'null' } }), { 'a/b': 1 }, { 'context/a/b': 'must be null' }],
  ])('%s', (_, schema, context, expected) => {
    const found = errorsOf(schema, context);
    expect(Object.keys(found ?? {})).toEqual(Object.keys(expected));
    for (const [field, message] of Object.entries(expected)) expect(found![field]![0]).toContain(message);
  });

  test('is missing even if every object inherits a property of that name', () => {
    expect(errorsOf(object({}, { required: ['constructor'] }), {})).toEqual({ 'context/constructor': ['is required'] });
    expect(errorsOf(object({ toString: { type: 'null' } }), {})).toBeUndefined();
  });

  test('is not a multiple, where rounding errors are tolerated', () => {
    const schema = object({ a: { multipleOf: 0.01 } });
    expect(errorsOf(schema, { a: 19.99 })).toBeUndefined();
    expect(errorsOf(schema, { a: 19.995 })).toEqual({ 'context/a': ['must be a multiple of 0.01'] });
  });
});

describe('the check agrees with Ajv', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const small = fc.integer({ min: 0, max: 3 });
  const leaf = fc.oneof(
    small,
    fc.constantFrom<Json>('', 'a', 'ab', '😀😀', 1.5, -1, true, false, null, '2030-01-31', 'a@b.test'),
  );
  const { value } = fc.letrec<{ value: Json }>(tie => ({
    value: fc.oneof(
      { maxDepth: 2 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  const type = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null');
  const pattern = fc.constantFrom('^a', 'b$', '^(a|b)+$');
  const keywordsOf = (inner: fc.Arbitrary<Json>): Record<string, fc.Arbitrary<unknown>> => {
    const list = fc.array(inner, { minLength: 1, maxLength: 2 });
    const map = fc.dictionary(name, inner, { maxKeys: 2, noNullPrototype: true });
    return {
      type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
      enum: fc.array(value, { minLength: 1, maxLength: 3 }),
      const: value,
      minimum: small,
      maximum: small,
      exclusiveMinimum: small,
      exclusiveMaximum: small,
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: small,
      maxLength: small,
      pattern,
      items: inner,
      prefixItems: list,
      minItems: small,
      maxItems: small,
      uniqueItems: fc.boolean(),
      properties: map,
      required: fc.uniqueArray(name),
      additionalProperties: inner,
      patternProperties: fc.dictionary(pattern, inner, { maxKeys: 1, noNullPrototype: true }),
      propertyNames: inner,
      minProperties: small,
      maxProperties: small,
      dependentRequired: fc.dictionary(name, fc.uniqueArray(name), { maxKeys: 2, noNullPrototype: true }),
      allOf: list,
      anyOf: list,
      oneOf: list,
      not: inner,
      if: inner,
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: inner,
      else: inner,
    };
  };
  /** A few keywords at each of three levels. */
  const schema = [1, 2, 3].reduce<fc.Arbitrary<Json>>(inner => {
    const one = Object.entries(keywordsOf(inner)).map(([keyword, made]) => made.map(got => ({ [keyword]: got })));
    const some = fc.array(fc.oneof(...one), { maxLength: 3 }).map(parts => Object.assign({}, ...parts) as Json);
    return fc.oneof({ arbitrary: fc.boolean(), weight: 1 }, { arbitrary: some, weight: 6 });
  }, fc.boolean());
  const ajv = new Ajv2020({ strict: false, validateSchema: false });

  /** Returns undefined where Ajv itself throws, as it does for some unions with an empty schema. */
  function isValidByAjv(whole: JsonObject, context: JsonObject): boolean | undefined {
    try {
      return ajv.compile(whole)(context);
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
      return undefined;
    } finally {
      ajv.removeSchema(whole);
    }
  }

  test('on random schemas and contexts', { tags: ['sweep'] }, () => {
    let [accepted, refused] = [0, 0];
    fc.assert(
      fc.property(schema, value, (inner, context) => {
        const whole = object({ a: inner });
        expect(findSchemaMistakes(whole)).toEqual([]);
        const isValid = isValidByAjv(whole, { a: context });
        fc.pre(isValid !== undefined);
        expect(errorsOf(whole, { a: context }) === undefined).toBe(isValid);
        if (isValid) accepted++;
        else refused++;
      }),
      { numRuns: 1_000 },
    );
    // Ensures that the generated cases include both valid and invalid contexts.
    expect(Math.min(accepted, refused)).toBeGreaterThan(100);
  });
});

describe('the check takes no longer than a trigger may', () => {
  function timed(work: () => unknown): number {
    const start = process.threadCpuUsage();
    work();
    return cpuMs(start);
  }

  /** Twenty times the longest CPU time measured on an idle machine. */
  const maxMs = 1_000;

  test('to compile a large schema', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, i) => [`p${i}`, { type: 'string', maxLength: 9 }]),
    );
    expect(timed(() => errorsOf(object(properties), {}))).toBeLessThan(maxMs);
  });

  test('to check a large context', () => {
    const branches = Array.from({ length: 100 }, (_, i) => ({ type: 'object', properties: { k: { const: i } } }));
    const union = object({ a: { type: 'array', items: { anyOf: branches } } });
    const many = { a: Array.from({ length: 20_000 }, () => ({ k: 200 })) };
    const mistakes = timed(() => expect(Object.keys(errorsOf(union, many)!)).toHaveLength(100));
    expect(mistakes).toBeLessThan(maxMs);
    const numbers = object({ a: { type: 'array', items: { anyOf: branches.map(() => ({ type: 'number' })) } } });
    const long = timed(() =>
      expect(errorsOf(numbers, { a: Array.from({ length: 500_000 }, () => 1) })).toEqual({
        context: ["is too large to be checked against the event's schema"],
      }),
    );
    expect(long).toBeLessThan(maxMs);
  });

  test('with a pattern that causes catastrophic backtracking in other engines', () => {
    const evil = object({ a: { type: 'array', items: { pattern: '^(x+x+)+y$' } } });
    const texts = Array.from({ length: 1_000 }, () => 'x'.repeat(1_000));
    expect(timed(() => errorsOf(evil, { a: texts }))).toBeLessThan(maxMs);
  });
});

describe('a sample', () => {
  test('consists of examples, defaults, and placeholders for the types', () => {
    const schema = {
      ...object({
        order: { type: 'string', examples: ['A-1'] },
        amount: { type: 'number', default: 5 },
        count: { type: 'integer', minimum: 3 },
        state: { enum: ['new', 'old'] },
        at: { type: 'string', format: 'date-time' },
        note: { type: ['null', 'string'] },
        items: { type: 'array', items: { $ref: '#/$defs/item' } },
        either: { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
      }),
      $defs: { item: object({ name: { type: 'string' } }) },
    };
    const sample = sampleContext(schema);
    expect(sample).toEqual({
      order: 'A-1',
      amount: 5,
      count: 3,
      state: 'new',
      at: '2030-01-31T09:00:00Z',
      note: 'note',
      items: [{ name: 'name' }],
      either: true,
    });
    expect(errorsOf(schema, sample)).toBeUndefined();
  });

  test('of the whole is taken before those of its parts', () => {
    expect(sampleContext(object({ a: {} }, { examples: [{ a: 'whole' }] }))).toEqual({ a: 'whole' });
  });
});
