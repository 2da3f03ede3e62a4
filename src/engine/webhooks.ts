/**
 * Sends operational webhooks: finds endpoints with due messages, claims what each may receive now, and posts it.
 * Deliveries do not wait for webhooks, nor endpoints for each other: each has its own concurrency and rate over all
 * workers, and a failing one gets one message at a time. The database is not polled while there are no active webhooks.
 */
import type pg from 'pg';
import {
  linksOf,
  messageIdOf,
  webhookLimits,
  webhookRetrySeconds,
  withSummary,
} from '../core/configuration/webhooks.ts';
import { commandLine } from '../core/identity/actor.ts';
import type { Db } from '../db/connection/pool.ts';
import {
  type ClaimedMessage,
  claimWebhookMessages,
  type DueWebhook,
  hasActiveWebhooksAcrossTenants,
  listDueWebhooksAcrossTenants,
  settleWebhookMessagesAcrossTenants,
  type WebhookOutcome,
  webhookClaimSeconds,
} from '../db/ledger/webhooks/queue.ts';
import { Batcher } from '../lib/load/batcher.ts';
import { FairBudget } from '../lib/load/fair-budget.ts';
import { withHandoverCheck } from '../lib/network/handover.ts';
import type { Outbound } from '../lib/network/outbound.ts';
import { PollLoop } from '../lib/process/poll-loop.ts';
import type { Cipher } from '../lib/secrets/cipher.ts';
import { currentTime } from '../lib/time/clock.ts';
import { type Claim, startClaim } from '../lib/time/elapsed.ts';
import type { Outcome } from '../providers/sending.ts';
import { postSigned, type Signer, signerOf } from '../providers/webhook/signed-post.ts';
import { openWebhookSecrets } from '../services/configuration/webhook-secrets.ts';
import { disableWebhook } from '../services/configuration/webhooks.ts';
import type { Log } from './log.ts';
import type { Meters } from './telemetry/meters.ts';

/** How often to look for due messages while there are active webhooks. */
const pollEveryMs = 1_000;
/** How often to check for active webhooks, in addition to notifications of changes. */
const checkActiveEveryMs = 60_000;
/** The maximum number of messages in flight from this process. One organization gets half of it, less if others have messages too. */
const maxInFlight = 200;
/** How long a message waits if this machine, for example without a free file descriptor, could not send it. */
const localSeconds = 5;
/** The actor of automatic changes. */
const actor = { ...commandLine, name: 'Belfry' };

interface WebhookTools {
  db: Db;
  pool: pg.Pool;
  cipher: Cipher;
  outbound: Outbound;
  meters: Meters;
  log: Log;
  /** While true, nothing is sent. */
  isHeld: () => boolean;
  /** The base of links; undefined: links are paths. */
  baseUrl: string | undefined;
}

interface Endpoint {
  claim: Claim;
  url: string;
  organization: string;
  signers: Signer[];
}

export class WebhookDispatcher {
  readonly #tools: WebhookTools;
  readonly #outcomes: Batcher<WebhookOutcome, undefined>;
  readonly loop: PollLoop;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #budget = new FairBudget(maxInFlight);
  /** The endpoint served last: the next round starts after it. */
  #lastServed: DueWebhook = { organization_id: 0, webhook_id: 0 };
  #checkActiveAt = 0;
  #hasActive = false;

