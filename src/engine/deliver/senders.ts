/**
 * Open provider clients, one per entry of a channel, kept while its settings stay the same. Each has a circuit breaker:
 * after a number of consecutive failures the circuit opens and nothing is sent for a while, then one message tests the
 * provider.
 */
import { canonicalJson } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import type { UpdateAction } from '../../core/message/message-updates.ts';
import { PrioritySemaphore } from '../../lib/load/priority-semaphore.ts';
import { withHandoverCheck } from '../../lib/network/handover.ts';
import type { Outbound } from '../../lib/network/outbound.ts';
import { acceptsAddress, type PlannedChannel, type PlannedProvider } from '../../pipeline/plans.ts';
import type { Outcome, Outgoing, Sender, SentMessage, Tools } from '../../providers/sending.ts';
import { type Admission, type Entrant, type Entry, interrupted, type Limit } from '../limits/limits.ts';
import type { Circuit } from '../telemetry/meters.ts';
import { Destinations } from './destinations.ts';

const failuresToOpen = 10;
/** How long a circuit stays open: at first, and at most, after several tests that failed. */
const openMs = { first: 30_000, max: 120_000 };
/**
 * The maximum time for which a provider's `Retry-After` opens the circuit, which also holds messages that were never tried. A
 * message itself waits longer if it is asked to.
 */
const maxOpenMs = 3_600_000;
const maxOpenMsOfType: Partial<Record<string, number>> = {
  sms: 600_000,
  voice: 600_000,
  push: 600_000,
  webpush: 600_000,
};
/** No provider means more. */
const maxRetryAfterSeconds = 86_400;
/** How long other messages wait for the outcome of the one that tests the provider. */
export const halfOpenWaitMs = 1_000;
/** Addresses in a row whose answer may be caused by wrong settings, after which the channel is paused. */
export const maxDoubted = 10;

interface OpenSender {
  type: string;
  provider: string;
  fingerprint: string;
  sender: Sender;
  semaphore: PrioritySemaphore | undefined;
  /** Leaves the semaphore. */
  entry: Entry | undefined;
  destinations: Destinations;
  inFlight: number;
  /** HTTP requests so far. */
  requests: number;
  failures: number;
  circuitOpenUntil: number;
  /** Tests that failed since the circuit opened. */
  failedTests: number;
  /** Whether any message was sent with these settings. */
  hasSent: boolean;
  /** Addresses that are gone unless the settings are wrong. */
  doubted: Set<string>;
}

/** Receives the outages of channels. */
interface OutageListener {
  /** The circuit of one of the channel's providers has opened, or opened again after a test. */
  circuitOpened(channel: PlannedChannel, provider: string, until: number, isAgain: boolean): void;
  messageSent(channel: PlannedChannel): void;
  /** No address could be reached, and the settings may be the cause. */
  settingsDoubted(channel: PlannedChannel, provider: string, reason: string): void;
}

export class Senders implements Limit {
  readonly #tools: Tools;
  readonly #outages: OutageListener;
  readonly #open = new Map<string, OpenSender>();

  constructor(tools: Tools, outages: OutageListener = noListener) {
    this.#tools = tools;
    this.#outages = outages;
  }

  /** Returns until when the provider's circuit is open; 0 when it is closed. */
  circuitOpenUntil(channel: PlannedChannel, index: number, now: number): number {
    const open = this.#open.get(senderKey(channel, index));
    if (!open || open.circuitOpenUntil === 0) return 0;
    if (open.circuitOpenUntil > now) return open.circuitOpenUntil;
    // The circuit is half-open: one message tests the provider, and the others wait for its outcome.
    return open.inFlight > 0 ? now + halfOpenWaitMs : 0;
  }

  /**
   * Waits until the provider can take one more message, most urgent first. Messages are rendered after this: 250 rendered
   * emails waiting in memory cost 1.5 times as much each.
   */
  enter(
    channel: PlannedChannel,
    { provider_index, priority, occurrence_id }: Entrant,
  ): Admission | Promise<Admission> | undefined {
    const { semaphore, entry } = this.#sender(channel, provider_index);
    const waiting = semaphore?.enter(priority, occurrence_id);
    return waiting ? waiting.then(isAdmitted => (isAdmitted ? entry! : interrupted)) : entry;
  }

