/**
 * Sends claimed deliveries (status `sending`, committed): each is checked again against the current state, rendered,
 * sent and settled. A delivery ends as sent, failed, suppressed, cancelled, expired or unknown, or waits again as
 * retrying or pending.
 */
import type pg from 'pg';
import { isBundleId } from '../../core/decision/bundle.ts';
import { recheck } from '../../core/decision/recheck.ts';
import type { SilenceHit } from '../../core/decision/silences.ts';
import type { OccurrenceFacts } from '../../db/history/occurrences.ts';
import { claimDeliveriesAcrossTenants, type Delivery, type Settlement } from '../../db/ledger/deliver/deliveries.ts';
import type { Silenced } from '../../db/ledger/expand/silenced.ts';
import { type ClaimRequest, claimProgress } from '../../db/ledger/round-robin.ts';
import type { Announcements } from '../../lib/caching/announcements.ts';
import type { Batcher } from '../../lib/load/batcher.ts';
import type { Span, Traces } from '../../lib/telemetry/traces.ts';
import { currentTime, timeAt } from '../../lib/time/clock.ts';
import type { MissingVariables } from '../../pipeline/missing-variables.ts';
import { acceptsAddress, type PlannedChannel, type Plans } from '../../pipeline/plans.ts';
import type { Outcome, Outgoing } from '../../providers/sending.ts';
import type { InboxWriter } from '../../services/audience/inbox.ts';
import type { ChannelLimits } from '../limits/channel-limits.ts';
import type { DayLimits } from '../limits/day-limits.ts';
import { enter, type Limit } from '../limits/limits.ts';
import type { Log, RareWarnings } from '../log.ts';
import { retryWhileUnavailable } from '../retry-while-unavailable.ts';
import type { Meters } from '../telemetry/meters.ts';
import {
  endCall,
  endDelivery,
  setChannelAttributes,
  setEventAttributes,
  startDelivery,
  traceFields,
} from '../telemetry/spans.ts';
import { findBundleWait, isLateAlert, type LateAlert, leaveOutStopped } from './bundles.ts';
import { type DeliveryState, readStates } from './delivery-states.ts';
import type { Fence } from './fence.ts';
import type { GoneAddresses } from './gone-addresses.ts';
import { storeInApp } from './in-app.ts';
import { loadFiles, type MessageFiles, type MessageTools, renderMessage, type SendContext } from './message.ts';
import type { Outcomes } from './outcomes.ts';
import type { Senders } from './senders.ts';
import {
  postpone,
  settleCrowded,
  settleDayLimit,
  settleError,
  settleOpenCircuit,
  settleOutcome,
  settleVerdict,
  waitForNextDay,
} from './settlements.ts';

/** What sending a delivery needs. */
export interface DeliverTools {
  /** For the few statements that run for every message, with `indexScansOnly`. */
  hot: pg.Pool;
  plans: Plans;
  messages: MessageTools;
  /** Changes that can stop a message which is about to be sent, by organization. */
  stops: Announcements;
  /** Reads the state again after such a change. */
  states: Batcher<Delivery, DeliveryState>;
  /** Whether this worker still owns what it is about to send. */
  fence: Fence;
  /** All limits, in the order in which they are entered. */
  limits: readonly Limit[];
  channelLimits: ChannelLimits;
  dayLimits: DayLimits;
  senders: Senders;
  inbox: InboxWriter;
  outcomes: Outcomes;
  goneAddresses: GoneAddresses;
  /** Puts alerts that have waited into bundles. */
  lateAlerts: Batcher<LateAlert, boolean>;
  /** Records what silences hold and suppress. */
  silenced: Batcher<Silenced, undefined>;
  missingVariables: MissingVariables;
  meters: Meters;
  log: Log;
  warnings: RareWarnings;
  /** Undefined when tracing is off. */
  traces: Traces | undefined;
}

interface ClaimTools {
  /** One connection, for claims only: see `indexScansOnly`. */
  claims: pg.Pool;
  /** The organization that was served last, for each priority class. */
  lastServed: number[];
  meters: Meters;
}

