/** The sentence about an occurrence says what its counts say, in every combination. */
import { expect, test } from 'vitest';
import { type SummaryCounts, type SummaryFacts, summarizeOccurrence } from '../../src/core/decision/summary.ts';
import { type OccurrenceState, occurrenceStates } from '../../src/core/history/states.ts';
import { combinations } from '../support/combinations.ts';

const statuses = ['sent', 'failed', 'unknown', 'suppressed', 'cancelled', 'expired', 'pending'] as const;
const words: Record<(typeof statuses)[number], RegExp> = {
  sent: /\b(was|were) sent\b/,
  failed: /\bfailed\b/,
  unknown: /\bmay have arrived\b/,
  suppressed: /\b(was|were) suppressed\b/,
  cancelled: /\b(was|were) cancelled\b/,
  expired: /\bexpired\b/,
  pending: /\b(is|are) pending\b/,
};
const open = [
  'scheduled',
  'held',
  'expanding',
  'sending',
  'retrying',
  'waiting',
  'waiting_digest',
  'waiting_quiet_hours',
  'waiting_silence',
  'escalating',
];

const say = (state: OccurrenceState, counts: SummaryCounts, more: Partial<SummaryFacts> = {}) =>
  summarizeOccurrence({ state, counts, ...more });

test('the sentence agrees with the counts in every state and for every combination of up to three outcomes', {
  tags: ['sweep'],
}, () => {
  let checked = 0;
  for (const state of Object.keys(occurrenceStates) as OccurrenceState[]) {
    if (state === 'dry_run' || state === 'no_recipients') continue;
    for (const counts of combinations(statuses, 3, [1, 1_200])) {
      const text = say(state, counts);
      const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
      const kinds = Object.keys(counts).length;
      const about = `${state} ${JSON.stringify(counts)}: ${text}`;
      const isLeadOnly = kinds === 1 && counts.pending && open.includes(state) && state !== 'escalating';
      for (const status of statuses) {
        if (status === 'pending' && isLeadOnly) continue;
        expect(words[status].test(text), `${status} in ${about}`).toBe(counts[status] !== undefined);
      }
      expect(/\bAll\b(?! steps)/.test(text), about).toBe(kinds === 1 && total > 1 && !isLeadOnly);
      expect(text.replace('All steps ran and no one acknowledged it.', ''), about).not.toMatch(
        /\b(no|none|not|nothing)\b/i,
      );
      const stated = [...text.replaceAll(',', '').matchAll(/\d+/g)].map(([number]) => Number(number));
      if (kinds > 1) expect([stated[0], stated.slice(1).reduce((sum, n) => sum + n, 0)], about).toEqual([total, total]);
      else if (total > 1 && !isLeadOnly) expect(stated, about).toEqual([total]);
      checked++;
    }
  }
  expect(checked).toBeGreaterThan(5_000);
});

test.each<[OccurrenceState, SummaryCounts, Partial<SummaryFacts>, string]>([
  ['sent', { sent: 1 }, {}, 'The message was sent.'],
  ['sent', { sent: 1, suppressed: 3 }, {}, 'Of 4 messages, 1 was sent and 3 were suppressed.'],
  ['unknown', { sent: 2, unknown: 1 }, {}, 'Of 3 messages, 2 were sent and 1 may have arrived.'],
  ['unknown', { unknown: 1 }, {}, 'The message may have arrived: the response of the provider was lost.'],
  [
    'partly_failed',
    { sent: 1_200, failed: 1, unknown: 2 },
    {},
    'Of 1,203 messages, 1,200 were sent, 2 may have arrived and 1 failed.',
  ],
  [
    'cancelled',
    { sent: 3, cancelled: 1 },
    { reason: 'cancelled', cancelled_by: 'ann@x.test' },
    'Cancelled by ann@x.test. Of 4 messages, 3 were sent and 1 was cancelled.',
  ],
  [
    'cancelled',
    { sent: 3 },
    { reason: 'cancelled', cancelled_by: 'ann@x.test' },
    'Cancelled by ann@x.test. All 3 messages were sent.',
  ],
  ['cancelled', {}, { reason: 'cancelled' }, 'Cancelled. There were no messages yet.'],
  ['expired', {}, { reason: 'expired' }, 'Expired. There were no messages yet.'],
  [
    'expired',
    { sent: 1, expired: 2 },
    { reason: 'expired' },
    'Of 3 messages, 1 was sent and 2 expired. It expired before all recipients were resolved.',
  ],
  ['no_recipients', {}, { reason: 'no_recipients' }, 'No messages: no notification found any recipients.'],
  [
    'suppressed',
    {},
    { reason: 'filter.no_match' },
    "No messages: the notification's filter does not match the context.",
  ],
  [
    'failed',
    {},
    { reason: 'crashed' },
    'No messages: processing it crashed the worker three times, so it was set aside.',
  ],
  [
    'sent',
    { sent: 2 },
    { reason: 'limit.fan_out' },
    'All 2 messages were sent. The trigger reached the limit of recipients per trigger.',
  ],
  ['dry_run', { suppressed: 2 }, {}, 'Nothing was sent: it was a dry run.'],
  [
    'held',
    {},
    { reason: 'event.paused' },
    'Held, and sent when the pause ends: the event, its application, project, organization or API key is paused.',
  ],
  [
    'held',
    { sent: 1, pending: 1 },
    {},
    'Held, and sent when the pause ends. Of 2 messages, 1 was sent and 1 is pending.',
  ],
  ['scheduled', {}, { until: new Date(0) }, 'Will be sent at 1970-01-01T00:00:00.000Z.'],
  ['retrying', { pending: 1 }, { until: new Date(0) }, 'Next attempt at 1970-01-01T00:00:00.000Z.'],
  [
    'acknowledged',
    { sent: 1, cancelled: 1 },
    { acknowledged_by: 'Jane' },
    'Acknowledged by Jane. Of 2 messages, 1 was sent and 1 was cancelled.',
  ],
])('an occurrence that is %s with %j and %j is summarized', (state, counts, more, expected) => {
  expect(say(state, counts, more)).toBe(expected);
});
