/** How the console shows the states of the service's table. */
import { expect, test } from 'vitest';
import {
  deliveryStates,
  fillOf,
  occurrenceStates,
  plainState,
  sentenceOf,
  statusOrder,
} from '../../console/src/components/statuses.ts';
import { texts as incidents } from '../../console/src/texts/incidents.ts';
import * as core from '../../src/core/history/states.ts';
import { deliveryStatuses } from '../../src/core/history/statuses.ts';

test('the console has the service’s table', () => {
  expect(deliveryStates).toEqual(core.deliveryStates);
  expect(occurrenceStates).toEqual(core.occurrenceStates);
});

test('bars and legends show every status of a delivery in its color', () => {
  expect(statusOrder.toSorted()).toEqual([...deliveryStatuses].sort());
  for (const status of statusOrder) expect(fillOf(status)).toContain(`${deliveryStates[status]!.color}.`);
});

test('a sentence says until when, or else why, or else what the state means', () => {
  const clock = (moment: string) => moment.slice(11, 16);
  const { waiting_digest: digest, suppressed, sent } = deliveryStates;
  expect(sentenceOf(digest!, { reason: 'digest', until: '2026-01-01T21:13:00Z' }, clock)).toBe(
    'Waiting for the digest at 21:13.',
  );
  expect(sentenceOf(suppressed!, { reason: 'throttled' }, clock)).toBe('Rate limit reached.');
  expect(sentenceOf(sent!, { reason: null, until: null }, clock)).toBe('Accepted by the provider.');
});

test('a state of a newer service is shown by its name', () => {
  expect(plainState('beamed')).toEqual({ name: 'Beamed', color: 'gray', meaning: '' });
});

test('a number of incidents that may be larger says so', () => {
  const counts = [1, 999, 1_000].map(found => incidents.withCount('Open', found));
  expect(counts).toEqual(['Open 1', 'Open 999', 'Open 1,000+']);
});
