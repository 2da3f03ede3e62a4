/** Filters yield true or false. Other expressions are refused when they are saved, and never match. */
import { expect, test } from 'vitest';
import { compilePredicate, findFilterMistake } from '../../src/core/expressions/expressions.ts';

test.each([
  "plan = 'pro'",
  "a == `1` && plan = 'pro'",
  "users[?plan = 'pro'] == `[]`",
  'let $x = (plan = name) in $x == `1`',
])('%s is refused because of its single =', expression => {
  expect(findFilterMistake(expression)).toBe('has a single "=": did you mean "=="?');
});

test.each([
  ['items[?total > `5`]', 'a list'],
  ['items[*].total', 'a list'],
  ['items[]', 'a list'],
  ['totals[1:2]', 'a list'],
  ['[a, b]', 'a list'],
  ['{a: b}', 'an object'],
  ['merge(a, b)', 'an object'],
  ['total + `1`', 'a number'],
  ['-total', 'a number'],
  ['length(items)', 'a number'],
  ["join(', ', names)", 'a text'],
  ['`5`', 'always 5'],
  ["'yes'", 'always "yes"'],
  ['a | length(@)', 'a number'],
  ['a && length(items)', 'a number'],
  ['length(items) || b', 'a number'],
  ['a ? length(items) : b', 'a number'],
  ['let $x = a in length($x)', 'a number'],
])('%s is refused because it yields %s', (expression, what) => {
  expect(findFilterMistake(expression)).toContain(`yields ${what}, but must yield true or false`);
});

test.each([
  'amount > `0`',
  'premium',
  'user.premium',
  'flags[0]',
  '!premium',
  '`true`',
  "contains(tags, 'gold')",
  'length(items[?total > `5`]) > `0`',
  'name && total > `5`',
  "a == 'x' || b == 'y'",
  'let $limit = limits.total in total > $limit',
  "text == 'a = b'",
])('%s is accepted as a filter', expression => {
  expect(findFilterMistake(expression)).toBeUndefined();
});

test.each([{ value: 'yes' }, { value: 1 }, { value: ['x'] }, { value: { a: 1 } }, { value: null }, { value: false }])(
  'a field with the value $value does not match, and true does',
  ({ value }) => {
    const matches = compilePredicate('flag');
    expect(matches({ flag: value })).toBe(false);
    expect(matches({ flag: true })).toBe(true);
  },
);
