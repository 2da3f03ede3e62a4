/** What makes two reports the same event. */
import { expect, test } from 'vitest';
import { type FeedbackEvent, feedbackEvent } from '../../src/core/feedback/event.ts';
import { feedbackKey } from '../../src/core/feedback/identify.ts';

const keyOf = (type: FeedbackEvent['type'], at: string, more: Partial<FeedbackEvent> = {}) =>
  feedbackKey('postmark', { ...feedbackEvent({ type, messageId: 'm-1', at }), ...more });

test.each(['opened', 'clicked'] as const)('those who %s a mail twice within an hour count once', type => {
  const first = keyOf(type, '2026-11-17T10:00:00.000Z');
  expect(keyOf(type, '2026-11-17T10:59:59.999Z')).toBe(first);
  expect(keyOf(type, '2026-11-17T11:00:00.000Z')).not.toBe(first);
  expect(keyOf(type, '2026-11-17T09:59:59.999Z')).not.toBe(first);
});

test('two bounces within an hour are two events', () => {
  expect(keyOf('bounced', '2026-11-17T10:00:01.000Z')).not.toBe(keyOf('bounced', '2026-11-17T10:00:00.000Z'));
});

test('clicks of different links count separately', () => {
  const at = '2026-11-17T10:00:00.000Z';
  expect(keyOf('clicked', at, { link: 'https://a.test' })).not.toBe(keyOf('clicked', at, { link: 'https://b.test' }));
});
