/** What becomes of a heartbeat: its state table, and when calls are expected. */
import { describe, expect, test } from 'vitest';
import { expectedAfter, findRhythmMistakes, type Rhythm } from '../../src/core/heartbeats/rhythm.ts';
import {
  accuse,
  applyCall,
  type CallKind,
  type HeartbeatState,
  judgeMissing,
  reschedule,
  shownStateOf,
  type Watched,
} from '../../src/core/heartbeats/state.ts';

const at = (time: string) => Date.parse(time);
const start = at('2027-01-01T00:00:00Z');
const minute = 60_000;
const hour = 60 * minute;
const hourly: Watched = { every: '1h', timezone: 'UTC', grace: '10m', enabled: true };

const fresh: HeartbeatState = {
  status: 'new',
  reason: null,
  since: new Date(start),
  last_ping_at: null,
  started_at: null,
  run_id: null,
  expected_at: null,
  missing_at: null,
  alert: null,
  incident_id: null,
  due_at: null,
};

const call = (state: HeartbeatState, kind: CallKind, ms: number, { runId = null as string | null, of = hourly } = {}) =>
  applyCall(state, of, { kind, at: start + ms, runId }, `incident at ${ms}`);

const up = call(fresh, 'success', 0);
const down = accuse(up, 'missing', start + 70 * minute, 'first');
const open: HeartbeatState = { ...down, alert: 'open', due_at: null };
const since = (date: Date | null) => date && (date.getTime() - start) / minute;

describe('a call', () => {
  test('that all is well expects the next one after the interval, and misses it after the grace', () => {
    expect(up).toMatchObject({ status: 'up', reason: null, alert: null });
    expect([up.expected_at, up.missing_at, up.due_at].map(since)).toEqual([60, 70, 70]);
    const later = call(up, 'success', 30 * minute);
    expect(later.since).toEqual(up.since);
    expect(since(later.missing_at)).toBe(100);
  });

  test('that it failed opens an alert at once, and another failure opens no second one', () => {
    const failed = call(up, 'fail', 5 * minute);
    expect(failed).toMatchObject({
      status: 'down',
      reason: 'failed',
      alert: 'opening',
      incident_id: 'incident at 300000',
    });
    expect([failed.missing_at, failed.expected_at, since(failed.due_at)]).toEqual([null, null, 5]);
    expect(call(failed, 'fail', 6 * minute)).toMatchObject({ incident_id: 'incident at 300000', since: failed.since });
  });

  test('that all is well closes an open alert, but not one that is still being opened', () => {
    expect(call(open, 'success', 80 * minute)).toMatchObject({ status: 'up', reason: null, alert: 'closing' });
    expect(call(down, 'success', 80 * minute)).toMatchObject({ status: 'up', alert: 'opening', due_at: down.due_at });
  });

  test('with output only changes nothing', () => {
    for (const state of [fresh, up, open]) expect(call(state, 'log', hour)).toBe(state);
  });

  test('that a run begins must be followed by its end within the grace', () => {
    const begun = call(up, 'start', 50 * minute, { runId: 'a' });
    expect(begun).toMatchObject({ status: 'up', run_id: 'a', last_ping_at: up.last_ping_at });
    expect(since(begun.missing_at)).toBe(60);
    expect(judgeMissing(begun, hourly, undefined, start + 60 * minute, 'x')).toMatchObject({ reason: 'unfinished' });
    const ended = call(begun, 'success', 55 * minute, { runId: 'a' });
    expect(ended).toMatchObject({ started_at: null, run_id: null });
    expect(since(ended.missing_at)).toBe(125);
  });

  test('of one run does not end another, unless the job does not tell its runs apart', () => {
    const begun = call(up, 'start', 50 * minute, { runId: 'b' });
    expect(call(begun, 'success', 55 * minute, { runId: 'a' })).toMatchObject({
      run_id: 'b',
      started_at: begun.started_at,
    });
    expect(call(begun, 'success', 55 * minute)).toMatchObject({ run_id: null, started_at: null });
    expect(call(begun, 'fail', 55 * minute, { runId: 'a' })).toMatchObject({ run_id: null, started_at: null });
  });

  test('is noted while the heartbeat is disabled, and changes nothing else', () => {
    const of = { ...hourly, enabled: false };
    expect(call(fresh, 'success', minute, { of })).toEqual({ ...fresh, last_ping_at: new Date(start + minute) });
    expect(call(fresh, 'start', minute, { of })).toBe(fresh);
  });
});

describe('a missing call', () => {
  test('makes it down and opens an alert', () => {
    const missing = judgeMissing(up, hourly, undefined, start + 70 * minute, 'new');
    expect(missing).toMatchObject({ status: 'down', reason: 'missing', alert: 'opening', incident_id: 'new' });
    expect(since(missing.since)).toBe(70);
  });

  test('while an alert is being closed opens no other one before that is done', () => {
    const closing: HeartbeatState = { ...up, alert: 'closing', incident_id: 'first', due_at: new Date(start) };
    expect(accuse(closing, 'missing', start + 70 * minute, 'second')).toMatchObject({
      status: 'down',
      alert: 'closing',
      incident_id: 'first',
    });
  });

  test.each([
    ['in the outage', 55, 75, 75 + 70],
    ['before the outage began, within the grace', 65, 68, 68 + 70],
    ['early, up to the grace before it was expected', 20, 50, 50 + 70],
  ])('that may have been made %s is expected again after one interval', (_, from, until, expected) => {
    const outage = { from: new Date(start + from * minute), until: new Date(start + until * minute) };
    const judged = judgeMissing(up, hourly, outage, start + 80 * minute, 'x');
    expect(judged.status).toBe('up');
    expect(since(judged.missing_at)).toBe(expected);
  });

  test.each([
    ['ended before the call was expected', 10, 49],
    ['began after it was missing', 71, 75],
    ['ended more than an interval ago', 55, 65, 200],
  ])('is one if an outage %s', (_, from, until, now = 80) => {
    const outage = { from: new Date(start + from * minute), until: new Date(start + until * minute) };
    expect(judgeMissing(up, hourly, outage, start + now * minute, 'x').status).toBe('down');
  });
});