/** Messages that are rendered before the event loop gets to run: about 2 ms of work. */
const messagesPerTick = 50;

/** Claims due deliveries of one priority class; undefined when nothing was due. */
export async function claimDeliveries(
  { claims, lastServed, meters }: ClaimTools,
  { priority, ...more }: Omit<ClaimRequest, 'after'>,
): Promise<Delivery[] | undefined> {
  const request = { priority, after: lastServed[priority] ?? 0, ...more };
  const claimed = await claimDeliveriesAcrossTenants(claims, request);
  meters.batch('claim', claimed.length);
  lastServed[priority] = claimProgress(request, claimed).after;
  return claimed.length === 0 && request.after === 0 ? undefined : claimed;
}

/** A claimed delivery, with its occurrence and recipient where they were just read and need not be read again. */
export interface ClaimedDelivery {
  delivery: Delivery;
  state?: Required<ReadState>;
}

/** The state of a delivery as it was read, with the generation of `stops` before. */
type ReadState = DeliveryState & { readAt: number };

/**
 * Sends all of these deliveries and resolves after the last one. Calls `onSettled` for each, with whether it is already
 * due again.
 */
export async function deliverAll(
  tools: DeliverTools,
  ready: ClaimedDelivery[],
  onSettled: (delivery: Delivery, isDue: boolean) => void,
): Promise<void> {
  const missing = ready.filter(({ state }) => !state).map(({ delivery }) => delivery);
  const readAt = tools.stops.generation;
  const states = await retryWhileUnavailable(tools.log, 'reading occurrences and recipients', () =>
    readStates({ pool: tools.hot, plans: tools.plans }, missing),
  );
  const read = new Map(missing.map((delivery, index) => [delivery, { ...states[index]!, readAt }]));
  const sending: Promise<void>[] = [];
  for (const { delivery, state } of ready) {
    const settled = deliver(tools, delivery, state ?? read.get(delivery)!).then(isDue => onSettled(delivery, isDue));
    // Errors are reported by `Promise.all` below. Until then, an unhandled rejection would end the process.
    settled.catch(() => {});
    sending.push(settled);
    // Rendering 500 messages without a pause delayed the query for the next page and the settling of outcomes.
    if (sending.length % messagesPerTick === 0) await new Promise(setImmediate);
  }
  await Promise.all(sending);
}

/** Sends a delivery and stores the outcome. Returns whether it is already due again. */
async function deliver(tools: DeliverTools, delivery: Delivery, state: ReadState): Promise<boolean> {
  const { occurrence } = state;
  const span = startDelivery(tools, delivery, occurrence);
  const result = await send(tools, delivery, state, span).catch(error => settleFailure(tools, delivery, state, error));
  const { settlement, limited, isStored } = result;
  tools.meters.settled(delivery, settlement, occurrence);
  const settling = limited ? undefined : span?.start('settle');
  const stored = toStored(result, delivery, occurrence);
  if (!isStored) await tools.outcomes.settle(stored);
  settling?.end();
  const { due_at } = stored;
  if (limited) {
    // It is claimed again when there is capacity, not when it is due.
    tools.channelLimits.addRequeued(limited, delivery, due_at as Date);
    return false;
  }
  endDelivery(span, settlement);
  return due_at instanceof Date && due_at.getTime() <= currentTime();
}

/** How a delivery is settled. */
interface SendResult {
  settlement: Settlement;
  /** What is stored about the attempt. */
  attempt?: Partial<Settlement>;
  /** The channel whose limit it waits for. */
  limited?: PlannedChannel;
  /** Whether the settlement is stored already. */
  isStored?: boolean;
}

async function settleFailure(
  tools: DeliverTools,
  delivery: Delivery,
  { occurrence }: ReadState,
  error: Error,
): Promise<SendResult> {
  const channel = await findChannel(tools, delivery).catch(() => undefined);
  const settlement = settleError(delivery, error, channel);
  const fields = { err: error, occurrence: delivery.occurrence_id, delivery: delivery.id, ...traceFields(occurrence) };
  if (settlement.tried) tools.log.error(fields, 'sending failed');
  else tools.warnings.warn(fields, 'messages wait, and are tried again without costing an attempt');
  return { settlement };
}

