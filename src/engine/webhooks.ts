/**
 * Tells webhooks what they subscribe to: finds endpoints with something due, claims what each may get now, and posts it.
 * Deliveries do not wait for it, nor does one endpoint for another: each has its own concurrency and rate, over all
 * workers, and one that fails gets one message at a time. Where nobody has a webhook, the database is not asked.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { commandLine } from '../core/actor.ts';
import type { JsonObject } from '../core/json.ts';
import { messageIdOf, webhookLimits, webhookRetrySeconds } from '../core/webhooks.ts';
import type { Db } from '../db/pool.ts';
import {
  type ClaimedMessage,
  claimWebhookMessages,
  type DueWebhook,
  hasActiveWebhooksAcrossTenants,
  listDueWebhooksAcrossTenants,
  settleWebhookMessagesAcrossTenants,
  type WebhookOutcome,
} from '../db/webhook-queue.ts';
import { Batcher } from '../lib/batcher.ts';
import type { Cipher } from '../lib/cipher.ts';
import type { Outbound } from '../lib/outbound.ts';
import type { Outcome } from '../providers/sending.ts';
import { postSigned, type Signer, signerOf } from '../providers/webhook/signed-post.ts';
import { openWebhookSecrets } from '../services/webhook-secrets.ts';
import { disableWebhook } from '../services/webhooks.ts';
import type { ChannelOutages } from './channel-outages.ts';
import type { Log } from './log.ts';
import type { Meters } from './meters.ts';

/** How often it looks where somebody has a webhook. */
const lookEveryMs = 1_000;
/** How often it asks whether anybody has one, beside being told of every change. */
const askEveryMs = 60_000;
/** How often it asks which channels others have found to be unhealthy. */
const refreshEveryMs = 10_000;
/** Messages under way from this process. */
const mostInFlight = 200;
/** What Belfry does by itself. */
const actor = { ...commandLine, name: 'Belfry' };

export interface WebhookTools {
  db: Db;
  pool: pg.Pool;
  cipher: Cipher;
  outbound: Outbound;
  outages: ChannelOutages;
  meters: Meters;
  log: Log;
  /** Nothing is told meanwhile. */
  isHeld: () => boolean;
  /** For the links; undefined: they are paths. */
  baseUrl: string | undefined;
}

interface Endpoint {
  url: string;
  organization: string;
  signers: Signer[];
}

export class WebhookDispatcher {
  readonly #tools: WebhookTools;
  readonly #outcomes: Batcher<WebhookOutcome, undefined>;
  readonly #stop = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  /** The endpoint that was served last: the next round begins after it. */
  #last: DueWebhook = { organization_id: 0, webhook_id: 0 };
  #askAt = 0;
  #refreshAt = 0;
  #isNeeded = false;
  #wake: () => void = () => {};
  #running: Promise<void> | undefined;

