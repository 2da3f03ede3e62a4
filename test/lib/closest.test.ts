import { expect, test } from 'vitest';
import { closestOf } from '../../src/lib/closest.ts';

const names = ['apply', 'backup', 'occurrences', 'plan', 'restore', 'resume'];

test.for([
  ['aply', 'apply'],
  ['paln', 'plan'],
  ['occurences', 'occurrences'],
  ['resotre', 'restore'],
  ['frobnicate', undefined],
  ['x', undefined],
  ['', undefined],
  ['apply'.repeat(30), undefined],
])('for %s, %s was probably meant', ([text, meant]) => {
  expect(closestOf(text!, names)).toBe(meant);
});
