/**
 * Sending: what is claimed (status `sending`, committed) is looked at once more as the world is now, written, sent, and
 * settled. A delivery ends as sent, failed, suppressed, cancelled, expired or unknown, or goes back to wait as retrying.
 */
import { digestLimits } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { recheck, type Verdict } from '../core/recheck.ts';
import { mostAttempts, retryDelaySeconds } from '../core/retry.ts';
import { disableAddress } from '../db/addresses.ts';
import { claimDeliveriesAcrossTenants, type Delivery, type Settlement } from '../db/deliveries.ts';
import { findOccurrencesAcrossTenants, type OccurrenceFacts } from '../db/occurrences.ts';
import { isUnavailable } from '../db/pool.ts';
import { findRecipientsAcrossTenants, type Person } from '../db/recipients.ts';
import { nextTurn, type Shares } from '../db/turns.ts';
import type { Span } from '../lib/traces.ts';
import type { Outcome, Outgoing } from '../providers/sending.ts';
import { type MessageContext, writeMessage } from '../services/messages.ts';
import type { PlannedChannel } from '../services/plans.ts';
import { findAnswer } from './answers.ts';
import type { Engine } from './engine.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';
import { endCall, endDelivery, linkGathered, startDelivery, tellChannel, tellEvent, traceIn } from './spans.ts';

const longestWords = 2_000;
/** Messages that are written before others have their turn: about 2 ms. */
const inOneGo = 50;

/** One turn of one class; undefined when nothing was due. */
export async function claimSome(
  engine: Engine,
  owner: number,
  priority: number,
  most: number,
  shares: Shares,
): Promise<Delivery[] | undefined> {
  const { claims, turns } = engine;
  const turn = { priority, after: turns.deliveries[priority] ?? 0, most, owner, shares };
  const claimed = await claimDeliveriesAcrossTenants(claims, turn);
  engine.meters.batch('claim', claimed.length);
  turns.deliveries[priority] = nextTurn(turn, claimed).after;
  return claimed.length === 0 && turn.after === 0 ? undefined : claimed;
}

/** A message that is claimed; what it is of and whom it is for, where they were read a moment ago and need not be again. */
export interface ClaimedDelivery {
  delivery: Delivery;
  occurrence?: OccurrenceFacts;
  person?: Person;
}

/** A delivery that may go out, with everything around it. */
interface SendContext extends MessageContext {
  delivery: Delivery;
  occurrence: OccurrenceFacts;
  /** When the occurrence was found open. */
  readAt: number;
  span: Span | undefined;
}

/** Sends every one of them, telling of each that is settled, and whether it is due again already; resolves after the last. */
export async function deliverAll(
  engine: Engine,
  ready: ClaimedDelivery[],
  onSettled: (delivery: Delivery, isDue: boolean) => void,
): Promise<void> {
  const unread = ready.filter(({ occurrence, person }) => !occurrence || !person);
  const [occurrences, people] = await retryWhileUnavailable(engine.log, 'reading what is to be sent', () =>
    Promise.all([findOccurrences(engine, unread), findPeople(engine, unread)]),
  );
  const sending: Promise<void>[] = [];
  for (const { delivery, ...known } of ready) {
    const occurrence = known.occurrence ?? occurrences.get(occurrenceOf(delivery));
    const person = known.person ?? people.get(userOf(delivery));
    const one = deliverOne(engine, delivery, occurrence, person).then(isDue => onSettled(delivery, isDue));
    // Told below; until then nobody listens, and a rejection that nobody hears ends the process.
    one.catch(() => {});
    sending.push(one);
    // Writing 500 messages in one go kept the next page of the list, and outcomes, from being asked for meanwhile.
    if (sending.length % inOneGo === 0) await new Promise(setImmediate);
  }
  await Promise.all(sending);
}

async function deliverOne(
  engine: Engine,
  delivery: Delivery,
  occurrence: OccurrenceFacts | undefined,
  person: Person | undefined,
): Promise<boolean> {
  const span = startDelivery(engine, delivery, occurrence);
  const settlement = await deliver(engine, delivery, occurrence, person, span).catch(error => {
    const where = { occurrence: delivery.occurrence_id, delivery: delivery.id, ...traceIn(occurrence) };
    engine.log.error({ err: error, ...where }, 'sending failed');
    return whenBroken(delivery, error);
  });
  if (settlement) {
    engine.meters.settled(delivery, settlement, occurrence);
    const settling = span?.start('settle');
    await engine.outcomes.settle(statisticsOf(settlement, occurrence));
    settling?.end();
    endDelivery(span, settlement);
  }
  return settlement?.due_at instanceof Date && settlement.due_at.getTime() <= Date.now();
}

