import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanJson, isCleanJson, maxJsonDepth } from '../../src/core/json.ts';

const clean = (value: unknown) => {
  const errors = {};
  return { value: cleanJson(structuredClone(value), errors), errors };
};

describe('isCleanJson', () => {
  test('is true only for values that cleanJson neither changes nor refuses', { tags: ['sweep'] }, () => {
    const value = fc.jsonValue({ maxDepth: maxJsonDepth + 2, stringUnit: 'binary' });
    fc.assert(
      fc.property(value, input => {
        if (isCleanJson(input)) expect(clean(input)).toEqual({ value: input, errors: {} });
      }),
    );
  });

  const nested = (levels: number): unknown => (levels === 0 ? 'x' : { next: nested(levels - 1) });

  test.each([
    ['plain text, numbers, arrays', { text: 'Ann, 5 apples\n', list: [1, null, true, 'x'], more: { deep: [] } }],
    ['the maximum depth', nested(maxJsonDepth + 1)],
  ])('is true for %s', (_what, value) => {
    expect(isCleanJson(value)).toBe(true);
  });

  test.each([
    ['NUL in a value', { a: ['x\0'] }],
    ['NUL in a key', { 'a\0': 1 }],
    ['half a surrogate pair', { a: '\ud800' }],
    ['text that is not in NFC', { a: 'e\u0301' }],
    ['a key that is not in NFC', { 'e\u0301': 1 }],
    ['a number too large', { a: [JSON.parse('1e999')] }],
    ['a value nested too deep', nested(maxJsonDepth + 2)],
  ])('is false for %s', (_what, value) => {
    expect(isCleanJson(value)).toBe(false);
  });
});
