/**
 * Sends claimed deliveries (status `sending`, committed): each is checked again against the current state, rendered,
 * sent and settled. A delivery ends as sent, failed, suppressed, cancelled, expired or unknown, or waits again as
 * retrying or pending.
 */
import type { Category } from '../../core/configuration/nouns/category.ts';
import { digestLimits } from '../../core/decision/digest.ts';
import { generalSlug } from '../../core/decision/preferences.ts';
import { recheck } from '../../core/decision/recheck.ts';
import { AppError } from '../../core/errors.ts';
import type { Content } from '../../core/render/render.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import type { OccurrenceFacts } from '../../db/history/occurrences.ts';
import { claimDeliveriesAcrossTenants, type Delivery, type Settlement } from '../../db/ledger/deliver/deliveries.ts';
import { claimProgress, type Shares } from '../../db/ledger/round-robin.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime, timeAt } from '../../lib/time/clock.ts';
import { isTracked } from '../../pipeline/message-links.ts';
import { type MessageContext, renderDelivery } from '../../pipeline/messages.ts';
import { acceptsAddress, type PlannedChannel } from '../../pipeline/plans.ts';
import type { Outcome, Outgoing } from '../../providers/sending.ts';
import { sendWithFiles } from '../attachments/attach.ts';
import type { Engine } from '../engine.ts';
import { retryWhileUnavailable } from '../retry-while-unavailable.ts';
import {
  endCall,
  endDelivery,
  linkDigestItems,
  setChannelAttributes,
  setEventAttributes,
  startDelivery,
  traceFields,
} from '../telemetry/spans.ts';
import { type DeliveryState, readStates } from './delivery-states.ts';
import { type CheckedContext, checkAgain, maySend, withdraw } from './last-check.ts';
import {
  postpone,
  settleCrowded,
  settleDayLimit,
  settleError,
  settlementOf,
  settleOpenCircuit,
  settleOutcome,
  settleVerdict,
  waitForNextDay,
} from './settlements.ts';

/** Messages that are rendered before the event loop gets to run: about 2 ms of work. */
const messagesPerTick = 50;

/** Claims due deliveries of one priority class; undefined when nothing was due. */
export async function claimDeliveries(
  engine: Engine,
  owner: number,
  priority: number,
  max: number,
  shares: Shares,
): Promise<Delivery[] | undefined> {
  const { claims, lastServed } = engine;
  const request = { priority, after: lastServed.deliveries[priority] ?? 0, max, owner, shares };
  const claimed = await claimDeliveriesAcrossTenants(claims, request);
  engine.meters.batch('claim', claimed.length);
  lastServed.deliveries[priority] = claimProgress(request, claimed).after;
  return claimed.length === 0 && request.after === 0 ? undefined : claimed;
}

/** A claimed delivery, with its occurrence and recipient where they were just read and need not be read again. */
export interface ClaimedDelivery {
  delivery: Delivery;
  /** With the generation of `engine.stops` before it was read. */
  state?: Required<DeliveryState> & { readAt: number };
}

/** The state of a delivery as it was read, with the generation of `engine.stops` before. */
type ReadState = DeliveryState & { readAt: number };

/** A delivery that may be sent, with everything that rendering and sending it needs. */
interface SendContext extends CheckedContext {
  span: Span | undefined;
  /** The provider's words if the address is gone. */
  goneReason?: string;
}

/**
 * Sends all of these deliveries and resolves after the last one. Calls `onSettled` for each, with whether it is already
 * due again.
 */