/** Adds what the statistics need. A delivery that would wait beyond the expiry of its occurrence is due then: its end is known in time. */
function toStored(
  { settlement, attempt }: SendResult,
  { digest_id, step, created_at, released_at }: Delivery,
  occurrence: OccurrenceFacts | undefined,
): Settlement {
  if (!occurrence) return settlement;
  const { due_at } = settlement;
  const { event_id, expires_at } = occurrence;
  return {
    ...settlement,
    ...attempt,
    event_id,
    // The time that a digest, a step, a pause or quiet hours wait is not latency. While others of the occurrence wait for a canary, it is
    // due later than the message.
    since: digest_id
      ? null
      : (released_at ?? (step === 0 && occurrence.due_at < created_at ? occurrence.due_at : created_at)),
    due_at: expires_at && due_at instanceof Date && due_at > expires_at ? expires_at : due_at,
  };
}

async function findChannel({ plans }: DeliverTools, { organization_id, channel_id }: Delivery) {
  return (await plans.listChannels(organization_id)).find(one => one.id === channel_id);
}

/** The rows of the table of deliveries in docs/architecture.md that leave the state `sending`, in order. */
async function send(
  tools: DeliverTools,
  claimed: Delivery,
  state: ReadState,
  span: Span | undefined,
): Promise<SendResult> {
  // Check.
  const checked = await check(tools, claimed, state, span);
  if ('status' in checked) return { settlement: checked };
  if (isLateAlert(claimed, checked) && (await tools.lateAlerts.add({ delivery: claimed, channel: checked.channel })))
    return { settlement: postpone(claimed, { reason: 'digest' }), isStored: true };
  const delivery = chooseProvider(tools, claimed, checked.channel);
  const { provider_index: index } = delivery;
  const dayEnd = tools.dayLimits.findWait(checked.channel, index, performance.now());
  if (dayEnd) return { settlement: waitForNextDay(delivery, dayEnd) };
  if (isCrowded(tools, delivery, checked)) return { settlement: settleCrowded(delivery, currentTime()) };
  const completeAt = isBundleId(delivery.digest_id) ? await findBundleWait(tools.hot, delivery) : undefined;
  if (completeAt) return { settlement: postpone(delivery, { reason: 'digest', due_at: completeAt }) };
  if (isBundleId(delivery.digest_id)) await leaveOutStopped(tools, delivery, checked);

  // Enter the limits.
  const entry = await enter(tools.limits, checked.channel, delivery);
  if ('by' in entry) {
    if (entry.by === 'day') return { settlement: settleDayLimit(delivery, checked.channel, entry, currentTime()) };
    if (entry.by === 'channel') {
      const { dueAt: due_at, detail } = entry;
      return { settlement: postpone(delivery, { due_at, detail }), limited: checked.channel };
    }
    // Another worker, or this one after its restart, sends it.
    if (tools.fence.isStopping) return { settlement: withdraw(delivery) };
    return send(tools, claimed, await readAgain(tools, claimed), span);
  }
  let outcome: Outcome;
  let result: SendResult;
  let isSent = false;
  let files: MessageFiles | undefined;
  try {
    if (tools.fence.isStopping) return { settlement: withdraw(delivery) };
    const current = maySend(tools, delivery, checked) ? checked : await checkAgain(tools, delivery, checked, span);
    if ('status' in current) return { settlement: current };

    // Render, with files.
    const message = await renderMessage(tools.messages, delivery, current, span);
    if ('status' in message) return { settlement: message };
    const { outgoing, snapshotId } = message;
    if (current.occurrence.attachments || outgoing.content.attachments) {
      const loaded = await loadFiles(tools.messages, delivery, current, outgoing.content);
      if (loaded && 'status' in loaded) return { settlement: loaded };
      files = loaded;
    }

    // Check for the last time.
    const last = maySend(tools, delivery, current) ? current : await checkAgain(tools, delivery, current, span);
    if ('status' in last) return { settlement: last };
    const { channel, recipient } = last;
    // Nothing is awaited between this check and the call: while the circuit is half-open, only one message may be sent.
    const openUntil = tools.senders.circuitOpenUntil(channel, index, performance.now());
    if (openUntil > 0) {
      return { settlement: settleOpenCircuit(delivery, channel, timeAt(openUntil), currentTime()) };
    }
    if (isCrowded(tools, delivery, last)) return { settlement: settleCrowded(delivery, currentTime()) };
    recordMissingVariables(tools, delivery, outgoing);

    // Call.
    const { name } = channel.providers[index]!.provider;
    const call = span?.start('send', 'call');
    const beganAt = performance.now();
    outcome =
      name === 'inbox'
        ? await storeInApp(tools.inbox, delivery, last.plan, files?.content ?? outgoing.content)
        : await tools.senders.send(
            channel,
            index,
            toCall(tools, delivery, last, { outgoing, files, traceparent: call?.traceparent }),
            () => tools.fence.holds(delivery),
          );
    endCall(call, name, outcome);

    // Settle.
    if (!outcome.ok && outcome.withdrawn) {
      const stopped = isUnchanged(tools, delivery, last) ? last : await checkAgain(tools, delivery, last, span);
      return { settlement: 'status' in stopped ? stopped : withdraw(delivery) };
    }
    tools.meters.attempted(channel.type, name, outcome);
    const settlement = settleOutcome(delivery, channel, outcome, outgoing, currentTime());
    const { tried, status, reason } = settlement;
    const ms = Math.round(performance.now() - beganAt);
    const attempt = {
      snapshot_id: snapshotId,
      user_version: recipient.version === delivery.user_version ? null : recipient.version,
      attempt: tried ? { began_at: new Date(timeAt(beganAt)), ms } : null,
      ...(status === 'sent' && files?.detail && { detail: files.detail }),
    };
    isSent = status === 'sent' || reason === 'unknown';
    result = { settlement, attempt };
  } finally {
    files?.release?.();
    entry.leave(isSent);
  }
  // By now, the provider can take the next message.
  if (!outcome.ok && outcome.gone) await disableGone(tools, delivery, checked, outcome.reason);
  return result;
}