  constructor(tools: WebhookTools) {
    this.#tools = tools;
    const round = () =>
      this.#round().catch(error => {
        this.#checkActiveAt = 0;
        throw error;
      });
    this.loop = new PollLoop(round, { log: tools.log, task: 'polling for due webhook messages', everyMs: pollEveryMs });
    this.#outcomes = new Batcher(outcomes => this.#write(outcomes), {
      maxPerBatch: 500,
      linger: { ms: 40, enough: 100 },
    });
  }

  /** Checks for active webhooks again, because the configuration has changed. */
  configurationChanged(): void {
    this.#checkActiveAt = 0;
    this.loop.wake();
  }

  /** Stops claiming and waits for messages in flight. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await Promise.all(this.#inFlight);
    await this.#outcomes.drain();
  }

  /** Claims what there is capacity for. Returns how long to wait until the next round. */
  async #round(): Promise<number> {
    const { pool, isHeld } = this.#tools;
    if (performance.now() >= this.#checkActiveAt) {
      this.#hasActive = await hasActiveWebhooksAcrossTenants(pool);
      this.#checkActiveAt = performance.now() + checkActiveEveryMs;
    }
    if (!this.#hasActive) return checkActiveEveryMs;
    if (isHeld()) return pollEveryMs;
    for (const due of startingAfter(await listDueWebhooksAcrossTenants(pool), this.#lastServed)) {
      if (this.loop.isStopping) break;
      const capacity = this.#budget.room(due.organization_id);
      if (capacity === 0) continue;
      await this.#claim(due, capacity);
      this.#lastServed = due;
    }
    return pollEveryMs;
  }

  async #claim({ organization_id, webhook_id }: DueWebhook, capacity: number): Promise<void> {
    const { pool, cipher } = this.#tools;
    const claim = startClaim(webhookClaimSeconds * 1_000);
    const claimed = await claimWebhookMessages(pool, organization_id, webhook_id, capacity);
    if (!claimed || claimed.messages.length === 0) return;
    const { url, organization, has_previous } = claimed;
    let signers: Signer[];
    try {
      const { secret, previous } = openWebhookSecrets(cipher, organization_id, claimed);
      signers = [secret, ...(has_previous && previous ? [previous] : [])].map(signerOf);
    } catch (error) {
      // Recorded like any failure, so that it is visible; it is fixed when the encryption key is back.
      for (const message of claimed.messages) {
        const outcome = { ok: false as const, retry: true, reason: (error as Error).message };
        this.#track(organization_id, this.#settle(message, outcome, currentTime()));
      }
      return;
    }
    const endpoint = { claim, url, organization, signers };
    for (const message of claimed.messages) this.#track(organization_id, this.#send(message, endpoint));
  }

  #track(organizationId: number, work: Promise<void>): void {
    this.#budget.take(organizationId, 1);
    const done = work
      // The claim expires, and then the message is sent again.
      .catch(error => this.#tools.log.warn({ err: error }, 'could not store the outcome of a webhook message'))
      .finally(() => {
        this.#inFlight.delete(done);
        this.#budget.release(organizationId, 1);
        this.loop.wake();
      });
    this.#inFlight.add(done);
  }

  async #send(message: ClaimedMessage, { claim, url, organization, signers }: Endpoint): Promise<void> {
    const { outbound, baseUrl } = this.#tools;
    const beganAt = currentTime();
    const { type, created_at } = message;
    // Messages of an operator's webhook name their organization; others belong to the webhook's own.
    const fields = { organization, ...withSummary(type, message.data) };
    const data = { ...fields, ...linksOf(type, message.data, fields.organization, baseUrl) };
    const body = JSON.stringify({ type, timestamp: created_at.toISOString(), data });
    const post = {
      url,
      messageId: messageIdOf(message.key),
      body,
      signers,
      timeoutMs: webhookLimits.timeoutMs,
      id: ({ status }: { status: number }) => String(status),
      classify: ({ status }: { status: number }) => (status === 410 ? { gone: true } : undefined),
    };
    const outcome = await withHandoverCheck(claim.isValid, () => postSigned(outbound, post));
    // Another worker has the message, or will get it.
    if (!outcome.ok && !claim.isValid()) return;
    await this.#settle(message, outcome, beganAt);
  }

  async #settle(message: ClaimedMessage, outcome: Outcome, beganAt: number): Promise<void> {
    const { organization_id, webhook_id, id, attempts } = message;
    const now = currentTime();
    const asked = outcome.ok ? undefined : outcome.retryAfterSeconds;
    const isLocal = !outcome.ok && outcome.local === true;
    const retrySeconds = isLocal ? localSeconds : webhookRetrySeconds(attempts, Math.random(), asked);
    const seconds = outcome.ok ? undefined : retrySeconds;
    const status = outcome.ok ? 'sent' : seconds === undefined ? 'failed' : 'waiting';
    this.#tools.meters.webhookAttempted(outcome.ok ? 'sent' : status === 'failed' ? 'failed' : 'retried');
    await this.#outcomes.add({
      organization_id,
      webhook_id,
      id,
      attempts,
      status,
      due_at: seconds === undefined ? null : new Date(now + seconds * 1_000),
      began_at: new Date(beganAt),
      ms: isLocal ? null : Math.max(0, now - beganAt),
      answer: outcome.ok ? (outcome.id ?? 'ok') : outcome.reason,
    });
    if (!outcome.ok && outcome.gone) await this.#disable(message, 'gone');
  }

  async #write(outcomes: WebhookOutcome[]): Promise<undefined[]> {
    const failing = await settleWebhookMessagesAcrossTenants(this.#tools.pool, outcomes);
    for (const webhook of failing) await this.#disable(webhook, 'failing');
    return outcomes.map(() => undefined);
  }

  async #disable({ organization_id, webhook_id }: DueWebhook, reason: 'failing' | 'gone'): Promise<void> {
    const { db, log } = this.#tools;
    await disableWebhook({ db, actor }, organization_id, webhook_id, reason);
    log.warn({ organization: organization_id, webhook: webhook_id, reason }, 'disabled a webhook');
  }
}

/** Rotates the list to start after the endpoint served last. */
function startingAfter(due: DueWebhook[], last: DueWebhook): DueWebhook[] {
  const isLater = (one: DueWebhook) =>
    one.organization_id > last.organization_id ||
    (one.organization_id === last.organization_id && one.webhook_id > last.webhook_id);
  return [...due.filter(isLater), ...due.filter(one => !isLater(one))];
}
