/**
 * What the console and the command line show for a delivery, an occurrence or a channel: the status or outcome, refined by what it waits
 * for. This table has the only label, sentence and color of each.
 */
import type { OccurrenceOutcome } from '../decision/outcome.ts';
import { lookUp } from '../lookup.ts';
import type { DeliveryStatus } from './statuses.ts';

/** Green: it worked. Red: it did not. Orange: uncertain, or action is needed. Yellow and violet: it waits. */
export type StateColor = 'teal' | 'red' | 'orange' | 'yellow' | 'violet' | 'blue' | 'gray';

export interface State {
  name: string;
  color: StateColor;
  /** Shown when there is no reason that says more. */
  meaning: string;
  /** Shown instead when it is known until when it waits; `{time}` is the time. */
  until?: string;
  /** Added to it when it is known when the attempts end; `{time}` is the time. */
  end?: string;
  /** Whether it changes without anyone doing anything, within seconds. */
  moving?: true;
}

type WaitState = 'waiting_digest' | 'waiting_quiet_hours' | 'waiting_silence' | 'waiting';
/** The states of deliveries that refine a status, and that status. */
export const refinedStates = {
  bounced: 'failed',
  held: 'pending',
  waiting_digest: 'pending',
  waiting_quiet_hours: 'pending',
  waiting_silence: 'pending',
  waiting: 'pending',
  dry_run: 'suppressed',
  complained: 'sent',
  retracted: 'sent',
} as const satisfies Record<string, DeliveryStatus>;
export type RefinedState = keyof typeof refinedStates;
export type DeliveryState = DeliveryStatus | RefinedState;
export type OccurrenceState = OccurrenceOutcome | WaitState | 'retrying' | 'dry_run' | 'snoozed';

const waits: Record<WaitState, State> = {
  waiting_digest: {
    name: 'Waiting for digest',
    color: 'violet',
    meaning: 'Waiting for the digest.',
    until: 'Waiting for the digest at {time}.',
  },
  waiting_quiet_hours: {
    name: 'Quiet hours',
    color: 'violet',
    meaning: 'Waiting for the end of quiet hours.',
    until: 'Waiting for the end of quiet hours at {time}.',
  },
  waiting_silence: {
    name: 'Silenced',
    color: 'violet',
    meaning: 'Waiting for the end of a silence.',
    until: 'Waiting for the end of a silence at {time}.',
  },
  waiting: { name: 'Waiting', color: 'violet', meaning: 'Waiting to be sent.', until: 'Waiting until {time}.' },
};

const held: State = { name: 'Held', color: 'yellow', meaning: 'Held, and sent when the pause ends.' };
const retrying: State = {
  name: 'Retrying',
  color: 'yellow',
  meaning: 'Waiting for the next attempt.',
  until: 'Next attempt at {time}.',
  end: 'Tried until {time}.',
  moving: true,
};
const dryRun: State = { name: 'Dry run', color: 'gray', meaning: 'Nothing was sent: it was a dry run.' };
const mayHaveArrived = 'The provider’s response was lost; it may have been delivered.';

export const deliveryStates: Record<DeliveryState, State> = {
  sent: { name: 'Sent', color: 'teal', meaning: 'Accepted by the provider.' },
  complained: { name: 'Reported as spam', color: 'orange', meaning: 'Sent, but the recipient reported it as spam.' },
  retracted: { name: 'Retracted', color: 'gray', meaning: 'Sent, and removed after the occurrence was cancelled.' },
  sending: { name: 'Sending', color: 'blue', meaning: 'Being sent to the provider.', moving: true },
  pending: { name: 'Pending', color: 'gray', meaning: 'Waiting to be sent.', moving: true },
  ...waits,
  held,
  retrying,
  failed: { name: 'Failed', color: 'red', meaning: 'Failed permanently. See the reason.' },
  bounced: { name: 'Bounced', color: 'red', meaning: 'Did not arrive, although the provider had accepted it.' },
  unknown: { name: 'Unknown', color: 'orange', meaning: mayHaveArrived },
  suppressed: { name: 'Suppressed', color: 'gray', meaning: 'Deliberately not sent. See the reason.' },
  dry_run: dryRun,
  cancelled: { name: 'Cancelled', color: 'gray', meaning: 'Cancelled before it was sent.' },
  expired: { name: 'Expired', color: 'gray', meaning: 'Not sent in time.' },
};

export const occurrenceStates: Record<OccurrenceState, State> = {
  scheduled: {
    name: 'Scheduled',
    color: 'violet',
    meaning: 'Will be sent later.',
    until: 'Will be sent at {time}.',
  },
  held,
  expanding: { name: 'Resolving', color: 'blue', meaning: 'Resolving recipients.', moving: true },
  sending: { name: 'Sending', color: 'blue', meaning: 'Sending messages.', moving: true },
  ...waits,
  retrying,
  sent: { name: 'Sent', color: 'teal', meaning: 'Messages were sent, and none failed.' },
  partly_failed: {
    name: 'Partly failed',
    color: 'orange',
    meaning: 'Messages failed, others were sent or may have arrived.',
  },
  failed: { name: 'Failed', color: 'red', meaning: 'No message reached its recipient.' },
  unknown: {
    name: 'Unknown',
    color: 'orange',
    meaning: 'Messages may have arrived, and none is known to have failed.',
  },
  no_recipients: { name: 'No recipients', color: 'gray', meaning: 'There was no one to notify.' },
  suppressed: { name: 'Suppressed', color: 'gray', meaning: 'All messages were suppressed. See the reason.' },
  dry_run: dryRun,
  cancelled: { name: 'Cancelled', color: 'gray', meaning: 'Cancelled before all messages were sent.' },
  expired: { name: 'Expired', color: 'gray', meaning: 'Expired before all messages were sent.' },
  escalating: {
    name: 'Escalating',
    color: 'orange',
    meaning: 'More steps follow until someone acknowledges it.',
    moving: true,
  },
  acknowledged: { name: 'Acknowledged', color: 'teal', meaning: 'Someone acknowledged it. Later steps were stopped.' },
  snoozed: {
    name: 'Snoozed',
    color: 'violet',
    meaning: 'Someone snoozed it. It will escalate again.',
    until: 'Snoozed until {time}.',
  },
  resolved: { name: 'Resolved', color: 'teal', meaning: 'Someone resolved it.' },
  unacknowledged: { name: 'Unacknowledged', color: 'red', meaning: 'All steps ran and no one acknowledged it.' },
};

