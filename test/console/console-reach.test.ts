/** Why a trigger sends nothing, as the console says before and after it. */
import { expect, test } from 'vitest';
import { describeReach, whyNothing } from '../../console/src/events/describe-reach.ts';

const notification = { reason: null, deliveries: 0, suppressed: {} };

test.each([
  [[{ ...notification, reason: 'filter.no_match' as const }], 'the notification’s filter does not match the context'],
  [[{ ...notification, suppressed: { 'preference.off': 3 } }], 'the user has opted out, or has never opted in'],
  [[{ ...notification, reason: 'notification.inactive' as const }], 'the notification is switched off'],
  [[notification], 'no notification found any recipients'],
  [[], 'no notification found any recipients'],
])('a trigger of %j sends nothing, with the reason', (notifications, why) => {
  const text = describeReach({ notifications, complete: true }).replaceAll("'", '’');
  expect(text).toBe(`No messages will be sent: ${why}.`);
});

test('the number of messages is that of all notifications', () => {
  expect(describeReach({ notifications: [{ ...notification, deliveries: 1 }], complete: true })).toBe(
    '1 message will be sent to a real recipient.',
  );
  const many = [
    { ...notification, deliveries: 6_000 },
    { ...notification, deliveries: 4_000 },
  ];
  expect(describeReach({ notifications: many, complete: false })).toBe(
    '10,000+ messages will be sent to real recipients.',
  );
});

test('an occurrence whose condition did not match is not said to lack recipients', () => {
  expect(whyNothing(['filter.no_match'])).toContain('filter does not match');
});