/** What becomes of it; undefined when that is on record already. */
async function deliver(
  engine: Engine,
  delivery: Delivery,
  occurrence: OccurrenceFacts | undefined,
  person: Person | undefined,
  span: Span | undefined,
): Promise<Settlement | undefined> {
  const { organization_id: organizationId } = delivery;
  const channels = await engine.plans.listChannels(organizationId);
  const channel = channels.find(one => one.id === delivery.channel_id);
  if (channel) engine.meters.seen(channel);
  const plan = occurrence && (await engine.plans.findEvent(organizationId, occurrence.event_id));
  if (channel) tellChannel(span, channel);
  if (plan) tellEvent(span, plan);
  const now = Date.now();
  const verdict = recheck({ delivery, occurrence, person, channel, plan }, now);
  if (verdict) return settleVerdict(delivery, verdict);
  const read = { occurrence: occurrence!, person: person!, channel: channel!, plan: plan!, readAt: now };
  const context = { delivery, ...read, span };
  if (channel!.ratePerSecond === null && channel!.concurrency === null) return attempt(engine, context);
  const pass = await engine.limits.enter(channel!, delivery);
  if ('dueAt' in pass) {
    const status = delivery.attempts > 1 ? 'retrying' : 'pending';
    await engine.outcomes.settle(
      settlementOf(delivery, { status, tried: false, due_at: pass.dueAt, detail: pass.why }),
    );
    engine.limits.remember(channel!, delivery, pass.dueAt);
    return undefined;
  }
  return attempt(engine, context).finally(pass.leave);
}

async function attempt(engine: Engine, context: SendContext): Promise<Settlement> {
  const { delivery, channel } = context;
  const leave = await engine.senders.enter(channel, delivery.provider_index, delivery.priority);
  try {
    const reason = await findAnswer(engine, delivery, context.readAt);
    if (reason) return settlementOf(delivery, { status: 'cancelled', reason, tried: false });
    return await writeAndSend(engine, context);
  } finally {
    leave();
  }
}

async function writeAndSend(engine: Engine, context: SendContext): Promise<Settlement> {
  const { delivery, occurrence, person, channel, span } = context;
  const { organization_id: organizationId, provider_index: index } = delivery;
  const now = Date.now();
  let outgoing: Outgoing;
  let wording: string;
  const rendering = span?.start('render');
  try {
    [outgoing, wording] = await write(engine, context);
    rendering?.end();
  } catch (error) {
    rendering?.end(error instanceof AppError ? 'template.failed' : 'service.internal');
    if (!(error instanceof AppError)) throw error;
    return settlementOf(delivery, { status: 'failed', reason: 'template.failed', detail: error.message });
  }
  // From here to the call nothing is awaited: of many at once, one tries a provider that has rested.
  const resting = engine.senders.restingUntil(channel, index, now);
  if (resting > 0) {
    const rests = { status: 'retrying', tried: false, detail: 'the provider rests after failing repeatedly' } as const;
    if (!channel.providers[index + 1]) return settlementOf(delivery, { ...rests, due_at: new Date(resting) });
    return settlementOf(delivery, { ...rests, due_at: new Date(now), provider_index: index + 1, provider_attempts: 0 });
  }
  noteMissing(engine, delivery, outgoing);
  const { name } = channel.providers[index]!.provider;
  const inApp = name === 'inbox';
  const call = span?.start('send', 'call');
  const traceparent = call?.traceparent ?? occurrence.traceparent;
  if (traceparent) outgoing.traceparent = traceparent;
  const beganAt = Date.now();
  const outcome = await (inApp ? storeInApp(engine, context, outgoing) : engine.senders.send(channel, index, outgoing));
  endCall(call, name, outcome);
  engine.meters.attempted(channel.type, name, outcome);
  if (!outcome.ok && outcome.gone && channel.reach === 'address') {
    // The message has been judged, whether or not this can be noted.
    await disableAddress(engine.db, organizationId, delivery.user_id, delivery.address!, outcome.reason).catch(error =>
      engine.log.warn(
        { err: error, occurrence: delivery.occurrence_id, ...traceIn(occurrence) },
        'could not disable an address that is gone',
      ),
    );
  }
  const endedAt = Date.now();
  const attempt = { began_at: new Date(beganAt), ms: Math.max(0, endedAt - beganAt) };
  const user_version = person.version === delivery.user_version ? null : person.version;
  return { ...judge(delivery, channel, outcome, outgoing, endedAt), wording, user_version, attempt };
}