describe('a changed configuration', () => {
  test('counts a shorter interval from the last call, or from now if that has passed', () => {
    const shorter = { ...hourly, every: '20m', grace: '1m' };
    expect(since(reschedule(up, shorter, start + 5 * minute).missing_at)).toBe(21);
    expect(since(reschedule(up, shorter, start + 40 * minute).missing_at)).toBe(61);
  });

  test('that disables it closes an open alert, and enabled again it waits for its first call', () => {
    const off = reschedule(open, { ...hourly, enabled: false }, start + 90 * minute);
    expect(off).toMatchObject({ status: 'new', reason: null, alert: 'closing', missing_at: null, expected_at: null });
    expect(since(off.due_at)).toBe(90);
    const on = reschedule({ ...off, alert: null, due_at: null }, hourly, start + 100 * minute);
    expect(on).toMatchObject({ status: 'new', missing_at: null, due_at: null });
  });

  test('does not open what is being opened again', () => {
    expect(reschedule(down, hourly, start + 90 * minute)).toMatchObject({ alert: 'opening', due_at: down.due_at });
  });
});

test('what is shown follows from the status, the expected call and whether it is enabled', () => {
  expect(shownStateOf(up, true, start + 60 * minute)).toBe('up');
  expect(shownStateOf(up, true, start + 60 * minute + 1)).toBe('late');
  expect(shownStateOf(down, true, start)).toBe('down');
  expect(shownStateOf(fresh, true, start)).toBe('new');
  expect(shownStateOf(down, false, start)).toBe('paused');
});

describe('the rhythm', () => {
  const expected = (rhythm: Partial<Rhythm>, from: string) =>
    new Date(expectedAfter({ ...hourly, ...rhythm }, at(from))).toISOString().replace('.000Z', 'Z');
  const berlin = { timezone: 'Europe/Berlin' };

  test.each([
    ['0 3 * * *', '2027-01-04T01:59:59Z', '2027-01-04T02:00:00Z'],
    ['0 3 * * *', '2027-01-04T02:00:00Z', '2027-01-05T02:00:00Z'],
    ['*/15 8-17 * * 1-5', '2027-01-08T16:50:00Z', '2027-01-11T07:00:00Z'],
    ['0 0 31 * *', '2027-01-31T12:00:00Z', '2027-03-30T22:00:00Z'],
    ['0 12 29 2 *', '2027-03-01T00:00:00Z', '2028-02-29T11:00:00Z'],
  ])('of the cron expression %s in Berlin after %s is %s', (every, from, next) => {
    expect(expected({ every, ...berlin }, from)).toBe(next);
  });

  test('is that of the wall clock over both clock changes', () => {
    const nightly = { every: '0 3 * * *', ...berlin };
    expect(expected(nightly, '2027-03-27T02:00:00Z')).toBe('2027-03-28T01:00:00Z');
    expect(expected(nightly, '2027-10-30T01:00:00Z')).toBe('2027-10-31T02:00:00Z');
  });

  test('has a time that the clock skips once, and a time that it repeats once', () => {
    const nightly = { every: '30 2 * * *', ...berlin };
    const skipped = expected(nightly, '2027-03-27T12:00:00Z');
    expect(at(skipped)).toBeGreaterThanOrEqual(at('2027-03-28T01:00:00Z'));
    expect(at(skipped)).toBeLessThanOrEqual(at('2027-03-29T00:30:00Z'));
    const repeated = expected(nightly, '2027-10-30T12:00:00Z');
    expect(['2027-10-31T00:30:00Z', '2027-10-31T01:30:00Z']).toContain(repeated);
    expect(expected(nightly, repeated)).toBe('2027-11-01T01:30:00Z');
  });

  test('of a duration is elapsed time, over a clock change too', () => {
    expect(expected({ every: '1d', ...berlin }, '2027-03-27T02:00:00Z')).toBe('2027-03-28T02:00:00Z');
  });

  test.each([
    [{ every: '9s' }, 'every', 'must be at least 10s'],
    [{ every: '367d' }, 'every', 'must be at most 366d'],
    [{ every: 'daily' }, 'every', 'must be a duration such as'],
    [{ every: '0 0 3 * * *' }, 'every', 'must be a duration such as'],
    [{ every: '0 0 30 2 *' }, 'every', 'is a cron expression that never occurs'],
    [{ grace: '5s' }, 'grace', 'must be at least 10s'],
    [{ grace: '0 3 * * *' }, 'grace', 'must be a duration such as'],
    [{ timezone: 'Europe/Nowhere' }, 'timezone', 'zone'],
  ])('%o is refused', (rhythm, field, message) => {
    expect(findRhythmMistakes({ ...hourly, ...rhythm })).toEqual({ [field]: expect.stringContaining(message) });
  });
});