export async function deliverAll(
  engine: Engine,
  ready: ClaimedDelivery[],
  onSettled: (delivery: Delivery, isDue: boolean) => void,
): Promise<void> {
  const missing = ready.filter(({ state }) => !state).map(({ delivery }) => delivery);
  const readAt = engine.stops.generation;
  const states = await retryWhileUnavailable(engine.log, 'reading occurrences and recipients', () =>
    readStates({ pool: engine.hot, plans: engine.plans }, missing),
  );
  const read = new Map(missing.map((delivery, index) => [delivery, { ...states[index]!, readAt }]));
  const sending: Promise<void>[] = [];
  for (const { delivery, state } of ready) {
    const settled = deliverOne(engine, delivery, state ?? read.get(delivery)!).then(isDue =>
      onSettled(delivery, isDue),
    );
    // Errors are reported by `Promise.all` below. Until then, an unhandled rejection would end the process.
    settled.catch(() => {});
    sending.push(settled);
    // Rendering 500 messages without a pause delayed the query for the next page and the settling of outcomes.
    if (sending.length % messagesPerTick === 0) await new Promise(setImmediate);
  }
  await Promise.all(sending);
}

async function deliverOne(engine: Engine, delivery: Delivery, state: ReadState): Promise<boolean> {
  const { occurrence } = state;
  const span = startDelivery(engine, delivery, occurrence);
  const settlement = await deliver(engine, delivery, state, span).catch(async error => {
    const channel = await findChannel(engine, delivery).catch(() => undefined);
    const settlement = settleError(delivery, error, channel);
    const where = { occurrence: delivery.occurrence_id, delivery: delivery.id, ...traceFields(occurrence) };
    if (settlement.tried) engine.log.error({ err: error, ...where }, 'sending failed');
    else warnOnce(engine, error, where);
    return settlement;
  });
  if (settlement) {
    engine.meters.settled(delivery, settlement, occurrence);
    const settling = span?.start('settle');
    await engine.outcomes.settle(addStatistics(endByExpiry(settlement, occurrence), delivery, occurrence));
    settling?.end();
    endDelivery(span, settlement);
  }
  return settlement?.due_at instanceof Date && settlement.due_at.getTime() <= currentTime();
}

async function findChannel({ plans }: Engine, { organization_id, channel_id }: Delivery) {
  return (await plans.listChannels(organization_id)).find(one => one.id === channel_id);
}

/** Makes a delivery that would wait beyond the expiry of its occurrence due then: its end is known in time. */
function endByExpiry(settlement: Settlement, occurrence: OccurrenceFacts | undefined): Settlement {
  const expiresAt = occurrence?.expires_at;
  const { due_at } = settlement;
  return expiresAt && due_at instanceof Date && due_at > expiresAt ? { ...settlement, due_at: expiresAt } : settlement;
}

/** The causes that make many messages wait are logged once a minute each. */
const warnEveryMs = 60_000;
const maxWarnings = 1_000;
const warnedAt = new Map<string, number>();

function warnOnce(engine: Engine, error: Error, where: object): void {
  const now = performance.now();
  if (now - (warnedAt.get(error.message) ?? Number.NEGATIVE_INFINITY) < warnEveryMs) return;
  if (warnedAt.size >= maxWarnings) warnedAt.clear();
  warnedAt.set(error.message, now);
  engine.log.warn({ err: error, ...where }, 'messages wait, and are tried again without costing an attempt');
}

/** Returns how to settle the delivery; undefined when that is already stored. */
async function deliver(
  engine: Engine,
  delivery: Delivery,
  { occurrence, person, readAt }: ReadState,
  span: Span | undefined,
): Promise<Settlement | undefined> {
  const { organization_id: organizationId } = delivery;
  const channel = await findChannel(engine, delivery);
  if (channel) engine.meters.rememberType(channel);
  const plan = occurrence && (await engine.plans.findEvent(organizationId, occurrence.event_id));
  if (channel) setChannelAttributes(span, channel);
  if (plan) setEventAttributes(span, plan);
  const verdict = recheck({ delivery, occurrence, person, channel, plan }, currentTime());
  if (verdict) return settleVerdict(delivery, verdict);
  skipProviders(engine, delivery, channel!);
  const read = { occurrence: occurrence!, person: person!, channel: channel!, plan: plan!, readAt };
  const context: SendContext = { delivery, ...read, span };
  const wait = engine.dayLimits.findWait(channel!, delivery.provider_index, performance.now());
  if (wait) return waitForNextDay(delivery, wait);
  if (isCrowded(engine, context)) return settleCrowded(delivery, currentTime());
  if (channel!.ratePerSecond === null && channel!.concurrency === null) {
    return disableIfGone(engine, context, await attempt(engine, context));
  }
  const admission = await engine.limits.acquire(channel!, delivery);
  if ('dueAt' in admission) {
    await engine.outcomes.settle(postpone(delivery, { due_at: admission.dueAt, detail: admission.detail }));
    engine.limits.addRequeued(channel!, delivery, admission.dueAt);
    return undefined;
  }
  return disableIfGone(engine, context, await attempt(engine, context).finally(admission.release));
}

