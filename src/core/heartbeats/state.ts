/**
 * What becomes of a heartbeat when it is called, when it is due, and when its configuration changes. Pure: the same state and call
 * always give the same state.
 *
 * | status      | event                                       | status | alert                              |
 * | ----------- | ------------------------------------------- | ------ | ---------------------------------- |
 * | new, up     | a call that all is well                     | up     | —                                  |
 * | new, up     | a call that it failed                       | down   | opening                            |
 * | new, up     | `missing_at` has come                       | down   | opening                            |
 * | down        | a call that all is well                     | up     | open becomes closing               |
 * | any         | it is disabled                              | new    | open becomes closing               |
 * | any         | the event was triggered (opening)           | same   | open; closing if it is up again    |
 * | any         | the occurrence was resolved (closing)       | same   | none; opening if it is down again  |
 *
 * The last two are in db/history/heartbeats/due.ts. What is opening is always opened first, even if the heartbeat is up again:
 * another process may be triggering the event right now.
 */
import { expectedAfter, graceMs, type Rhythm } from './rhythm.ts';

export const callKinds = ['success', 'start', 'fail', 'log'] as const;
export type CallKind = (typeof callKinds)[number];

export const heartbeatReasons = ['missing', 'unfinished', 'failed'] as const;
export type HeartbeatReason = (typeof heartbeatReasons)[number];

/** As it is shown. late: expected, and within the grace. */
export const shownStates = ['new', 'up', 'late', 'down', 'paused'] as const;
export type ShownState = (typeof shownStates)[number];

export interface HeartbeatState {
  status: 'new' | 'up' | 'down';
  reason: HeartbeatReason | null;
  since: Date;
  last_ping_at: Date | null;
  started_at: Date | null;
  run_id: string | null;
  expected_at: Date | null;
  missing_at: Date | null;
  alert: 'opening' | 'open' | 'closing' | null;
  incident_id: string | null;
  due_at: Date | null;
}

export interface HeartbeatCall {
  kind: CallKind;
  at: number;
  runId: string | null;
}

export interface Watched extends Rhythm {
  enabled: boolean;
}

/** `incidentId` is used if the call opens an incident. */
export function applyCall(
  state: HeartbeatState,
  heartbeat: Watched,
  { kind, at, runId }: HeartbeatCall,
  incidentId: string,
): HeartbeatState {
  if (kind === 'log') return state;
  const now = new Date(at);
  if (!heartbeat.enabled) return kind === 'start' ? state : { ...state, last_ping_at: now };
  if (kind === 'start') return watch({ ...state, started_at: now, run_id: runId }, heartbeat);
  // Another run may have begun meanwhile: its start stays, unless the caller does not tell runs apart.
  const endsRun = kind === 'fail' || runId === null || runId === state.run_id;
  const called = { ...state, last_ping_at: now, ...(endsRun && { started_at: null, run_id: null }) };
  if (kind === 'fail') return accuse(called, 'failed', at, incidentId);
  return watch(
    {
      ...called,
      ...(state.status !== 'up' && { status: 'up' as const, reason: null, since: now }),
      expected_at: new Date(expectedAfter(heartbeat, at)),
      ...(state.alert === 'open' && { alert: 'closing' as const, due_at: now }),
    },
    heartbeat,
  );
}

/** Makes it down. An alert that is being closed is opened again when that is done. */
export function accuse(state: HeartbeatState, reason: HeartbeatReason, at: number, incidentId: string): HeartbeatState {
  const now = new Date(at);
  return {
    ...state,
    status: 'down',
    reason,
    ...(state.status !== 'down' && { since: now }),
    expected_at: null,
    missing_at: null,
    ...(state.alert === null && { alert: 'opening' as const, incident_id: incidentId, due_at: now }),
  };
}

/** Sets when it is missing: a run that has begun must end within the grace, too. */
function watch(state: HeartbeatState, rhythm: Rhythm): HeartbeatState {
  const times = [state.expected_at, state.started_at].flatMap(time => time?.getTime() ?? []);
  const isWatched = state.status !== 'down' && times.length > 0;
  const missing_at = isWatched ? new Date(Math.min(...times) + graceMs(rhythm)) : null;
  return { ...state, missing_at, due_at: state.alert === null ? missing_at : state.due_at };
}

/** A time during which no call could be received. */
export interface Outage {
  from: Date;
  until: Date;
}

/**
 * Returns what becomes of a heartbeat whose `missing_at` has come. If its call may have been lost in the outage, it is expected
 * again after one interval.
 */
export function judgeMissing(
  state: HeartbeatState,
  rhythm: Rhythm,
  outage: Outage | undefined,
  at: number,
  incidentId: string,
): HeartbeatState {
  const reason = state.started_at ? 'unfinished' : 'missing';
  if (outage && mayHaveLost(state, rhythm, outage)) {
    const expected_at = new Date(expectedAfter(rhythm, outage.until.getTime()));
    const postponed = watch({ ...state, started_at: null, run_id: null, expected_at }, rhythm);
    if (postponed.missing_at!.getTime() > at) return postponed;
  }
  return accuse(state, reason, at, incidentId);
}

/** Jobs are as punctual as their grace says: a call may be early by as much as it may be late. */
function mayHaveLost({ expected_at, started_at, missing_at }: HeartbeatState, rhythm: Rhythm, outage: Outage): boolean {
  const first = Math.min(
    started_at?.getTime() ?? Number.POSITIVE_INFINITY,
    expected_at ? expected_at.getTime() - graceMs(rhythm) : Number.POSITIVE_INFINITY,
  );
  return first <= outage.until.getTime() && missing_at!.getTime() >= outage.from.getTime();
}

/** Applies a changed configuration. A shorter interval does not make it missing at once: it counts from now. */
export function reschedule(state: HeartbeatState, heartbeat: Watched, at: number): HeartbeatState {
  if (!heartbeat.enabled) {
    const idle = { expected_at: null, missing_at: null, started_at: null, run_id: null, reason: null };
    const closing = state.alert === 'open' && { alert: 'closing' as const, due_at: new Date(at) };
    const since = state.status === 'new' ? state.since : new Date(at);
    const due_at = state.alert === null ? null : state.due_at;
    return { ...state, ...idle, status: 'new', since, due_at, ...closing };
  }
  if (state.status !== 'up' || !state.last_ping_at) return watch(state, heartbeat);
  const expectedFrom = (time: number) => new Date(expectedAfter(heartbeat, time));
  const changed = watch({ ...state, expected_at: expectedFrom(state.last_ping_at.getTime()) }, heartbeat);
  return changed.missing_at!.getTime() > at ? changed : watch({ ...changed, expected_at: expectedFrom(at) }, heartbeat);
}

export function shownStateOf(
  { status, expected_at }: Pick<HeartbeatState, 'status' | 'expected_at'>,
  enabled: boolean,
  at: number,
): ShownState {
  if (!enabled) return 'paused';
  if (status !== 'up') return status;
  return expected_at && expected_at.getTime() < at ? 'late' : 'up';
}