  /** Returns whether a message should wait because the server of its recipient defers messages and has enough in flight. */
  isCrowded(channel: PlannedChannel, index: number, address: string, now: number): boolean {
    return this.#open.get(senderKey(channel, index))?.destinations.isCrowded(address, now) ?? false;
  }

  /** Ends the waits in `enter` for an occurrence, or all of them. */
  interrupt(occurrenceId?: string): void {
    for (const { semaphore } of this.#open.values()) semaphore?.interrupt(occurrenceId);
  }

  /** Sends the message. `mayHandOver` is asked right before it leaves the process; if not, the outcome is `withdrawn`. */
  async send(
    channel: PlannedChannel,
    index: number,
    outgoing: Outgoing,
    mayHandOver: () => boolean = () => true,
  ): Promise<Outcome> {
    return this.#call(channel, index, outgoing.address, sender => guarded(mayHandOver, () => sender.send(outgoing)));
  }

  /** Updates or retracts a message that was sent. */
  async change(
    channel: PlannedChannel,
    index: number,
    action: UpdateAction,
    sent: SentMessage,
    mayHandOver: () => boolean = () => true,
  ): Promise<Outcome> {
    const unsupported: Outcome = { ok: false, retry: false, reason: `the provider cannot ${action} messages` };
    const change = async (sender: Sender) => sender[action]?.(sent) ?? unsupported;
    return this.#call(channel, index, sent.address, sender => guarded(mayHandOver, () => change(sender)));
  }

  async #call(
    channel: PlannedChannel,
    index: number,
    address: string,
    call: (sender: Sender) => Promise<Outcome>,
  ): Promise<Outcome> {
    const open = this.#sender(channel, index);
    const { requests } = open;
    open.inFlight++;
    open.destinations.enter(address);
    const beganAt = performance.now();
    try {
      const outcome = this.#weigh(open, channel, index, address, limitWait(await call(open.sender)));
      if (outcome.ok) open.destinations.recordSent(address);
      // Neither a failure of the provider nor proof that it works.
      if (!outcome.ok && outcome.ofRecipient) {
        const now = performance.now();
        open.destinations.recordDeferral(address, now - beganAt, now);
      } else this.#recordOutcome(open, outcome, channel);
      return outcome;
    } catch (error) {
      // A bug in the provider's code must not end the worker. Without a request, nothing can have been sent.
      const unknown = open.requests > requests;
      return { ok: false, retry: true, unknown, reason: `the provider failed: ${(error as Error).message}` };
    } finally {
      open.inFlight--;
      open.destinations.leave(address);
    }
  }