/**
 * Checks a delivery against the current state. Returns the context to send it with, or how to settle it if it may not be sent
 * now.
 */
async function check(
  tools: DeliverTools,
  delivery: Delivery,
  { occurrence, recipient, readAt }: ReadState,
  span: Span | undefined,
): Promise<SendContext | Settlement> {
  const channel = await findChannel(tools, delivery);
  const plan = occurrence && (await tools.plans.findEvent(delivery.organization_id, occurrence.event_id));
  if (channel) tools.meters.rememberType(channel);
  if (channel) setChannelAttributes(span, channel);
  if (plan) setEventAttributes(span, plan);
  const silences = await tools.plans.findSilences(delivery.organization_id);
  const verdict = recheck({ delivery, occurrence, recipient, channel, plan, silences }, currentTime());
  if (verdict && 'silenced' in verdict) await tools.silenced.add(toSilenced(delivery, verdict.silenced!));
  if (verdict) return settleVerdict(delivery, verdict);
  return { occurrence: occurrence!, recipient: recipient!, channel: channel!, plan: plan!, readAt };
}

function toSilenced({ organization_id, occurrence_id }: Delivery, { silence, until, effect }: SilenceHit): Silenced {
  return { organization_id, occurrence_id, silence_id: silence.id, until, effect };
}

/**
 * Returns whether the message may be sent now: this worker owns it, and nothing has changed since its state was read. Nothing is
 * sent after it was cancelled, paused, disabled, deleted or opted out of, however long it waited for its provider, nor by a
 * worker that no longer owns it. Announcements keep it cheap: without one since the message was read, there is nothing to
 * read. While the listener is disconnected, everything is read again.
 */
function maySend(tools: DeliverTools, delivery: Delivery, context: SendContext): boolean {
  return tools.fence.isFresh(delivery) && !tools.outcomes.isBehind && isUnchanged(tools, delivery, context);
}