  constructor(tools: WebhookTools) {
    this.#tools = tools;
    this.#outcomes = new Batcher(outcomes => this.#write(outcomes), {
      mostPerBatch: 500,
      mostWaiting: Number.POSITIVE_INFINITY,
      full: () => new Error('never'),
      isItemsFault: () => false,
      gather: { ms: 40, enough: 100 },
    });
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Somebody's configuration has changed. */
  changed(): void {
    this.#askAt = 0;
    this.#wake();
  }

  /** Claims nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
    await Promise.all(this.#inFlight);
    await this.#outcomes.drain();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve;
      });
      let restMs = lookEveryMs;
      try {
        await this.#round();
        if (!this.#isNeeded) restMs = askEveryMs;
      } catch (error) {
        this.#tools.log.warn({ err: error }, 'looking for webhooks to call failed; trying again');
        this.#askAt = 0;
      }
      const timer = new AbortController();
      await Promise.race([woken, sleep(restMs, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
  }

  async #round(): Promise<void> {
    const { pool, outages, isHeld } = this.#tools;
    if (Date.now() >= this.#askAt) {
      this.#isNeeded = await hasActiveWebhooksAcrossTenants(pool);
      this.#askAt = Date.now() + askEveryMs;
    }
    if (!this.#isNeeded || isHeld()) return;
    if (Date.now() >= this.#refreshAt) {
      await outages.refresh();
      this.#refreshAt = Date.now() + refreshEveryMs;
    }
    for (const due of inTurns(await listDueWebhooksAcrossTenants(pool), this.#last)) {
      const room = mostInFlight - this.#inFlight.size;
      if (room <= 0 || this.#stop.signal.aborted) return;
      await this.#claim(due, room);
      this.#last = due;
    }
  }

  async #claim({ organization_id, webhook_id }: DueWebhook, room: number): Promise<void> {
    const { pool, cipher } = this.#tools;
    const claimed = await claimWebhookMessages(pool, organization_id, webhook_id, room);
    if (!claimed || claimed.messages.length === 0) return;
    const { url, organization, has_previous } = claimed;
    let signers: Signer[];
    try {
      const { secret, previous } = openWebhookSecrets(cipher, organization_id, claimed);
      signers = [secret, ...(has_previous && previous ? [previous] : [])].map(signerOf);
    } catch (error) {
      // Noted as any failure, so that people see it; it passes when the key is back.
      for (const message of claimed.messages) {
        this.#track(this.#settle(message, { ok: false, retry: true, reason: (error as Error).message }, Date.now()));
      }
      return;
    }
    for (const message of claimed.messages) this.#track(this.#send(message, { url, organization, signers }));
  }

  #track(work: Promise<void>): void {
    const done = work
      // The claim ends by itself, and the message is sent again then.
      .catch(error => this.#tools.log.warn({ err: error }, 'could not note what came of a webhook'))
      .finally(() => {
        this.#inFlight.delete(done);
        this.#wake();
      });
    this.#inFlight.add(done);
  }

  async #send(message: ClaimedMessage, { url, organization, signers }: Endpoint): Promise<void> {
    const { outbound, baseUrl } = this.#tools;
    const beganAt = Date.now();
    const { type, created_at } = message;
    // The operator's says whose it is; any other is its organization's own.
    const told = { organization, ...message.data };
    const data = { ...told, ...linksOf(message.data, `${baseUrl ?? ''}/api/o/${told.organization}`) };
    const body = JSON.stringify({ type, timestamp: created_at.toISOString(), data });
    const outcome = await postSigned(outbound, {
      url,
      messageId: messageIdOf(message.key),
      body,
      signers,
      timeoutMs: webhookLimits.timeoutMs,
      id: ({ status }) => String(status),
      sort: ({ status }) => (status === 410 ? { gone: true } : undefined),
    });
    await this.#settle(message, outcome, beganAt);
  }

  async #settle(message: ClaimedMessage, outcome: Outcome, beganAt: number): Promise<void> {
    const { organization_id, webhook_id, id, attempts } = message;
    const now = Date.now();
    const asked = outcome.ok ? undefined : outcome.retryAfterSeconds;
    const seconds = outcome.ok ? undefined : webhookRetrySeconds(attempts, Math.random(), asked);
    const status = outcome.ok ? 'sent' : seconds === undefined ? 'failed' : 'waiting';
    this.#tools.meters.told(outcome.ok ? 'sent' : status === 'failed' ? 'failed' : 'retried');
    await this.#outcomes.add({
      organization_id,
      webhook_id,
      id,
      attempts,
      status,
      due_at: seconds === undefined ? null : new Date(now + seconds * 1_000),
      began_at: new Date(beganAt),
      ms: Math.max(0, now - beganAt),
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

/** Beginning after the one that was served last. */
function inTurns(due: DueWebhook[], last: DueWebhook): DueWebhook[] {
  const isLater = (one: DueWebhook) =>
    one.organization_id > last.organization_id ||
    (one.organization_id === last.organization_id && one.webhook_id > last.webhook_id);
  return [...due.filter(isLater), ...due.filter(one => !isLater(one))];
}

/** Where to ask for more, with a key that may. */
function linksOf({ occurrence, delivery, channel }: JsonObject, base: string): JsonObject {
  if (typeof occurrence === 'string') {
    const url = `${base}/occurrence/${occurrence}/`;
    return { links: { occurrence: url, ...(delivery !== undefined && { delivery: `${url}deliveries/${delivery}/` }) } };
  }
  return typeof channel === 'string' ? { links: { channels: `${base}/channel/` } } : {};
}
