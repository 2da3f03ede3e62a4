import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanJson, deepest, isCleanJson } from '../src/core/json.ts';

const clean = (value: unknown) => {
  const errors = {};
  return { value: cleanJson(structuredClone(value), errors), errors };
};

describe('what looks clean at a glance', () => {
  test('is what cleaning would neither change nor complain about', () => {
    const value = fc.jsonValue({ maxDepth: deepest + 2, stringUnit: 'binary' });
    fc.assert(
      fc.property(value, given => {
        if (isCleanJson(given)) expect(clean(given)).toEqual({ value: given, errors: {} });
      }),
    );
  });

  const nested = (levels: number): unknown => (levels === 0 ? 'x' : { next: nested(levels - 1) });

  test.each([
    ['plain text, numbers, arrays', { text: 'Ann, 5 apples\n', list: [1, null, true, 'x'], more: { deep: [] } }],
    ['as deep as allowed', nested(deepest + 1)],
  ])('covers %s', (_what, value) => {
    expect(isCleanJson(value)).toBe(true);
  });

  test.each([
    ['NUL in a value', { a: ['x\0'] }],
    ['NUL in a key', { 'a\0': 1 }],
    ['half a surrogate pair', { a: '\ud800' }],
    ['text that is not in NFC', { a: 'e\u0301' }],
    ['a key that is not in NFC', { 'e\u0301': 1 }],
    ['a number too large', { a: [JSON.parse('1e999')] }],
    ['too deep', nested(deepest + 2)],
  ])('is not %s', (_what, value) => {
    expect(isCleanJson(value)).toBe(false);
  });
});