function isUnchanged({ stops }: DeliverTools, { organization_id }: Delivery, { readAt }: SendContext): boolean {
  return stops.isCurrent(organization_id, readAt);
}

/** Waits for the worker's lease, and checks the delivery against the current state if that has changed. */
async function checkAgain(
  tools: DeliverTools,
  delivery: Delivery,
  context: SendContext,
  span: Span | undefined,
): Promise<SendContext | Settlement> {
  await tools.outcomes.catchUp();
  if (!(await tools.fence.hold(delivery))) return withdraw(delivery);
  if (isUnchanged(tools, delivery, context)) return context;
  return check(tools, delivery, await readAgain(tools, delivery), span);
}

async function readAgain({ stops, states }: DeliverTools, delivery: Delivery): Promise<ReadState> {
  const readAt = stops.generation;
  return { ...(await states.add(delivery)), readAt };
}

/** Settles a delivery that was not handed over. This has no effect if another worker has taken it over. */
function withdraw(delivery: Delivery): Settlement {
  return postpone(delivery, { due_at: new Date(currentTime()) });
}

/**
 * Moves a delivery on to the first provider, from its current one, that can send to its address and has not used up its day.
 * If all have, it stays with the first one that can send to its address.
 */
function chooseProvider({ dayLimits }: DeliverTools, delivery: Delivery, channel: PlannedChannel): Delivery {
  const { providers } = channel;
  if (providers.length === 1) return delivery;
  const { provider_index: current, address } = delivery;
  const able = [...providers.keys()].filter(i => i >= current && acceptsAddress(providers[i]!, address ?? ''));
  const free = able.find(i => !dayLimits.findWait(channel, i, performance.now()));
  const chosen = free ?? able[0] ?? current;
  return chosen === current ? delivery : { ...delivery, provider_index: chosen };
}

function isCrowded({ senders }: DeliverTools, delivery: Delivery, { channel }: SendContext): boolean {
  return senders.isCrowded(channel, delivery.provider_index, delivery.address ?? '', performance.now());
}

/** Returns the message as its provider gets it. */
function toCall(
  tools: DeliverTools,
  delivery: Delivery,
  context: SendContext,
  {
    outgoing,
    files,
    traceparent = context.occurrence.traceparent ?? undefined,
  }: { outgoing: Outgoing; files: MessageFiles | undefined; traceparent: string | undefined },
): Outgoing {
  return {
    ...outgoing,
    ...(files?.content && { content: files.content }),
    ...(files?.attachments && { attachments: files.attachments }),
    ...(traceparent && { traceparent }),
    mayStillSend: () =>
      maySend(tools, delivery, context) ||
      checkAgain(tools, delivery, context, undefined).then(checked => !('status' in checked)),
  };
}

/** Records variables missing from the message once per delivery, with its first attempt. */
function recordMissingVariables(tools: DeliverTools, delivery: Delivery, { content, tags }: Outgoing): void {
  if (content.missing.length === 0 || delivery.attempts > 1) return;
  const { organization_id: organizationId, notification_id: notificationId, version } = delivery;
  tools.missingVariables.record(
    { organizationId, notificationId, version, where: tags },
    content.missing,
    currentTime(),
  );
}

/** Disables or suppresses an address that is gone, before the outcome is stored. */
async function disableGone(
  tools: DeliverTools,
  delivery: Delivery,
  { channel, occurrence }: SendContext,
  reason: string,
): Promise<void> {
  if (channel.reach !== 'address') return;
  const { organization_id: organizationId, user_id: userId, address } = delivery;
  try {
    const source = channel.providers[delivery.provider_index]!.provider.name;
    await tools.goneAddresses.disable({ organizationId, userId, value: address!, reason, channel, source });
  } catch (error) {
    // The outcome counts all the same.
    const where = { occurrence: delivery.occurrence_id, ...traceFields(occurrence) };
    tools.log.warn({ err: error, ...where }, 'could not disable an address that no longer exists');
  }
}
