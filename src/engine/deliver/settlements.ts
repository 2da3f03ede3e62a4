/**
 * Decides what follows an attempt to send a delivery, or the decision not to attempt it now: sent, retried, passed on to the next
 * provider, postponed or ended. Only `settleUnknownAcrossTenants` in db/ledger/workers.ts decides in SQL, for a dead worker.
 */
import { explainReason } from '../../core/decision/explain.ts';
import type { RecheckResult } from '../../core/decision/recheck.ts';
import { AppError } from '../../core/errors.ts';
import { outageDelayMs, retryDelayMs } from '../../core/history/retries.ts';
import { withoutTokens } from '../../core/text/live-text.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import type { Delivery, Settlement } from '../../db/ledger/deliver/deliveries.ts';
import { ThreadsBusyError } from '../../lib/load/thread-pool.ts';
import { isLocalFailure } from '../../lib/network/outbound-error.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { acceptsAddress, type PlannedChannel } from '../../pipeline/plans.ts';
import type { Outcome, Outgoing } from '../../providers/sending.ts';
import { type AttachmentError, AttachmentsBusyError } from '../attachments/error.ts';
import type { Refusal } from '../limits/limits.ts';
import { halfOpenWaitMs } from './senders.ts';

/** How many attempts one of several providers has before the next one is tried: about ten minutes. */
const attemptsBeforeNext = 8;
/** How many workers may die while they send the same message before it is given up. */
export const maxWorkerDeaths = 8;
const maxTextLength = 2_000;

/** Settles an attempt by its outcome. */
export function settleOutcome(
  delivery: Delivery,
  channel: PlannedChannel,
  outcome: Outcome,
  outgoing: Outgoing,
  now: number,
): Settlement {
  const { provider } = channel.providers[delivery.provider_index]!;
  const base = { provider: provider.name };
  // An id equal to our own is not worth storing.
  const name = outcome.ok && outcome.id !== outgoing.id ? outcome.id : undefined;
  if (outcome.ok) return settlementOf(delivery, { ...base, status: 'sent', provider_message_id: name ?? null });

  if (outcome.local) return waitUntried(delivery, localSeconds, { detail: outcome.reason });
  const reason = outcome.unknown ? 'unknown' : outcome.mailboxFull ? 'mailbox.full' : 'provider.failed';
  const failed = { ...base, reason, detail: outcome.reason };
  // Each lost response may be another copy: it is sent again once, unless the receiver detects duplicates.
  const isLastCopy = channel.onUnknown === 'hold' || delivery.may_have_arrived;
  if (outcome.unknown && !provider.dedupes && isLastCopy)
    return settlementOf(delivery, { ...failed, status: 'unknown' });
  const isExhausted = delivery.provider_attempts >= attemptsBeforeNext;
  // Another provider would find the same mailbox gone or full.
  if (hasNextProvider(delivery, channel) && !outcome.gone && !outcome.mailboxFull) {
    if (!outcome.retry || isExhausted || isRetryOver(delivery, channel, now)) return failOver(delivery, failed, now);
  }
  if (!outcome.retry) return settlementOf(delivery, { ...failed, status: 'failed' });
  const { retryAfterSeconds = 0, mailboxFull } = outcome;
  const delayMs = Math.max(
    retryDelayMs(delivery.provider_attempts, mailboxFull ? 'mailbox' : 'provider'),
    retryAfterSeconds * 1_000,
  );
  // From the last provider it goes round: from then on, each has one attempt at a time.
  const next = isExhausted && !mailboxFull ? { provider_index: 0 } : {};
  return retryLater(delivery, channel, { ...failed, ...next }, now, delayMs);
}

/**
 * Settles a delivery whose provider fails repeatedly: the next provider sends it, or it waits. No attempt was made. `openUntil` is
 * when the circuit may be tested, or when a test in progress is expected to have ended.
 */
export function settleOpenCircuit(
  delivery: Delivery,
  channel: PlannedChannel,
  openUntil: number,
  now: number,
): Settlement {
  const change = { tried: false, reason: 'provider.paused', detail: 'provider paused after repeated failures' };
  if (hasNextProvider(delivery, channel)) return failOver(delivery, change, now);
  const waitedMs = now - (delivery.retry_since?.getTime() ?? now);
  const outageMs = openUntil - now > halfOpenWaitMs ? outageDelayMs(waitedMs) : 0;
  return retryLater(delivery, channel, { ...change, provider_index: 0 }, now, Math.max(openUntil - now, outageMs));
}