/**
 * Moves a delivery on to the first provider, from its current one, that can send to its address and has not used up its day.
 * If all have, it stays with the first one that can send to its address.
 */
function skipProviders({ dayLimits }: Engine, delivery: Delivery, channel: PlannedChannel): void {
  const { providers } = channel;
  if (providers.length === 1) return;
  const { provider_index: current, address } = delivery;
  const able = [...providers.keys()].filter(i => i >= current && acceptsAddress(providers[i]!, address ?? ''));
  const free = able.find(i => !dayLimits.findWait(channel, i, performance.now()));
  delivery.provider_index = free ?? able[0] ?? current;
}

function isCrowded({ senders }: Engine, { channel, delivery }: SendContext): boolean {
  return senders.isCrowded(channel, delivery.provider_index, delivery.address ?? '', performance.now());
}

async function attempt(engine: Engine, context: SendContext): Promise<Settlement> {
  for (;;) {
    const release = await engine.senders.acquire(context.channel, context.delivery);
    try {
      const settlement = await (release ? sendWithinDay(engine, context) : findStop(engine, context));
      if (settlement) return settlement;
    } finally {
      release?.();
    }
  }
}

/** Returns how to settle the delivery if it may no longer be sent, or not by this process. */
async function findStop(engine: Engine, context: SendContext): Promise<Settlement | undefined> {
  // Another worker, or this one after its restart, sends it.
  if (engine.isStopping) return withdraw(context.delivery);
  return maySend(engine, context) ? undefined : checkAgain(engine, context);
}

/** Disables or suppresses an address that is gone, before the outcome is stored. By now, the provider can take the next message. */
async function disableIfGone(engine: Engine, context: SendContext, settlement: Settlement): Promise<Settlement> {
  const { delivery, occurrence, channel, goneReason: reason } = context;
  if (reason === undefined) return settlement;
  const { organization_id: organizationId, user_id: userId, address } = delivery;
  try {
    const source = channel.providers[delivery.provider_index]!.provider.name;
    await engine.goneAddresses.disable({ organizationId, userId, value: address!, reason, channel, source });
  } catch (error) {
    // The outcome counts all the same.
    const where = { occurrence: delivery.occurrence_id, ...traceFields(occurrence) };
    engine.log.warn({ err: error, ...where }, 'could not disable an address that no longer exists');
  }
  return settlement;
}

/**
 * Sends the message if the provider's limit for the day allows it. Reserving it can take long, so that comes before the check.
 * A message that was not sent does not count.
 */
async function sendWithinDay(engine: Engine, context: SendContext): Promise<Settlement> {
  const { delivery, channel } = context;
  const { provider_index: index } = delivery;
  const wait = await engine.dayLimits.reserve(channel, index, performance.now());
  if (wait) return settleDayLimit(delivery, channel, wait, currentTime());
  let settlement: Settlement | undefined;
  try {
    settlement = (await findStop(engine, context)) ?? (await renderAndSend(engine, context));
    return settlement;
  } finally {
    const counts = settlement && (settlement.status === 'sent' || settlement.reason === 'unknown');
    if (!counts) engine.dayLimits.giveBack(channel, index, performance.now());
  }
}