export type ChannelStateName =
  | 'enabled'
  | 'disabled'
  | 'paused'
  | 'bulk_paused'
  | 'cannot_send'
  | 'day_limit'
  | 'failing';

/** What is set about a channel, and whether it works. */
export const channelStates: Record<ChannelStateName, State> = {
  enabled: { name: 'Enabled', color: 'teal', meaning: 'Messages are sent.' },
  disabled: { name: 'Disabled', color: 'gray', meaning: 'Nothing is sent; deliveries are suppressed.' },
  paused: { name: 'Paused', color: 'yellow', meaning: 'Messages are kept until the channel is resumed.' },
  bulk_paused: {
    name: 'Bulk paused',
    color: 'yellow',
    meaning: 'Bulk messages are held until the channel is resumed.',
  },
  cannot_send: { name: 'Can’t send', color: 'red', meaning: 'The channel is not set up completely.' },
  day_limit: {
    name: 'Limit of the day reached',
    color: 'yellow',
    meaning: 'Messages wait for the next day (UTC): all providers have reached their limit of the day.',
  },
  failing: {
    name: 'Failing',
    color: 'red',
    meaning: 'No message was sent in the last 24 hours, and some failed or have an unknown outcome.',
  },
};

interface ChannelFacts {
  enabled: boolean;
  paused: boolean;
  problem: string | null;
  health: { sent: number; failed: number; unknown: number };
  reputation: { bulk_paused_at: unknown } | null;
  /** Until when no provider may send more; null if one may. */
  limited_until: unknown;
}

/** Returns the states of a channel. The first says how it is set, and the others what speaks against it. */
export function channelStatesOf(channel: ChannelFacts): ChannelStateName[] {
  const { enabled, paused, problem, health, reputation, limited_until } = channel;
  const isFailing = health.sent === 0 && health.failed + health.unknown > 0;
  return [
    enabled ? 'enabled' : 'disabled',
    ...(paused ? (['paused'] as const) : []),
    ...(reputation?.bulk_paused_at ? (['bulk_paused'] as const) : []),
    ...(problem ? (['cannot_send'] as const) : []),
    ...(enabled && limited_until ? (['day_limit'] as const) : []),
    ...(enabled && isFailing ? (['failing'] as const) : []),
  ];
}

const waitStates: Record<string, WaitState> = {
  digest: 'waiting_digest',
  quiet_hours: 'waiting_quiet_hours',
  silenced: 'waiting_silence',
};

interface DeliveryFacts {
  status: DeliveryStatus;
  reason: string | null;
  /** Null while it is held by a pause, and when it has ended. */
  next_attempt_at: Date | null;
  /** Whether it was reported as spam, or removed, after it was sent. */
  is_complained: boolean;
  is_retracted: boolean;
}

export function deliveryStateOf({ status, reason, next_attempt_at, ...after }: DeliveryFacts): DeliveryState {
  if (status === 'sent' && after.is_complained) return 'complained';
  if (status === 'sent' && after.is_retracted) return 'retracted';
  if (status === 'suppressed' && reason === 'dry_run') return 'dry_run';
  if (status === 'failed' && reason === 'bounced') return 'bounced';
  if (status !== 'pending') return status;
  if (!next_attempt_at) return 'held';
  return reason === null ? 'pending' : (lookUp(waitStates, reason) ?? 'waiting');
}

/** What all open deliveries of an occurrence wait for. */
export interface OccurrenceWait {
  /** Null when they have different reasons or statuses. */
  status: DeliveryStatus | null;
  reason: string | null;
  until: Date | null;
}

interface OccurrenceFacts {
  outcome: OccurrenceOutcome;
  reason?: string | null;
  isDryRun: boolean;
  isSnoozed?: boolean;
  wait: OccurrenceWait | undefined;
}

export function occurrenceStateOf({ outcome, reason, isDryRun, isSnoozed, wait }: OccurrenceFacts): OccurrenceState {
  if (outcome === 'expanding' && reason === 'canary.waiting') return 'waiting';
  if ((outcome === 'scheduled' || outcome === 'expanding') && reason === 'silenced') return 'waiting_silence';
  if (outcome === 'acknowledged' && isSnoozed) return 'snoozed';
  if (outcome === 'suppressed' && isDryRun) return 'dry_run';
  if (outcome !== 'sending' || !wait) return outcome;
  if (wait.status === 'retrying') return 'retrying';
  return lookUp(waitStates, wait.reason ?? '') ?? 'waiting';
}
