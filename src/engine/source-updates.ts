/**
 * Reports to the senders of alerts what people have done here: finds what waits, claims it, and sends the request of the source. Deliveries do
 * not wait for this, and organizations take turns. The change of an occurrence is announced, so the database is polled rarely while
 * nothing waits.
 */
import type pg from 'pg';
import { AppError } from '../core/errors.ts';
import { lookUp } from '../core/lookup.ts';
import { updateRetrySeconds } from '../core/message/message-updates.ts';
import { compileMessage } from '../core/render/render.ts';
import { updatePresets } from '../core/sources/updates/index.ts';
import {
  type NoRequest,
  readRequestOf,
  requestTemplateOf,
  type UpdatePreset,
  type UpdateRequest,
} from '../core/sources/updates/update.ts';
import { isUnavailable } from '../db/connection/pool.ts';
import {
  type ClaimedSourceUpdate,
  claimSourceUpdates,
  listWaitingSourceUpdatesAcrossTenants,
  type SourceUpdateOutcome,
  settleSourceUpdate,
  sourceUpdateClaimSeconds,
} from '../db/ledger/webhooks/source-updates.ts';
import { FairBudget } from '../lib/load/fair-budget.ts';
import { ThreadsBusyError } from '../lib/load/thread-pool.ts';
import { withHandoverCheck } from '../lib/network/handover.ts';
import type { Outbound } from '../lib/network/outbound.ts';
import { PollLoop } from '../lib/process/poll-loop.ts';
import type { Cipher } from '../lib/secrets/cipher.ts';
import { currentTime } from '../lib/time/clock.ts';
import { type Claim, startClaim } from '../lib/time/elapsed.ts';
import type { Rendering } from '../pipeline/rendering/rendering.ts';
import { type Failure, sendHttp, toBase64, toReason } from '../providers/http-outcome.ts';
import type { Outcome } from '../providers/sending.ts';
import { openSourceSecrets } from '../services/configuration/source-secrets.ts';
import { toStorableDetail } from './deliver/settlements.ts';
import type { Log } from './log.ts';
import type { Meters } from './telemetry/meters.ts';

/** How often to look for waiting updates that no announcement was received for. */
const pollEveryMs = 60_000;
const retryPollMs = 1_000;
/** Requests in flight from this process. One organization gets half of it, less if others have some too. */
const maxInFlight = 50;
/** How long an update waits while the machine is overloaded. */
const busySeconds = 30;
const timeoutMs = 10_000;

interface SourceUpdateTools {
  pool: pg.Pool;
  cipher: Cipher;
  outbound: Outbound;
  rendering: Rendering;
  meters: Meters;
  log: Log;
  /** While true, nothing is sent. */
  isHeld: () => boolean;
  /** The base of links; undefined: there are none. */
  baseUrl: string | undefined;
}

/** What came of an attempt, or in how many seconds another is made because there was none. */
type Attempt = { outcome: Outcome; detail?: string; reference?: string | null } | { waitSeconds: number };

export class SourceUpdater {
  readonly #tools: SourceUpdateTools;
  readonly loop: PollLoop;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #budget = new FairBudget(maxInFlight);
  /** The organization served last: the next round starts after it. */
  #lastServed = 0;

  constructor(tools: SourceUpdateTools) {
    this.#tools = tools;
    this.loop = new PollLoop(async () => (tools.isHeld() ? retryPollMs : this.#round()), {
      log: tools.log,
      task: 'polling for due requests to the senders of alerts',
      everyMs: retryPollMs,
    });
  }