async function renderAndSend(engine: Engine, context: SendContext): Promise<Settlement> {
  const { delivery, span } = context;
  let outgoing: Outgoing;
  let snapshotId: string;
  const rendering = span?.start('render');
  try {
    [outgoing, snapshotId] = await renderOutgoing(engine, context);
    rendering?.end();
  } catch (error) {
    rendering?.end(error instanceof AppError ? 'template.failed' : 'service.internal');
    if (!(error instanceof AppError)) throw error;
    return settlementOf(delivery, { status: 'failed', reason: 'template.failed', detail: error.message });
  }
  if (!context.occurrence.attachments && !outgoing.content.attachments)
    return sendRendered(engine, context, outgoing, snapshotId);
  return sendWithFiles(engine, context, outgoing, message => sendRendered(engine, context, message, snapshotId));
}

async function sendRendered(
  engine: Engine,
  context: SendContext,
  outgoing: Outgoing,
  snapshotId: string,
): Promise<Settlement> {
  const { delivery, span } = context;
  const { provider_index: index } = delivery;
  let stopped = maySend(engine, context) ? undefined : await checkAgain(engine, context);
  if (stopped) return stopped;
  const { occurrence, person, channel } = context;
  // Nothing is awaited between this check and the call: while the circuit is half-open, only one message may be sent.
  const openUntil = engine.senders.circuitOpenUntil(channel, index, performance.now());
  if (openUntil > 0) return settleOpenCircuit(delivery, channel, timeAt(openUntil), currentTime());
  if (isCrowded(engine, context)) return settleCrowded(delivery, currentTime());
  recordMissingVariables(engine, delivery, outgoing);
  const { name } = channel.providers[index]!.provider;
  const inApp = name === 'inbox';
  const call = span?.start('send', 'call');
  const traceparent = call?.traceparent ?? occurrence.traceparent;
  if (traceparent) outgoing.traceparent = traceparent;
  outgoing.mayStillSend = () =>
    maySend(engine, context) ||
    checkAgain(engine, context).then(settlement => {
      stopped = settlement;
      return !settlement;
    });
  const beganAt = performance.now();
  const outcome = await (inApp
    ? storeInApp(engine, context, outgoing)
    : engine.senders.send(channel, index, outgoing, () => engine.fence.holds(delivery)));
  endCall(call, name, outcome);
  if (stopped) return stopped;
  if (!outcome.ok && outcome.withdrawn) return withdraw(delivery);
  engine.meters.attempted(channel.type, name, outcome);
  if (!outcome.ok && outcome.gone && channel.reach === 'address') context.goneReason = outcome.reason;
  const attempt = { began_at: new Date(timeAt(beganAt)), ms: Math.round(performance.now() - beganAt) };
  const user_version = person.version === delivery.user_version ? null : person.version;
  const settlement = settleOutcome(delivery, channel, outcome, outgoing, currentTime());
  return { ...settlement, snapshot_id: snapshotId, user_version, attempt: settlement.tried ? attempt : null };
}

/**
 * Sends an in-app message by storing it. Its id is the delivery's, so storing it again after a crash or a lost response
 * has no effect. An unavailable database is handled by `settleError` and costs no attempt.
 */
async function storeInApp(engine: Engine, context: SendContext, { id, content }: Outgoing): Promise<Outcome> {
  const { delivery, plan } = context;
  const { organization_id, user_id, occurrence_id } = delivery;
  const { title, text: body, avatar } = content;
  const actions = content.actions?.map(({ event, ...action }) =>
    event === undefined ? action : { ...action, event: `${plan.project.slug}/${plan.application.slug}/${event}` },
  );
  const fields = { title, body, category: plan.topic.category.slug, avatar, actions };
  try {
    await engine.inbox.add({ organization_id, user_id, id: delivery.id, occurrence_id, ...fields });
    return { ok: true, id };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    // If the user was deleted meanwhile, the check before the next attempt finds out.
    return { ok: false, retry: true, reason: `the message could not be stored: ${(error as Error).message}` };
  }
}

