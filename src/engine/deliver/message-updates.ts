/**
 * Updates and retracts messages that were sent, after their occurrence was acknowledged, resolved or cancelled. Deliveries do not
 * wait for this, and organizations take turns. The end of an occurrence is announced, so the database is polled rarely
 * while nothing waits.
 */
import type pg from 'pg';
import { isBundleId } from '../../core/decision/bundle.ts';
import { AppError } from '../../core/errors.ts';
import { nameSome } from '../../core/message/acknowledge-texts.ts';
import { noteFor, type UpdateAction, updateActionFor, updateRetrySeconds } from '../../core/message/message-updates.ts';
import { addNote } from '../../core/render/note.ts';
import type { Content } from '../../core/render/render.ts';
import { reviseInboxMessage } from '../../db/audience/inbox-changes.ts';
import { findRecipientsAcrossTenants } from '../../db/audience/recipients.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import {
  type ClaimedUpdate,
  claimUpdates,
  listMessagesToUpdate,
  listWaitingUpdatesAcrossTenants,
  settleUpdatesAcrossTenants,
  type UpdateOutcome,
  updateClaimSeconds,
} from '../../db/ledger/deliver/message-updates.ts';
import { queueBundleUpdate } from '../../db/ledger/digests/bundle-updates.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import { ThreadsBusyError } from '../../lib/load/thread-pool.ts';
import { PollLoop } from '../../lib/process/poll-loop.ts';
import { currentTime, timeAt } from '../../lib/time/clock.ts';
import { type Claim, startClaim } from '../../lib/time/elapsed.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';
import { listUpdatable } from '../../providers/provider.ts';
import type { Outcome, SentMessage } from '../../providers/sending.ts';
import type { Deps } from '../../services/deps.ts';
import { findMissing } from '../../services/history/acknowledgements/missing.ts';
import { viewMessage } from '../../services/history/messages.ts';
import { enter, type Limit } from '../limits/limits.ts';
import type { Log } from '../log.ts';
import type { Meters } from '../telemetry/meters.ts';
import type { Senders } from './senders.ts';
import { toStorableDetail } from './settlements.ts';

/** How often to look for waiting updates that no announcement was received for. */
const pollEveryMs = 60_000;
const retryPollMs = 1_000;
/** The maximum number of updates in flight from this process, and how many of them one organization gets at a turn. */
const maxInFlight = 100;
const maxPerTurn = 25;
/** Deliveries that are listed in one transaction. */
const pageSize = 1_000;
/** How long an update waits while its channel is paused or cannot be opened, and while the machine or provider is overloaded. */
const heldMs = 5 * 60_000;
const busyMs = 30_000;

interface UpdateTools extends Pick<Deps, 'db' | 'pool' | 'plans' | 'rendering' | 'providers'> {
  /** The connections of the queue, with index scans only. */
  queue: pg.Pool;
  senders: Senders;
  /** All limits of changes, in the order in which they are entered. */
  limits: readonly Limit[];
  meters: Meters;
  log: Log;
  /** While true, nothing is sent. */
  isHeld: () => boolean;
}

/** The outcome of an attempt, or until when none is made. */
type Attempt = { action: UpdateAction; outcome: Outcome } | { until: number };

export class MessageUpdater {
  readonly #tools: UpdateTools;
  readonly #updatable: string[];
  readonly #outcomes: Batcher<UpdateOutcome, undefined>;
  readonly loop: PollLoop;
  readonly #inFlight = new Set<Promise<void>>();
  /** The organization served last: the next round starts after it. */
  #lastServed = 0;
  /** Whether there was more to claim than capacity. */
  #isFull = false;

  constructor(tools: UpdateTools) {
    this.#tools = tools;
    this.#updatable = listUpdatable(tools.providers);
    this.loop = new PollLoop(async () => (tools.isHeld() ? retryPollMs : this.#round()), {
      log: tools.log,
      task: 'polling for due message updates',
      everyMs: retryPollMs,
    });
    const settle = async (outcomes: UpdateOutcome[]) => {
      if (await settleUpdatesAcrossTenants(tools.queue, outcomes)) this.loop.wake();
      return outcomes.map(() => undefined);
    };
    this.#outcomes = new Batcher(settle, { maxPerBatch: 500 });
  }