/**
 * Storing an in-app message is sending it. Its id is the delivery's, so that after a crash, or an answer that was lost, it
 * is stored once more and is there once. A database that is away is `whenBroken`'s matter and costs no attempt.
 */
async function storeInApp(engine: Engine, context: SendContext, { id, content }: Outgoing): Promise<Outcome> {
  const { delivery, plan } = context;
  const { organization_id, user_id, occurrence_id } = delivery;
  const { title, text: body, avatar } = content;
  const actions = content.actions?.map(({ event, ...action }) =>
    event === undefined ? action : { ...action, event: `${plan.project.slug}/${plan.application.slug}/${event}` },
  );
  const words = { title, body, category: plan.topic.category.slug, avatar, actions };
  try {
    await engine.inbox.add({ organization_id, user_id, id: delivery.id, occurrence_id, ...words });
    return { ok: true, id };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    // A user who has been deleted meanwhile is found out by the look before the next attempt.
    return { ok: false, retry: true, reason: `it could not be stored: ${(error as Error).message}` };
  }
}

/** Nothing was sent. A database that is away is nobody's failure and costs no attempt. */
function whenBroken(delivery: Delivery, error: unknown): Settlement {
  if (isUnavailable(error)) {
    const due_at = new Date(Date.now() + 1_000);
    return settlementOf(delivery, { status: 'retrying', tried: false, due_at, detail: 'the database was away' });
  }
  const detail = `Belfry failed: ${(error as Error).message}`;
  return again(delivery, { reason: 'provider.failed', detail }, Date.now());
}

/** How it goes on where it is not sent: see core/recheck.ts. Nothing was tried. */
function settleVerdict(delivery: Delivery, verdict: Verdict): Settlement {
  const { status, reason } = verdict;
  if (status === 'held') return settlementOf(delivery, { status: 'pending', reason, tried: false, due_at: 'infinity' });
  if (status === 'quiet') {
    const waits = delivery.attempts > 1 ? 'retrying' : 'pending';
    return settlementOf(delivery, { status: waits, reason, tried: false, due_at: verdict.dueAt });
  }
  return settlementOf(delivery, { status, reason, detail: verdict.detail, tried: false });
}

async function write(engine: Engine, given: SendContext): Promise<[Outgoing, wording: string]> {
  const { delivery, channel, plan } = given;
  const html = channel.providers[delivery.provider_index]!.provider.reads !== 'text';
  const mark = () => engine.marker.set(delivery.organization_id, delivery.occurrence_id, delivery.id);
  const notification = plan.notifications.find(one => one.id === delivery.notification_id);
  const gathered = await readDigest(engine, delivery, notification?.mostItems);
  if (gathered) linkGathered(given.span, given.occurrence.traceparent, gathered.traceparents);
  const context = { ...given, mark, ...(gathered && { gathered }) };
  const { content, message, renderContext, links } = await writeMessage(engine.plans, context, html);
  engine.marker.clear();
  const wording = await engine.snapshots.keep(message, plan, channel, renderContext);
  const outgoing: Outgoing = {
    id: `${delivery.occurrence_id}.${delivery.id}`,
    address: delivery.address ?? '',
    content,
    createdAt: delivery.created_at,
    ...(links && channel.type === 'email' && { unsubscribeUrl: links.unsubscribe_url }),
    tags: {
      organization: plan.organization.slug,
      event: `${plan.project.slug}/${plan.application.slug}/${plan.slug}`,
      notification: notification?.name ?? String(delivery.notification_id),
    },
  };
  return [outgoing, wording];
}

/** What a digest has gathered. It is closed from then on: a retry adds nothing. */
async function readDigest(
  { digests }: Engine,
  { organization_id, digest_id }: Delivery,
  most: number = digestLimits.usualMost,
) {
  return digest_id === null ? undefined : digests.add({ organizationId: organization_id, id: digest_id, most });
}