/** How long a message waits while the server of its recipient defers others, at most, for urgent, normal and bulk. */
const maxCrowdedSeconds = [2, 20, 60];

/** Lets a delivery wait until fewer messages are in flight to a server that defers them. No attempt was made. */
export function settleCrowded(delivery: Delivery, now: number): Settlement {
  const maxSeconds = maxCrowdedSeconds[delivery.priority] ?? maxCrowdedSeconds.at(-1)!;
  const due_at = new Date(now + maxSeconds * 1_000 * (0.5 + Math.random() / 2));
  return postpone(delivery, { due_at, detail: 'the server of the recipient defers messages: few are sent at a time' });
}

/** Settles a delivery whose provider may send nothing more on this day: the next provider sends it, or it waits. */
export function settleDayLimit(delivery: Delivery, channel: PlannedChannel, wait: Refusal, now: number): Settlement {
  const change = { tried: false, reason: 'provider.day_limit', detail: wait.detail };
  return hasNextProvider(delivery, channel) ? failOver(delivery, change, now) : waitForNextDay(delivery, wait);
}

export function waitForNextDay(delivery: Delivery, { dueAt, detail }: Refusal): Settlement {
  return postpone(delivery, { reason: 'provider.day_limit', detail, due_at: dueAt });
}

/**
 * Settles a delivery that failed before anything was sent. Causes outside the message cost no attempt: an unavailable
 * database, a machine that is too busy or has no file descriptors left, and secrets that cannot be decrypted until the operator restores the key.
 */
export function settleError(
  delivery: Delivery,
  error: unknown,
  channel: Pick<PlannedChannel, 'retryMs'> | undefined,
): Settlement {
  const wait = (seconds: number, change: Partial<Settlement>) => waitUntried(delivery, seconds, change);
  if (isUnavailable(error)) return wait(1, { detail: 'the database was unavailable' });
  if (isLocalFailure(error as NodeJS.ErrnoException)) return wait(localSeconds, { detail: (error as Error).message });
  if (error instanceof ThreadsBusyError) return wait(10, { detail: 'the machine was too busy to render the message' });
  if (error instanceof AttachmentsBusyError) return wait(5, { detail: error.message });
  if (error instanceof AppError && error.code === 'secret.unreadable')
    return wait(60, { reason: 'channel.unreadable' });
  const detail = `internal error: ${(error as Error).message}`;
  const change = { reason: 'provider.failed', detail };
  // Without a channel, the check before the next attempt ends it.
  return retryLater(delivery, channel ?? { retryMs: Number.POSITIVE_INFINITY }, change, currentTime());
}

/** How long a delivery waits for file descriptors and the like. */
const localSeconds = 5;

/** Lets a delivery wait for a cause outside of it, without an attempt. */
function waitUntried(delivery: Delivery, seconds: number, change: Partial<Settlement>): Settlement {
  const due_at = new Date(currentTime() + seconds * 1_000);
  return settlementOf(delivery, { ...change, status: 'retrying', tried: false, due_at });
}

/** Settles a delivery whose attachments are not available. A temporary failure is retried as that of a provider. */
export function settleAttachmentError(
  delivery: Delivery,
  channel: PlannedChannel,
  { message, retry }: AttachmentError,
  now: number,
): Settlement {
  const change = { reason: 'attachment.failed', detail: message };
  return retry ? retryLater(delivery, channel, change, now) : settlementOf(delivery, { ...change, status: 'failed' });
}

/** Settles a delivery that the check in core/decision/recheck.ts stops. No attempt was made. */
export function settleVerdict(delivery: Delivery, verdict: RecheckResult): Settlement {
  const { status, reason } = verdict;
  if (status === 'held') return settlementOf(delivery, { status: 'pending', reason, tried: false, due_at: 'infinity' });
  if (status === 'quiet') return postpone(delivery, { reason, due_at: verdict.dueAt });
  if (status === 'silenced') return postpone(delivery, { reason, detail: verdict.detail, due_at: verdict.dueAt });
  return settlementOf(delivery, { status, reason, detail: verdict.detail, tried: false });
}