async function renderOutgoing(engine: Engine, sendContext: SendContext): Promise<[Outgoing, snapshotId: string]> {
  const { delivery, channel, plan } = sendContext;
  const html = channel.providers[delivery.provider_index]!.provider.reads !== 'text';
  const mark = () => engine.marker.set(delivery.organization_id, delivery.occurrence_id, delivery.id);
  const notification = plan.notifications.find(one => one.id === delivery.notification_id);
  const digest = await readDigest(engine, delivery, notification?.maxItems);
  if (digest) linkDigestItems(sendContext.span, sendContext.occurrence.traceparent, digest.traceparents);
  const context: MessageContext = { ...sendContext, mark, ...(digest && { digestItems: digest }) };
  const { content, message, renderContext, links, acknowledgeUrl, locale } = await renderDelivery(
    engine.plans,
    context,
    html,
  );
  engine.marker.clear();
  const snapshotId = await engine.snapshots.store(message, plan, channel, renderContext);
  const outgoing: Outgoing = {
    id: `${delivery.occurrence_id}.${delivery.id}`,
    address: delivery.address ?? '',
    content: channel.type === 'email' && isTracked(plan.topic.category) ? track(engine, delivery, content) : content,
    createdAt: delivery.created_at,
    returnPath: () => engine.returnPathOf(delivery),
    ...(channel.type === 'email' && isChosen(plan.topic.category) && { category: plan.topic.category.slug }),
    ...(links && channel.type === 'email' && { unsubscribeUrl: links.unsubscribe_url }),
    ...(acknowledgeUrl && { acknowledgeUrl }),
    ...engine.buttonsFor(delivery, channel, { ...content, acknowledgeUrl, locale }),
    ...(locale && { locale }),
    tags: {
      organization: plan.organization.slug,
      event: `${plan.project.slug}/${plan.application.slug}/${plan.slug}`,
      notification: notification?.name ?? String(delivery.notification_id),
    },
  };
  return [outgoing, snapshotId];
}

/** Whether the category is one that recipients can leave, and not the one of events without a category. */
function isChosen({ slug, kind }: Category): boolean {
  return kind !== 'required' && slug !== generalSlug;
}

/** The history shows the message without this: links that are followed there must not count. */
function track(engine: Engine, { organization_id, occurrence_id, id }: Delivery, content: Content): Content {
  if (content.html === undefined || !engine.track) return content;
  const reference = { organizationId: organization_id, occurrence: occurrence_id, id };
  return { ...content, html: engine.track(reference, content.html) };
}

/** Closes the delivery's digest and returns its items. A retry adds nothing, because the digest stays closed. */
async function readDigest(
  { digests }: Engine,
  { organization_id, digest_id }: Delivery,
  max: number = digestLimits.defaultMax,
) {
  return digest_id === null ? undefined : digests.add({ organizationId: organization_id, id: digest_id, max });
}

/** Records variables missing from the message once per delivery, with its first attempt. */
function recordMissingVariables(engine: Engine, delivery: Delivery, { content, tags }: Outgoing): void {
  if (content.missing.length === 0 || delivery.attempts > 1) return;
  const { organization_id: organizationId, notification_id: notificationId, version } = delivery;
  engine.missingVariables.record(
    { organizationId, notificationId, version, where: tags },
    content.missing,
    currentTime(),
  );
}

/** Adds what the statistics need from the occurrence. */
function addStatistics(
  settlement: Settlement,
  { digest_id, step, created_at, released_at }: Delivery,
  occurrence: OccurrenceFacts | undefined,
): Settlement {
  if (occurrence) {
    settlement.event_id = occurrence.event_id;
    // The time that a digest, a step, a pause or quiet hours wait is not latency.
    settlement.since = digest_id ? null : (released_at ?? (step === 0 ? occurrence.due_at : created_at));
  }
  return settlement;
}
