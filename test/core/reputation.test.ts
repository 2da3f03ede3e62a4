/** When the reputation guard pauses bulk messages, and which messages are bulk. */
import { expect, test } from 'vitest';
import { findBreach, isBulk, reputationDefaults } from '../../src/core/feedback/reputation.ts';
import { priorities } from '../../src/core/trigger.ts';

test.each([
  ['few messages', { messages: 199, bounced: 199, complained: 199 }, undefined],
  ['a share at the limit', { messages: 1_000, bounced: 50, complained: 3 }, undefined],
  [
    'more bounces',
    { messages: 1_000, bounced: 51, complained: 3 },
    '5.1 % of 1000 messages bounced permanently (limit 5 %)',
  ],
  [
    'more of both',
    { messages: 200, bounced: 20, complained: 1 },
    '10 % of 200 messages bounced permanently (limit 5 %), and 0.5 % of 200 messages were reported as spam (limit 0.3 %)',
  ],
])('the guard answers %s with the breached limits', (_, counts, breach) => {
  expect(findBreach(counts, reputationDefaults)).toBe(breach);
});

test('a message is bulk by its priority, unless its category is required', () => {
  const kinds = ['required', 'transactional', 'promotional'] as const;
  const bulk = priorities.flatMap((name, priority) =>
    kinds.filter(kind => isBulk({ priority }, { kind })).map(kind => `${name} ${kind}`),
  );
  expect(bulk).toEqual(['bulk transactional', 'bulk promotional']);
});
