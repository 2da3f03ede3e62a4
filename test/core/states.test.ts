/** The table that colors, labels and sentences of all states come from, in the console and on the command line. */
import { expect, test } from 'vitest';
import { outcomes } from '../../src/core/decision/outcome.ts';
import { deliveryStateOf, deliveryStates, occurrenceStateOf, occurrenceStates } from '../../src/core/history/states.ts';
import { deliveryStatuses } from '../../src/core/history/statuses.ts';

const tables = [
  ['delivery', deliveryStates, deliveryStatuses],
  ['occurrence', occurrenceStates, outcomes],
] as const;

test.each(tables)('every state of a %s has its own label, a sentence and a color', (_, table, values) => {
  expect(Object.keys(table)).toEqual(expect.arrayContaining([...values]));
  for (const { name, meaning, until } of Object.values(table)) {
    expect(name).toMatch(/^[A-Z]/);
    expect(meaning).toMatch(/^[A-Z].*\.$/);
    expect(until ?? '{time}.').toMatch(/\{time\}\.$/);
  }
  const names = Object.values(table).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test.each(tables)(
  'only a good state of a %s is green, only a bad one red, and an uncertain one is orange',
  (_, table) => {
    const keysIn = (color: string) =>
      Object.entries(table).flatMap(([key, state]) => (state.color === color ? key : []));
    for (const good of keysIn('teal')) expect(['sent', 'acknowledged', 'resolved']).toContain(good);
    for (const bad of keysIn('red')) expect(['failed', 'bounced', 'unacknowledged']).toContain(bad);
    expect(keysIn('orange')).toContain('unknown');
  },
);

test('what waits for a certain time, is held or has ended does not move', () => {
  const moving = [deliveryStates, occurrenceStates].map(table =>
    Object.entries(table).flatMap(([key, state]) => (state.moving ? key : [])),
  );
  expect(moving).toEqual([
    ['sending', 'pending', 'retrying'],
    ['expanding', 'sending', 'retrying', 'escalating'],
  ]);
});

const later = new Date();

test.each([
  ['sent', null, null, 'sent'],
  ['pending', null, later, 'pending'],
  ['pending', 'digest', later, 'waiting_digest'],
  ['pending', 'quiet_hours', later, 'waiting_quiet_hours'],
  ['pending', 'throttled', later, 'waiting'],
  ['pending', 'channel.paused', null, 'held'],
  ['retrying', 'provider.failed', later, 'retrying'],
  ['failed', 'provider.failed', null, 'failed'],
  ['failed', 'bounced', null, 'bounced'],
  ['suppressed', 'throttled', null, 'suppressed'],
  ['suppressed', 'dry_run', null, 'dry_run'],
  ['cancelled', 'acknowledged', null, 'cancelled'],
] as const)('a delivery that is %s for the reason %s is shown accordingly', (status, reason, next, state) => {
  expect(deliveryStateOf({ status, reason, next_attempt_at: next, is_complained: false, is_retracted: false })).toBe(
    state,
  );
});

test.each([
  ['sending', undefined, 'sending'],
  ['sending', { status: 'pending', reason: 'digest' }, 'waiting_digest'],
  ['sending', { status: 'pending', reason: 'quiet_hours' }, 'waiting_quiet_hours'],
  ['sending', { status: 'retrying', reason: 'provider.failed' }, 'retrying'],
  ['sending', { status: null, reason: null }, 'waiting'],
  ['held', { status: 'pending', reason: 'digest' }, 'held'],
] as const)('an occurrence that is %s and waits for %j is shown accordingly', (outcome, wait, state) => {
  expect(occurrenceStateOf({ outcome, isDryRun: false, wait: wait && { ...wait, until: later } })).toBe(state);
});

test('an occurrence is shown as a dry run unless it had no recipients', () => {
  expect(occurrenceStateOf({ outcome: 'suppressed', isDryRun: true, wait: undefined })).toBe('dry_run');
  expect(occurrenceStateOf({ outcome: 'no_recipients', isDryRun: true, wait: undefined })).toBe('no_recipients');
});