/** Once for each delivery, with its first attempt. */
function noteMissing(engine: Engine, delivery: Delivery, { content, tags }: Outgoing): void {
  if (content.missing.length === 0 || delivery.attempts > 1) return;
  const { organization_id: organizationId, notification_id: notificationId, version } = delivery;
  engine.missingVariables.note({ organizationId, notificationId, version, where: tags }, content.missing, Date.now());
}

/** An outcome becomes what happens next: done, again later, the next provider, or the end. */
function judge(
  delivery: Delivery,
  channel: PlannedChannel,
  outcome: Outcome,
  outgoing: Outgoing,
  now: number,
): Settlement {
  const { provider_index: index, provider_attempts: tries } = delivery;
  const provider = channel.providers[index]!.provider;
  const base = { provider: provider.name };
  // A provider that calls it as we do has told nothing new.
  const name = outcome.ok && outcome.id !== outgoing.id ? outcome.id : undefined;
  if (outcome.ok) return settlementOf(delivery, { ...base, status: 'sent', provider_message_id: name ?? null });

  const failed = { ...base, reason: 'provider.failed' as const, detail: outcome.reason };
  if (outcome.unknown && !provider.dedupes && channel.onUnknown === 'hold') {
    return settlementOf(delivery, { ...failed, status: 'unknown', reason: 'unknown' });
  }
  if (outcome.retry && tries < mostAttempts) return again(delivery, failed, now, outcome.retryAfterSeconds);
  const next = index + 1;
  if (channel.providers[next] && !outcome.gone) {
    const due_at = new Date(now);
    return settlementOf(delivery, {
      ...failed,
      status: 'retrying',
      provider_index: next,
      provider_attempts: 0,
      due_at,
    });
  }
  return settlementOf(delivery, { ...failed, status: 'failed' });
}

/** Later, a little longer each time; after the last attempt, never. */
function again(delivery: Delivery, change: Partial<Settlement>, now: number, askedSeconds?: number): Settlement {
  if (delivery.provider_attempts >= mostAttempts) return settlementOf(delivery, { ...change, status: 'failed' });
  const seconds = retryDelaySeconds(delivery.provider_attempts, Math.random(), askedSeconds);
  return settlementOf(delivery, { ...change, status: 'retrying', due_at: new Date(now + seconds * 1_000) });
}

function settlementOf(delivery: Delivery, change: Pick<Settlement, 'status'> & Partial<Settlement>): Settlement {
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
    wording: null,
    user_version: null,
    attempt: null,
    event_id: null,
    since: null,
    ...change,
    detail: storable(change.detail),
    provider_message_id: storable(change.provider_message_id),
  };
}

/** What the statistics need to know of its occurrence. */
function statisticsOf(settlement: Settlement, occurrence: OccurrenceFacts | undefined): Settlement {
  if (occurrence) {
    settlement.event_id = occurrence.event_id;
    // That a digest gathered for an hour is no latency of ours.
    settlement.since = settlement.digest_id ? null : occurrence.due_at;
  }
  return settlement;
}

/** Words of a stranger: what PostgreSQL's text cannot hold would fail the whole batch of outcomes. */
function storable(text: string | null | undefined): string | null {
  return text?.replaceAll('\0', '').toWellFormed().slice(0, longestWords) ?? null;
}

const occurrenceOf = (one: Delivery) => `${one.organization_id}/${one.occurrence_id}`;
const userOf = (one: Delivery) => `${one.organization_id}/${one.user_id}`;

async function findOccurrences(engine: Engine, ready: ClaimedDelivery[]): Promise<Map<string, OccurrenceFacts>> {
  if (ready.length === 0) return new Map();
  const wanted = new Map(ready.map(({ delivery }) => [occurrenceOf(delivery), delivery]));
  const rows = await findOccurrencesAcrossTenants(
    engine.hot,
    [...wanted.values()].map(one => ({ organizationId: one.organization_id, id: one.occurrence_id })),
  );
  return new Map(rows.map(row => [`${row.organization_id}/${row.id}`, row]));
}

async function findPeople(engine: Engine, ready: ClaimedDelivery[]): Promise<Map<string, Person>> {
  if (ready.length === 0) return new Map();
  const wanted = new Map(ready.map(({ delivery }) => [userOf(delivery), delivery]));
  const rows = await findRecipientsAcrossTenants(
    engine.hot,
    [...wanted.values()].map(one => ({ organizationId: one.organization_id, userId: one.user_id })),
  );
  return new Map(rows.map(row => [`${row.organization_id}/${row.user_id}`, row]));
}