  /** Stops claiming and waits for updates in flight. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await Promise.all(this.#inFlight);
    await this.#outcomes.drain();
  }

  /** Claims what there is capacity for. Returns how long to wait until the next round. */
  async #round(): Promise<number> {
    const { queue } = this.#tools;
    const waiting = await listWaitingUpdatesAcrossTenants(queue);
    this.#isFull = false;
    let pauseMs = pollEveryMs;
    for (const { organization_id, ms } of startingAfter(waiting, this.#lastServed)) {
      if (ms > 0) {
        pauseMs = Math.min(pauseMs, Math.ceil(ms));
        continue;
      }
      const capacity = Math.min(maxPerTurn, maxInFlight - this.#inFlight.size);
      if (capacity <= 0 || this.loop.isStopping) {
        this.#isFull = true;
        break;
      }
      const claim = startClaim(updateClaimSeconds * 1_000);
      const claimed = await claimUpdates(queue, organization_id, capacity);
      for (const one of claimed) this.#start(organization_id, one, claim);
      this.#lastServed = organization_id;
      // What was claimed is due again if this worker dies; others of the organization are due at a time not known here.
      pauseMs = claimed.length > 0 ? 0 : Math.min(pauseMs, retryPollMs);
    }
    return this.#isFull ? pollEveryMs : pauseMs;
  }

  #start(organizationId: number, update: ClaimedUpdate, claim: Claim): void {
    const done = this.#process(organizationId, update, claim)
      .catch(error =>
        this.#tools.log.warn({ err: error, occurrence: update.occurrence_id }, 'updating a message failed'),
      )
      .finally(() => {
        this.#inFlight.delete(done);
        if (this.#isFull && this.#inFlight.size <= maxInFlight / 2) this.loop.wake();
      });
    this.#inFlight.add(done);
  }

  async #process(organizationId: number, update: ClaimedUpdate, claim: Claim): Promise<void> {
    const { queue, meters } = this.#tools;
    const { occurrence_id, delivery_id, claims, change, changed_by: by, attempts } = update;
    if (delivery_id === 0) {
      const updatable = this.#updatable;
      if (isBundleId(occurrence_id)) await queueBundleUpdate(queue, organizationId, occurrence_id, updatable);
      else await listMessagesToUpdate(queue, organizationId, occurrence_id, { updatable, pageSize });
      this.loop.wake();
      return;
    }
    const key = { organization_id: organizationId, occurrence_id, delivery_id, claims, change };
    const beganAt = currentTime();
    const attempt = await this.#change(organizationId, update, claim).catch(toAttempt);
    if ('until' in attempt) {
      await this.#outcomes.add({ ...key, status: 'waiting', due_at: new Date(attempt.until), entry: null });
      return;
    }
    const { action, outcome } = attempt;
    const now = currentTime();
    const minSeconds = outcome.ok ? undefined : outcome.retryAfterSeconds;
    const seconds = outcome.ok || !outcome.retry ? undefined : updateRetrySeconds(attempts, Math.random(), minSeconds);
    const status = outcome.ok ? 'done' : seconds === undefined ? 'failed' : 'waiting';
    meters.messageUpdated(outcome.ok ? 'done' : status === 'failed' ? 'failed' : 'retried');
    await this.#outcomes.add({
      ...key,
      status,
      due_at: seconds === undefined ? null : new Date(now + seconds * 1_000),
      entry: {
        at: new Date(beganAt).toISOString(),
        change,
        by,
        action,
        outcome: status === 'waiting' ? 'retrying' : status,
        detail: outcome.ok ? null : toStorableDetail(outcome.reason),
        ms: Math.max(0, now - beganAt),
      },
    });
  }

  async #change(organizationId: number, update: ClaimedUpdate, claim: Claim): Promise<Attempt> {
    const { db, plans, limits, senders } = this.#tools;
    const { change, occurrence_id, delivery_id, user_id, provider, provider_index, priority } = update;
    const channels = await plans.listChannels(organizationId);
    const channel = channels.find(({ id }) => id === update.channel_id);
    if (!channel) return refuse(change, 'the channel has been deleted');
    if (channel.paused) return { until: currentTime() + heldMs };
    const names = channel.providers.map(one => one.provider.name);
    const index = names[provider_index] === provider ? provider_index : names.indexOf(provider ?? '');
    const action = updateActionFor(change, channel.providers[index]?.provider.updates);
    if (!action) return refuse(change, `the channel no longer uses ${provider}`);
    const openUntil = senders.circuitOpenUntil(channel, index, performance.now());
    // Spread, so that the updates of a large fan-out are not all claimed again at once.
    if (openUntil > 0) return { until: timeAt(openUntil) + Math.random() * busyMs };
    const entry = await enter(limits, channel, {
      organization_id: organizationId,
      occurrence_id,
      // Another id than that of the delivery, which the engine may be sending again.
      id: -delivery_id,
      priority,
      provider_index: index,
    });
    if ('by' in entry) return { until: entry.by === 'stop' ? currentTime() : entry.dueAt.getTime() };
    try {
      const sent = await this.#render(organizationId, update, channel, action);
      if (provider === 'inbox') {
        const revised = { body: sent.content.text, isRetracted: action === 'retract' };
        await db.transaction().execute(trx => reviseInboxMessage(trx, organizationId, user_id, delivery_id, revised));
        return { action, outcome: { ok: true } };
      }
      const openUntil = senders.circuitOpenUntil(channel, index, performance.now());
      if (openUntil > 0) return { until: timeAt(openUntil) };
      const outcome = await senders.change(channel, index, action, sent, claim.isValid);
      if (!outcome.ok && outcome.withdrawn) return { until: currentTime() };
      return !outcome.ok && outcome.local ? { until: currentTime() + busyMs } : { action, outcome };
    } finally {
      entry.leave(true);
    }
  }

  /** Renders the message as it was sent, with a line that says what happened since. */
  async #render(
    organizationId: number,
    update: ClaimedUpdate,
    { reach, type }: PlannedChannel,
    action: UpdateAction,
  ): Promise<SentMessage> {
    const { pool } = this.#tools;
    const { occurrence_id, delivery_id, user_id, change, changed_by: by, changed_at: at, until } = update;
    const id = `${occurrence_id}.${delivery_id}`;
    const [user] = await findRecipientsAcrossTenants(pool, [{ organizationId, userId: user_id }]);
    // The readers of a room may be in any time zone.
    const timezone = (reach === 'room' ? undefined : user?.timezone) ?? undefined;
    const others =
      change === 'acknowledged' ? await findMissing(this.#tools, organizationId, occurrence_id) : undefined;
    const missing = others?.count ? nameSome(others.users, others.count) : undefined;
    const note = noteFor({ change, by, at, until, missing }, update.sent_at, { locale: user?.locale, timezone });
    const recipient = user && {
      organization_id: organizationId,
      user_id,
      link_generation: user.link_generation,
      reach,
    };
    const needsContent = action === 'update' || update.provider === 'inbox';
    const content: Content = needsContent
      ? await viewMessage(this.#tools, organizationId, occurrence_id, delivery_id, recipient)
      : { title: '', text: '', missing: [] };
    return {
      id,
      address: update.address ?? '',
      content: addNote(content, note, type),
      createdAt: update.created_at,
      messageId: update.provider_message_id ?? id,
      note,
      change,
    };
  }
}

function refuse(change: ClaimedUpdate['change'], reason: string): Attempt {
  return { action: updateActionFor(change, ['update', 'retract'])!, outcome: { ok: false, retry: false, reason } };
}

/** Causes outside the message cost no attempt. */
function toAttempt(error: unknown): Attempt {
  if (isUnavailable(error)) return { until: currentTime() + retryPollMs };
  if (error instanceof ThreadsBusyError) return { until: currentTime() + busyMs };
  if (error instanceof AppError && error.code === 'secret.unreadable') return { until: currentTime() + heldMs };
  const retry = !(error instanceof AppError);
  return { action: 'update', outcome: { ok: false, retry, reason: (error as Error).message } };
}

/** Rotates the list to start after the organization served last. */
function startingAfter<Row extends { organization_id: number }>(rows: Row[], last: number): Row[] {
  const isLater = (row: Row) => row.organization_id > last;
  return [...rows.filter(isLater), ...rows.filter(row => !isLater(row))];
}