  /** Stops claiming and waits for requests in flight. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await Promise.all(this.#inFlight);
  }

  /** Claims what there is capacity for. Returns how long to wait until the next round; the end of a request starts one, too. */
  async #round(): Promise<number> {
    const { pool } = this.#tools;
    const waiting = await listWaitingSourceUpdatesAcrossTenants(pool);
    const isLater = ({ organization_id }: { organization_id: number }) => organization_id > this.#lastServed;
    let pauseMs = pollEveryMs;
    for (const { organization_id, ms } of [...waiting.filter(isLater), ...waiting.filter(one => !isLater(one))]) {
      const capacity = this.#budget.room(organization_id);
      if (this.loop.isStopping) break;
      if (ms > 0) pauseMs = Math.min(pauseMs, Math.ceil(ms));
      if (ms > 0 || capacity === 0) continue;
      const claim = startClaim(sourceUpdateClaimSeconds * 1_000);
      const claimed = await claimSourceUpdates(pool, organization_id, capacity);
      for (const one of claimed) this.#start(one, claim);
      this.#lastServed = organization_id;
    }
    return pauseMs;
  }

  #start(update: ClaimedSourceUpdate, claim: Claim): void {
    const { organization_id, occurrence_id } = update;
    this.#budget.take(organization_id, 1);
    const done = this.#process(update, claim)
      // The claim expires, and then the request is sent again.
      .catch(error =>
        this.#tools.log.warn({ err: error, occurrence: occurrence_id }, 'reporting to the sender of an alert failed'),
      )
      .finally(() => {
        this.#inFlight.delete(done);
        this.#budget.release(organization_id, 1);
        this.loop.wake();
      });
    this.#inFlight.add(done);
  }

  async #process(update: ClaimedSourceUpdate, claim: Claim): Promise<void> {
    const { pool, meters } = this.#tools;
    const { organization_id, state, changed_by: by, attempts } = update;
    const beganAt = currentTime();
    const attempt = await this.#send(update, claim).catch(toAttempt);
    if ('waitSeconds' in attempt) {
      const { waitSeconds: retrySeconds } = attempt;
      await settleSourceUpdate(pool, organization_id, update, {
        status: 'waiting',
        retrySeconds,
        reference: undefined,
        entry: null,
      });
      return;
    }
    const { outcome, detail, reference } = attempt;
    // Another worker has it, or will get it.
    if (!outcome.ok && !claim.isValid()) return;
    const retry = !outcome.ok && outcome.retry;
    const minSeconds = outcome.ok ? undefined : outcome.retryAfterSeconds;
    const retrySeconds = retry ? (updateRetrySeconds(attempts, Math.random(), minSeconds) ?? null) : null;
    const status: SourceUpdateOutcome['status'] = outcome.ok ? 'done' : retrySeconds === null ? 'failed' : 'waiting';
    const result = status === 'waiting' ? 'retrying' : status;
    meters.sourceUpdated(outcome.ok ? 'done' : status === 'failed' ? 'failed' : 'retried');
    await settleSourceUpdate(pool, organization_id, update, {
      status,
      retrySeconds,
      reference: outcome.ok ? reference : undefined,
      entry: {
        at: new Date(beganAt).toISOString(),
        state,
        by,
        outcome: result,
        detail: toStorableDetail(outcome.ok ? (detail ?? '') : outcome.reason) || null,
        ms: Math.max(0, currentTime() - beganAt),
      },
    });
  }

  async #send(claimed: ClaimedSourceUpdate, claim: Claim): Promise<Attempt> {
    const { outbound, cipher } = this.#tools;
    const { organization_id, update } = claimed;
    if (!update) return refuse('the source no longer reports back');
    const { update_secret: secret } = openSourceSecrets(cipher, organization_id, claimed);
    const preset: UpdatePreset | undefined = update.use === undefined ? undefined : lookUp(updatePresets, update.use);
    let request: UpdateRequest | NoRequest;
    try {
      request = preset ? this.#presetRequest(claimed, preset, secret) : await this.#customRequest(claimed, secret);
    } catch (error) {
      if (error instanceof ThreadsBusyError || (error instanceof AppError && error.code !== 'template.failed'))
        throw error;
      return refuse(toReason((error as Error).message, [secret]));
    }
    if ('nothing' in request) return { outcome: { ok: true }, detail: `nothing to send: ${request.nothing}` };
    const { method, url, headers, json } = request;
    let reference: string | undefined;
    const outcome = await withHandoverCheck(claim.isValid, () =>
      sendHttp(outbound, {
        method,
        url,
        headers,
        timeoutMs,
        ...(json && { body: JSON.stringify(json), headers: { 'content-type': 'application/json', ...headers } }),
        secrets: [secret, secret && toBase64(secret)],
        id: answer => {
          reference = preset?.referenceOf?.(answer);
          return undefined;
        },
        classify: answer => preset?.classify?.(answer) as { ok: true } | Partial<Failure> | undefined,
      }),
    );
    if (!outcome.ok && outcome.local) return { waitSeconds: busySeconds };
    return { outcome, reference: reference ?? null };
  }

  #presetRequest(
    { update, state, changed_by: by, key, title, context, reference, ...rest }: ClaimedSourceUpdate,
    preset: UpdatePreset,
    secret: string | undefined,
  ): UpdateRequest | NoRequest {
    const facts = { state, by, key, title: title ?? key, context: context ?? {}, reference, link: this.#linkOf(rest) };
    return preset.toRequest(facts, update!, secret, currentTime());
  }

  async #customRequest(claimed: ClaimedSourceUpdate, secret: string | undefined): Promise<UpdateRequest | NoRequest> {
    const {
      organization_id,
      occurrence_id,
      update,
      state,
      changed_by: by,
      key,
      title,
      severity,
      context,
      slug,
    } = claimed;
    const request = update?.[state];
    if (!request) return { nothing: `the source has no request for ${state}` };
    const occurrence = { id: occurrence_id, url: this.#linkOf(claimed) };
    const own = { state, by, key, title: title ?? key, severity, source: slug, occurrence, secret: secret ?? '' };
    const content = { body: requestTemplateOf(request) };
    const { data } = await this.#tools.rendering.render(
      organization_id,
      compileMessage(content, 'checked'),
      () => ({ content, layout: undefined }),
      { medium: 'webhook', channel: slug, scope: { ...context, ...own }, html: false },
    );
    return readRequestOf(request, data);
  }

  #linkOf({ organization, occurrence_id }: Pick<ClaimedSourceUpdate, 'organization' | 'occurrence_id'>): string {
    const { baseUrl } = this.#tools;
    return baseUrl === undefined ? '' : `${baseUrl}/o/${organization}/occurrences/${occurrence_id}`;
  }
}

function refuse(reason: string): Attempt {
  return { outcome: { ok: false, retry: false, reason } };
}

/** Causes outside the request cost no attempt. */
function toAttempt(error: unknown): Attempt {
  if (isUnavailable(error) || error instanceof ThreadsBusyError) return { waitSeconds: busySeconds };
  if (error instanceof AppError && error.code === 'secret.unreadable') return refuse(error.message);
  throw error;
}