/** Lets a delivery wait without an attempt, in the state that it had before it was claimed. */
export function postpone(delivery: Delivery, change: Partial<Settlement>): Settlement {
  return settlementOf(delivery, { ...change, status: delivery.attempts > 1 ? 'retrying' : 'pending', tried: false });
}

/** Schedules a retry, the last one when the time for retries ends, or fails the delivery after that. */
function retryLater(
  delivery: Delivery,
  channel: Pick<PlannedChannel, 'retryMs'>,
  change: Partial<Settlement>,
  now: number,
  delayMs: number = retryDelayMs(delivery.provider_attempts),
): Settlement {
  if (isRetryOver(delivery, channel, now)) {
    const reason = change.reason === 'provider.paused' ? 'provider.failed' : change.reason;
    return settlementOf(delivery, { ...change, reason: reason ?? null, status: 'failed' });
  }
  const due_at = new Date(Math.min(now + delayMs, retryEndOf(delivery, channel, now)));
  return settlementOf(delivery, { ...change, status: 'retrying', due_at });
}

/** The first failure begins the time for retries. */
function retryEndOf({ retry_since }: Delivery, { retryMs }: Pick<PlannedChannel, 'retryMs'>, now: number): number {
  return (retry_since?.getTime() ?? now) + retryMs;
}

function isRetryOver(delivery: Delivery, channel: Pick<PlannedChannel, 'retryMs'>, now: number): boolean {
  return now >= retryEndOf(delivery, channel, now);
}

function hasNextProvider({ provider_index, address }: Delivery, { providers }: PlannedChannel): boolean {
  return providers.slice(provider_index + 1).some(one => acceptsAddress(one, address ?? ''));
}

/** Passes a delivery on to the next provider, which has its own attempts if it is its first turn. */
function failOver(delivery: Delivery, change: Partial<Settlement>, now: number): Settlement {
  const { provider_index, provider_attempts } = delivery;
  const isFirstTurn = provider_attempts <= attemptsBeforeNext;
  const next = { provider_index: provider_index + 1, ...(isFirstTurn && { provider_attempts: 0 }) };
  return settlementOf(delivery, { ...change, ...next, status: 'retrying', due_at: new Date(now) });
}

/** Ends that say that the message did not arrive. */
const unsentStatuses = new Set<Settlement['status']>(['failed', 'suppressed', 'cancelled', 'expired']);

/** Builds a settlement. Once a response was lost, a delivery that is not sent ends as unknown, whatever else happened. */
export function settlementOf(
  delivery: Delivery,
  decided: Pick<Settlement, 'status'> & Partial<Settlement>,
): Settlement {
  const isLost = decided.reason === 'unknown' || delivery.may_have_arrived;
  const change = isLost && unsentStatuses.has(decided.status) ? toUnknown(decided) : decided;
  const { organization_id, occurrence_id, id, digest_id, attempts, provider_index, provider_attempts } = delivery;
  return {
    organization_id,
    occurrence_id,
    id,
    digest_id,
    attempts,
    tried: true,
    reason: null,
    provider: null,
    provider_index,
    provider_attempts: change.tried === false ? provider_attempts - 1 : provider_attempts,
    due_at: null,
    snapshot_id: null,
    user_version: null,
    attempt: null,
    event_id: null,
    since: null,
    ...change,
    detail: toStorableDetail(change.detail),
    provider_message_id: toStorableText(change.provider_message_id),
  };
}

function toUnknown(change: Partial<Settlement>): Pick<Settlement, 'status'> & Partial<Settlement> {
  if (change.reason === 'unknown') return { ...change, status: 'unknown' };
  const detail = change.detail ?? explainReason(change.reason ?? null);
  return { ...change, status: 'unknown', reason: 'unknown.earlier', detail };
}

/** Cleans what a provider answered, which may quote the message: others read it, and links in it must not work for them. */
export function toStorableDetail(text: string | null | undefined): string | null {
  return toStorableText(text && withoutTokens(text));
}

/** Cleans text from a provider: a character that PostgreSQL cannot store would fail the whole batch of outcomes. */
export function toStorableText(text: string | null | undefined): string | null {
  return text?.replaceAll('\0', '').toWellFormed().slice(0, maxTextLength) ?? null;
}
