/** Receives the webhooks of services, and mails, at the address of a channel: verified, then stored. */
import { AppError } from '../../../core/errors.ts';
import {
  type FeedbackEvent,
  type FeedbackRequest,
  type Once,
  UnreadableMailError,
} from '../../../core/feedback/event.ts';
import type { TenantDelivery } from '../../../core/feedback/identify.ts';
import { servedChannels } from '../../../core/feedback/scope.ts';
import type { JsonObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import * as channels from '../../../db/configuration/channel-feedback.ts';
import { rememberSignature } from '../../../db/history/feedback/received-signatures.ts';
import type { Outbound } from '../../../lib/network/outbound.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { openSecrets } from '../../../pipeline/channel-secrets.ts';
import type { FeedbackSource, Providers } from '../../../providers/provider.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import type { Deps } from '../../deps.ts';
import { countFeedback, storeFeedback } from './feedback.ts';

/** Mails can be posted to the address of a channel with a mail server, under this name. */
export const mailSource = 'mail';

/** Returns the services that can report to a channel with these providers, each once, with settings and secrets. */
export function feedbackSourcesOf(
  providers: Providers,
  entries: readonly JsonObject[],
  secrets: readonly JsonObject[],
): FeedbackSource[] {
  const found = new Map<string, FeedbackSource>();
  for (const [i, { use, ...settings }] of entries.entries()) {
    const provider = lookUp(providers, String(use));
    const source = provider?.feedback?.({ ...settings, ...secrets[i] });
    if (source && !found.get(source.service)?.secret) found.set(source.service, source);
    if (use === 'smtp') found.set(mailSource, { service: mailSource, secret: undefined });
  }
  return [...found.values()];
}

/** Returns the channels whose deliveries a report to this channel may be about. */
export async function findServed({ db }: Pick<Deps, 'db'>, channel: channels.FeedbackChannel): Promise<number[]> {
  return servedChannels(channel, await channels.listSiblings(db, channel.organization_id, channel));
}

export interface FeedbackAddress extends channels.FeedbackChannel {
  source: FeedbackSource;
}

/** Finds the channel of an address. Undefined: there is none, or it has no such service. */
export async function findFeedbackAddress(
  { db, cipher, providers, tenantCache }: Deps,
  token: string,
  service: string,
): Promise<FeedbackAddress | undefined> {
  await requireHere({ tenantCache }, { feedbackToken: token });
  const channel = await channels.findFeedbackChannelAcrossTenants(db, token);
  if (!channel) return undefined;
  await requireHere({ tenantCache }, { id: channel.organization_id });
  const secrets = openSecrets(cipher, channel.organization_id, channel);
  const source = feedbackSourcesOf(providers, channel.providers, secrets).find(one => one.service === service);
  return source && { ...channel, source };
}

/** Stores the events of a request, or confirms a subscription. Throws `feedback.refused` if the service did not send it. */
export async function receiveFeedback(
  deps: Deps,
  address: FeedbackAddress,
  request: FeedbackRequest,
  documents: SignedDocuments,
): Promise<void> {
  const { organization_id, id, source } = address;
  const { service, secret } = source;
  const now = currentTime();
  const reader = lookUp(deps.feedbackReaders, service === mailSource ? 'smtp' : service)!;
  const name = service === mailSource ? 'smtp' : service;
  if (reader.verify && (secret !== undefined || reader.isSigned !== false)) {
    const readDocument = (url: string) => documents.read(url, now);
    const verified =
      secret === undefined
        ? { ok: false as const, reason: 'the channel has no secret to verify the signature with' }
        : await reader.verify(request, secret, { now, fetchText: readDocument });
    const refusal = verified.ok ? verified.once && (await findMisuse(verified.once)) : verified.reason;
    if (refusal !== undefined) {
      countFeedback(deps, name, 'refused');
      await channels.recordFeedbackRequest(deps.db, organization_id, id, refusal.slice(0, 500));
      throw new AppError('feedback.refused', refusal);
    }
  }
  let events: FeedbackEvent[];
  let confirmation: string | undefined;
  try {
    confirmation = reader.confirmationUrl?.(request);
    if (confirmation !== undefined) events = [];
    else if (service !== mailSource) events = reader.read(request);
    else ({ events } = await deps.mailReader.read(organization_id, request.bytes));
  } catch (error) {
    if (service === mailSource && !(error instanceof UnreadableMailError)) throw error;
    throw new AppError('request.malformed', `the body ${(error as Error).message}`);
  }
  if (confirmation !== undefined) await confirmSubscription(deps.outbound, confirmation);
  else if (events.length === 0) countFeedback(deps, name, 'ignored');
  else await storeFeedback(deps, organization_id, await findServed(deps, address), name, events, now);
  await channels.recordFeedbackRequest(deps.db, organization_id, id, null);

  /** Services repeat a request, unchanged, that was not answered. */
  async function findMisuse({ signature, until }: Once): Promise<string | undefined> {
    const { isSameBody } = await rememberSignature(deps.db, organization_id, id, {
      signature: `${service} ${signature}`,
      body: request.bytes,
      receivedAt: new Date(now),
      expiresAt: until === null ? null : new Date(until),
    });
    return isSameBody ? undefined : 'the signature was used for another request: it may be a replay';
  }
}

/** Stores what a mail to the return path of a delivery reports. */
export async function storeMailReport(
  deps: Deps,
  { organizationId, occurrence, id }: TenantDelivery,
  events: readonly FeedbackEvent[],
): Promise<void> {
  // The sending server tries again, until its mails reach the cell that the organization has moved to.
  await requireHere(deps, { id: organizationId });
  const named = events.map(event => ({ ...event, deliveryId: `${occurrence}.${id}` }));
  await storeFeedback(deps, organizationId, null, 'smtp', named, currentTime());
}

/** Opens the address by which Amazon SNS learns that its messages are wanted. */
export async function confirmSubscription(outbound: Outbound, url: string): Promise<void> {
  const { status } = await outbound.request(url, { method: 'GET' }).catch(error => {
    throw new AppError('service.unavailable', `the subscription could not be confirmed: ${(error as Error).message}`);
  });
  if (status >= 300) {
    throw new AppError(
      'service.unavailable',
      `the subscription could not be confirmed: the service answered ${status}`,
    );
  }
}

const cachedMs = 3_600_000;
/** A document that cannot be fetched again is used for this long, and asked for again after a minute. */
const keptMs = 24 * 3_600_000;
const retryMs = 60_000;
const fetchTimeoutMs = 5_000;
/** The keys of Microsoft, with their certificates, are tens of kilobytes. */
const maxDocumentBytes = 256 * 1_024;
/** More than the certificates of all regions that one installation uses. */
const maxCached = 50;

interface SignedDocument {
  text: Promise<string>;
  until: number;
  fetchedAt: number;
}

/** Certificates and keys of signatures. They are fetched through the outbound guard, once an hour. */
export class SignedDocuments {
  readonly #outbound: Outbound;
  readonly #cached = new Map<string, SignedDocument>();

  constructor(outbound: Outbound) {
    this.#outbound = outbound;
  }

  read(url: string, now: number): Promise<string> {
    const cached = this.#cached.get(url);
    if (cached && cached.until > now) return cached.text;
    if (this.#cached.size >= maxCached) this.#cached.clear();
    const fetched = this.#fetchNow(url);
    const kept = cached && cached.fetchedAt > now - keptMs ? cached : undefined;
    // Requests are verified as before while their service cannot be reached for a moment.
    const text = kept ? fetched.catch(() => kept.text) : fetched;
    const document = { text, until: now + cachedMs, fetchedAt: now };
    this.#cached.set(url, document);
    fetched.catch(() => {
      if (this.#cached.get(url) !== document) return;
      if (kept) this.#cached.set(url, { ...kept, until: now + retryMs });
      else this.#cached.delete(url);
    });
    return text;
  }

  async #fetchNow(url: string): Promise<string> {
    const request = { method: 'GET', timeoutMs: fetchTimeoutMs, maxFileBytes: maxDocumentBytes } as const;
    const { status, file } = await this.#outbound.request(url, request);
    if (status !== 200) throw new Error(`its server answered ${status}`);
    if (!Buffer.isBuffer(file)) throw new Error('its server did not send the whole document');
    return file.toString('utf8');
  }
}
