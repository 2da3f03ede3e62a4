/** What the console says about a test send. */
import { expect, test } from 'vitest';
import { isProviderAnswer } from '../../console/src/test-result.ts';

test('a detail is called the answer of the provider only if the provider gave it', () => {
  const answered = [
    '550 5.1.1 no such mailbox',
    '400: invalid number',
    'Slack rejected the bot token (401: invalid_auth): create another. Enter the new value in the channel’s settings (token).',
  ];
  const own = ['connect ECONNREFUSED 127.0.0.1:25', 'no answer within 10 s', 'the channel has no provider: add one'];
  expect(answered.map(detail => isProviderAnswer({ reason: 'provider.failed', detail }))).toEqual([true, true, true]);
  expect(own.map(detail => isProviderAnswer({ reason: 'provider.failed', detail }))).toEqual([false, false, false]);
  for (const reason of ['address.suppressed', 'template.invalid', 'unknown', null]) {
    expect(isProviderAnswer({ reason, detail: '550 5.1.1 no such mailbox' })).toBe(false);
  }
  expect(isProviderAnswer({ reason: 'provider.failed', detail: null })).toBe(false);
});
