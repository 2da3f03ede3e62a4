/** Personal rules in the console: as sentences, and as rows of the form. */
import { expect, test } from 'vitest';
import { describeRules, type Reach, readRule, toDraftRule } from '../../console/src/pages/users/reach-text.ts';

test.each<[string, Reach['normal']]>([
  [
    'Mobile push message now, SMS message after 5 minutes, 3 calls every 3 minutes',
    [{ by: 'push' }, { by: 'sms', after: '5m' }, { by: 'voice', after: '3m', repeat: 3 }],
  ],
  [
    'Call after 1 hour, 2 emails every 90 seconds',
    [
      { by: 'voice', after: '60m' },
      { by: 'email', after: '90s', repeat: 2 },
    ],
  ],
])('rules are described as: %s', (sentence, rules = []) => {
  expect(describeRules(rules)).toBe(sentence);
});

test('rules are the same after they were rows of the form', () => {
  const rules: Reach['normal'] = [
    { by: 'push' },
    { by: 'sms', after: '90s' },
    { by: 'voice', after: '3m', repeat: 3 },
    { by: 'email', after: '2h' },
  ];
  expect(rules.map(toDraftRule).map(readRule)).toEqual(rules);
});

test('a row without minutes and times is sent once and now', () => {
  expect(readRule({ by: 'sms', minutes: '', times: '' })).toEqual({ by: 'sms' });
});