  /** Returns the circuit of every open provider. */
  circuits(now: number): Circuit[] {
    return [...this.#open.values()].map(({ type, provider, circuitOpenUntil }) => {
      const state = circuitOpenUntil === 0 ? 'closed' : circuitOpenUntil > now ? 'open' : 'half_open';
      return { type, provider, state };
    });
  }

  async close(): Promise<void> {
    const senders = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(senders.map(({ sender }) => sender.close()));
  }

  #sender(channel: PlannedChannel, index: number): OpenSender {
    const name = senderKey(channel, index);
    const planned = channel.providers[index]!;
    const fingerprint = fingerprintOf(planned);
    const existing = this.#open.get(name);
    if (existing?.fingerprint === fingerprint) return existing;
    existing?.sender.close().catch(() => {});
    const { outbound } = this.#tools;
    const request: Outbound['request'] = (url, options) => {
      opened.requests++;
      return outbound.request(url, options);
    };
    const sender = planned.provider.open(planned.settings as never, {
      ...this.#tools,
      outbound: { ...outbound, request },
    });
    const semaphore = sender.maxConcurrent === undefined ? undefined : new PrioritySemaphore(sender.maxConcurrent);
    const names = { type: channel.type, provider: planned.provider.name };
    const opened: OpenSender = {
      ...names,
      fingerprint,
      sender,
      semaphore,
      entry: semaphore && { leave: () => semaphore.leave() },
      destinations: new Destinations(sender.maxConcurrent),
      inFlight: 0,
      requests: 0,
      failures: 0,
      circuitOpenUntil: 0,
      failedTests: 0,
      hasSent: false,
      doubted: new Set(),
    };
    this.#open.set(name, opened);
    return opened;
  }

  /**
   * Decides whether an address is gone that wrong settings would make look so: only if another one was reached with the same
   * settings, and no other provider of the channel can send to it. Until then, the message is tried again.
   */
  #weigh(open: OpenSender, channel: PlannedChannel, index: number, address: string, outcome: Outcome): Outcome {
    if (outcome.ok) {
      open.hasSent = true;
      if (open.doubted.size > 0) open.doubted.clear();
      return outcome;
    }
    const { doubt, gone: _, ...failure } = outcome;
    if (doubt === undefined) return outcome;
    if (channel.providers.slice(index + 1).some(one => acceptsAddress(one, address))) return failure;
    if (open.hasSent) return { ...failure, gone: true };
    open.doubted.add(address);
    const reason = `${failure.reason}: ${doubt}`;
    if (open.doubted.size >= maxDoubted) {
      open.doubted.clear();
      const why = `${maxDoubted} addresses in a row were refused, and none was reached (${reason}). Then resume the channel.`;
      this.#outages.settingsDoubted(channel, open.provider, why);
    }
    return { ...failure, retry: true, ofRecipient: true, reason };
  }

  /** Counts only failures of the provider, not of a single message. */
  #recordOutcome(open: OpenSender, outcome: Outcome, channel: PlannedChannel): void {
    if (!outcome.ok && (outcome.withdrawn || outcome.local)) return;
    if (outcome.ok) this.#outages.messageSent(channel);
    if (outcome.ok || !outcome.retry) {
      open.failures = 0;
      open.circuitOpenUntil = 0;
      open.failedTests = 0;
      return;
    }
    open.failures++;
    if (open.failures < failuresToOpen) return;
    const now = performance.now();
    const isAgain = open.circuitOpenUntil !== 0;
    // Messages that were in flight when the circuit opened are no tests.
    if (isAgain && open.circuitOpenUntil <= now) open.failedTests++;
    const ownMs = Math.min(openMs.first * 2 ** open.failedTests, openMs.max);
    const askedMs = Math.min((outcome.retryAfterSeconds ?? 0) * 1_000, lookUp(maxOpenMsOfType, open.type) ?? maxOpenMs);
    open.circuitOpenUntil = now + Math.max(ownMs, askedMs);
    this.#outages.circuitOpened(channel, open.provider, open.circuitOpenUntil, isAgain);
    // The test message alone decides whether the circuit opens again.
    open.failures = failuresToOpen - 1;
  }
}

function limitWait(outcome: Outcome): Outcome {
  if (outcome.ok || outcome.retryAfterSeconds === undefined) return outcome;
  return { ...outcome, retryAfterSeconds: Math.min(outcome.retryAfterSeconds, maxRetryAfterSeconds) };
}

/** Calls a provider whose requests need permission. The outcome of a call that did not get it is `withdrawn`. */
async function guarded(mayHandOver: () => boolean, call: () => Promise<Outcome>): Promise<Outcome> {
  let isRefused = false;
  const check = () => {
    isRefused ||= !mayHandOver();
    return !isRefused;
  };
  const outcome = await withHandoverCheck(check, call);
  return isRefused && !outcome.ok && !outcome.unknown ? { ...outcome, withdrawn: true } : outcome;
}

const nothing = () => {};
const noListener: OutageListener = { circuitOpened: nothing, messageSent: nothing, settingsDoubted: nothing };

function senderKey(channel: PlannedChannel, index: number): string {
  return `${channel.organizationId}/${channel.id}/${index}`;
}

const fingerprints = new WeakMap<PlannedProvider, string>();

function fingerprintOf(planned: PlannedProvider): string {
  let text = fingerprints.get(planned);
  if (text === undefined) {
    text = canonicalJson({ use: planned.provider.name, settings: planned.settings });
    fingerprints.set(planned, text);
  }
  return text;
}
