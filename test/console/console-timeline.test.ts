/** The timeline of an occurrence says what became of its messages. */
import { expect, test } from 'vitest';
import { timeAgo } from '../../console/src/components/time-ago.ts';
import { explainEmpty, stagesOf, type TimelineOccurrence } from '../../console/src/pages/occurrences/timeline-steps.ts';

const none = { pending: 0, sent: 0, failed: 0, suppressed: 0, cancelled: 0, expired: 0, unknown: 0 };
const at = '2026-01-01T20:00:00Z';

type Change = Omit<Partial<TimelineOccurrence>, 'counts'> & { counts?: Partial<typeof none> };

function read({ counts, ...change }: Change): string[] {
  const occurrence = {
    status: 'completed',
    outcome: 'sent',
    reason: null,
    created_at: at,
    completed_at: null,
    scheduled_for: null,
    state: change.outcome ?? 'sent',
    waiting_until: null,
    options: {},
    ...change,
    counts: { ...none, ...counts },
  } as TimelineOccurrence;
  const stages = stagesOf(occurrence, [], moment => moment.slice(11, 16));
  return stages.map(({ name, state, note }) => `${name}: ${state}${note ? ` (${note})` : ''}`);
}

test('all messages were sent', () => {
  expect(read({ counts: { sent: 2, suppressed: 1 } })).toEqual([
    'Accepted: done',
    'Recipients resolved: done',
    'Messages sent: done',
    'Completed: ended',
  ]);
});

test.each([
  ['failed', { failed: 2 }, '0 of 2 sent: failed'],
  ['failed', { failed: 12_345 }, '0 of 12,345 sent: failed'],
  ['partly_failed', { sent: 1, failed: 1 }, '1 of 2 sent: partly'],
  ['unknown', { unknown: 1 }, '0 of 1 sent, 1 may have arrived: partly'],
  ['cancelled', { cancelled: 1 }, '0 of 1 sent: ended'],
  ['expired', { sent: 1, expired: 2 }, '1 of 3 sent: partly'],
  ['suppressed', { suppressed: 3 }, 'No messages sent: ended'],
] as const)('the messages of an occurrence that is %s do not count as sent', (outcome, counts, expected) => {
  expect(read({ outcome, counts })[2]).toBe(expected);
});

test('an occurrence that crashed or had no recipients has resolved none', () => {
  expect(read({ outcome: 'failed', reason: 'crashed' }).slice(1, 3)).toEqual([
    'Recipients not resolved: failed',
    'No messages sent: failed',
  ]);
  expect(read({ outcome: 'no_recipients', reason: 'no_recipients' })[1]).toBe('Recipients resolved: ended');
});

test('a scheduled occurrence resolves no recipients yet', () => {
  const scheduled: Change = { status: 'accepted', outcome: 'scheduled', scheduled_for: '2026-01-02T09:00:00Z' };
  expect(read(scheduled)).toEqual([
    'Accepted: done',
    'Scheduled: now (09:00)',
    'Recipients resolved: open',
    'Messages sent: open',
    'Completed: open',
  ]);
  expect(explainEmpty('scheduled')).toBe('Recipients are resolved when it is due.');
  expect(explainEmpty('expanding')).toBe('Resolving recipients.');
});

const later = '2026-01-01T21:13:00Z';

test.each([
  [{ state: 'waiting_digest', waiting_until: later }, 'Waiting for the digest at 21:13'],
  [{ state: 'waiting_quiet_hours', waiting_until: later }, 'Waiting for the end of quiet hours at 21:13'],
  [{ state: 'waiting', waiting_until: later }, 'Waiting until 21:13'],
  [{ state: 'retrying', waiting_until: later }, 'Next attempt at 21:13'],
  [{ outcome: 'held', state: 'held' }, 'Held, and sent when the pause ends'],
  [{ state: 'sending' }, undefined],
] as const)('what %j waits for is shown', (change, note) => {
  const stages = read({ status: 'sending', outcome: 'sending', counts: { pending: 1 }, ...change });
  expect(stages[2]).toBe(`Messages sent: now${note ? ` (${note})` : ''}`);
});

test('a time to come is rounded, so that an invite of seven days says seven after a moment', () => {
  const now = Date.parse(at);
  expect(timeAgo(new Date(now + 7 * 86_400_000 - 4_000).toISOString(), now)).toBe('in 7 days');
  expect(timeAgo(new Date(now - 86_400_000 * 1.9).toISOString(), now)).toBe('yesterday');
});
