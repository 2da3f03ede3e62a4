/**
 * A worker claims, expands, sends and recovers until it is stopped. It is woken by NOTIFY, and also scans for work
 * about once a second. While it has nothing else to do, the API of its process offers it triggers before they are stored.
 * In every round, offers come first, then urgent work before normal, and normal before bulk.
 *
 * A worker has a lease, which it takes only on a database that it recognises: on a restored or cloned one it waits
 * until an operator resumes sending. The lease is an advisory lock. If the database drops the connection that holds it,
 * the worker takes a new lease and continues its work under that one; if it cannot in time, recovery takes over the
 * work, and the worker continues with the rest: see fence.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { priorities } from '../core/trigger.ts';
import type { CaughtUpReads } from '../db/connection/listen.ts';
import type { NewOccurrence } from '../db/ledger/accept/accept.ts';
import { claimTheseAcrossTenants, type Delivery, listClaimedAcrossTenants } from '../db/ledger/deliver/deliveries.ts';
import { releaseExpiredAcrossTenants, releasePausedAcrossTenants } from '../db/ledger/deliver/releases.ts';
import { releaseSilencedAcrossTenants } from '../db/ledger/expand/silenced.ts';
import { findDueAcrossTenants, type Queue } from '../db/ledger/round-robin.ts';
import { releaseStepsAcrossTenants } from '../db/ledger/steps/steps.ts';
import {
  acquireLease,
  inheritAcrossTenants,
  listDeadWorkersAcrossTenants,
  releaseOccurrencesAcrossTenants,
  settleUnknownAcrossTenants,
  type WorkerLease,
} from '../db/ledger/workers.ts';
import { alignedDelayMs } from '../lib/time/aligned-delay.ts';
import type { InstanceGuard } from '../services/operations/instance.ts';
import type { ChannelOutages } from './deliver/channel-outages.ts';
import { type ClaimedDelivery, claimDeliveries, type DeliverTools, deliverAll } from './deliver/deliver.ts';
import { graceMs } from './deliver/fence.ts';
import { maxWorkerDeaths } from './deliver/settlements.ts';
import { type AcceptedTriggers, acceptDecided } from './expand/decided.ts';
import { expandAccepted, expandNextPage } from './expand/expand.ts';
import type { ExpandTools, ExpansionResult } from './expand/frame.ts';
import { runSteps } from './expand/steps.ts';
import { InFlight } from './in-flight.ts';
import { WorkHints } from './work-hints.ts';

const maxClaim = 250;
/** How often to check whether sending was resumed. */
const pausedMs = 2_000;
const recoverEveryMs = 2_000;
/** How often to look for work that was held after its pause had already ended. */
const releaseEveryMs = 4_000;
/** Reads the occurrence of each held delivery, so less often. */
const expireEveryMs = 60_000;
/** How often to look for own claims whose response was lost, while there are claims. */
const reclaimEveryMs = 5_000;

/** How the work in each of these queues is expanded into deliveries. */
const expansions = { accepted: expandAccepted, expanding: expandNextPage, steps: runSteps } as const;

export interface WorkerTools
  extends Pick<ExpandTools, 'claims' | 'hot' | 'marker' | 'meters' | 'log'>,
    Pick<DeliverTools, 'fence' | 'senders' | 'outcomes' | 'channelLimits'> {
  url: string;
  pool: pg.Pool;
  instance: InstanceGuard;
  outages: ChannelOutages;
  /** Waits for the announcements of everything committed so far. Returns false if they cannot be received. */
  startReads: () => CaughtUpReads;
  /** Providers that detect duplicates. */
  dedupe: string[];
  expand: ExpandTools;
  deliver: DeliverTools;
}

/** Triggers that the API of this process has not stored yet. */
interface Offer {
  triggers: readonly NewOccurrence[];
  /** Gets the ids of those that the worker has stored; the API stores the others. */
  answer: (accepted: string[]) => void;
}

export class Worker {
  /** Called after each successful round, with the worker's current id. */
  onRound: (workerId: number) => void = () => {};
  readonly #tools: WorkerTools;
  #lease: WorkerLease | undefined;
  /** Lost leases whose work is not yet under the current one. */
  readonly #former: number[] = [];
  /** Whether it is. */
  #isAdopted = false;
  readonly #stop = new AbortController();
  readonly #inFlight: InFlight;
  readonly #hints = new WorkHints();
  readonly #offers: Offer[] = [];
  /** Whether work may have been left for lack of capacity: then every settled delivery wakes the worker. */
  #isShortOfCapacity = false;
  /** The organization whose deliveries were claimed last, for each priority class. */
  readonly #lastServed: number[] = [];
  #reclaimAt = 0;
  /** Whether there were claims since the last look for lost responses. */
  #hasClaimed = true;
  #wake: () => void = () => {};
  #running: Promise<unknown> | undefined;
  readonly #suspects = new Map<number, number>();

  constructor(tools: WorkerTools) {
    this.#tools = tools;
    this.#inFlight = new InFlight(tools.channelLimits.waiting);
    tools.channelLimits.onCapacity = () => this.#wake();
  }

  /** Returns the number of deliveries in flight for each priority class. */
  inFlight(): number[] {
    return this.#inFlight.counts();
  }

  async start(): Promise<void> {
    if (await this.#tools.instance.check()) await this.#acquireLease();
    this.#running = Promise.all([this.#work(), this.#recover()]);
  }

  /** Handles a notification of new work. */
  wake(payload: string): void {
    this.#hints.addAnnounced(payload);
    this.#wake();
  }

  offer(offer: Offer): void {
    this.#offers.push(offer);
    this.#wake();
  }

  /** Stops claiming, gives back what has not reached a provider, and waits for the rest. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#tools.marker.isReady = false;
    this.#tools.fence.stop();
    this.#tools.senders.interrupt();
    this.#wake();
    await this.#running;
    await this.#tools.outcomes.drain();
    await this.#lease?.end();
  }

  async #acquireLease(): Promise<void> {
    this.#lease = await acquireLease(this.#tools.url, error => {
      this.#tools.log.warn({ err: error }, "lost the connection that holds this worker's lease; acquiring another");
      if (this.#lease) this.#former.push(this.#lease.id);
      this.#dropLease();
    });
    this.#isAdopted = false;
    this.#tools.fence.lease = this.#lease;
    this.#reclaimAt = 0;
    this.#hasClaimed = true;
  }

  #dropLease(): void {
    this.#lease = undefined;
    this.#tools.fence.lease = undefined;
    this.#tools.marker.isReady = false;
  }

  async #work(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const woken = this.#nextWake();
      try {
        if (!this.#lease) {
          if (!(await this.#tools.instance.check())) {
            await sleep(pausedMs, undefined, { signal: this.#stop.signal }).catch(() => {});
            continue;
          }
          await this.#acquireLease();
        }
        if (!this.#isAdopted) await this.#adopt(this.#lease!.id);
        if (this.#hasClaimed && performance.now() >= this.#reclaimAt) await this.#reclaimLost(this.#lease!.id);
        const { id } = this.#lease!;
        const found = await this.#round(id);
        this.onRound(id);
        if (found) continue;
        this.#tools.marker.isReady = this.#lease !== undefined && !this.#isShortOfCapacity;
      } catch (error) {
        this.#tools.log.error({ err: error }, 'a round of the worker failed; trying again');
        this.#reclaimAt = 0;
        this.#tools.marker.isReady = false;
        // The work that this round was looking for is still there.
        this.#hints.addAll();
        await sleep(500);
        continue;
      }
      await this.#sleep(woken);
    }
    while (this.#inFlight.size > 0) await this.#nextWake();
  }

  /** Resolves when there is new work or capacity. */
  #nextWake(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }

  async #sleep(woken: Promise<void>): Promise<void> {
    const now = performance.now();
    const pauseMs = Math.max(0, Math.min(this.#hints.nextScanAt, this.#tools.channelLimits.capacityAt(now)) - now);
    const timer = setTimeout(() => this.#wake(), pauseMs);
    await woken;
    clearTimeout(timer);
  }

  /** Moves the work of lost leases to the current one. What another worker has taken over meanwhile is given up. */
  async #adopt(owner: number): Promise<void> {
    const former = [...this.#former];
    const kept = await inheritAcrossTenants(this.#tools.pool, former, owner);
    this.#former.splice(0, former.length);
    this.#tools.fence.adopt(kept, former);
    this.#isAdopted = true;
  }

  /**
   * Takes over claims that were committed, but whose response was lost with the connection. Recovery does not touch
   * them, because this worker is alive. Between rounds, nothing is being claimed or expanded.
   */
  async #reclaimLost(owner: number): Promise<void> {
    const { hot, log } = this.#tools;
    const occurrences =
      (await releaseOccurrencesAcrossTenants(hot, owner)) + (await releaseStepsAcrossTenants(hot, owner));
    const deliveries = await listClaimedAcrossTenants(hot, owner, this.#inFlight.ids());
    this.#reclaimAt = performance.now() + reclaimEveryMs;
    this.#hasClaimed = this.#inFlight.size > 0;
    if (occurrences + deliveries.length === 0) return;
    log.warn({ occurrences, deliveries: deliveries.length }, 'recovered claims whose response was lost');
    this.#sendClaimed(deliveries);
  }

  /** Runs one round, most urgent first. Returns whether there was any work. */
  async #round(owner: number): Promise<boolean> {
    const { channelLimits, claims } = this.#tools;
    const now = performance.now();
    this.#isShortOfCapacity = false;
    const accepted = await this.#acceptOffers(owner);
    if (this.#hints.startScanIfDue(now)) {
      for (const { queue, priority } of await findDueAcrossTenants(claims, [...priorities.keys()])) {
        this.#hints.add(queue, priority);
      }
    }
    const requeued = channelLimits.takeRequeued(now);
    if (requeued.length > 0) {
      this.#hasClaimed = true;
      this.#sendClaimed(await claimTheseAcrossTenants(claims, owner, requeued));
    }
    for (const priority of priorities.keys()) {
      const expanded = await this.#expand('accepted', owner, priority);
      const continued = await this.#expand('expanding', owner, priority);
      const escalated = await this.#expand('steps', owner, priority);
      const claimed = await this.#claim(owner, priority);
      if (expanded || continued || escalated || claimed) return true;
    }
    return accepted;
  }

  /** Decides and stores what was offered. The API, which waits, is answered in any case, and before anything is sent. */
  async #acceptOffers(owner: number): Promise<boolean> {
    const offers = this.#offers.splice(0);
    if (offers.length === 0) return false;
    this.#hasClaimed = true;
    let result: AcceptedTriggers | undefined;
    try {
      const triggers = offers.flatMap(offer => offer.triggers);
      const { expand, startReads } = this.#tools;
      result = await acceptDecided(expand, { owner, capacity: this.#inFlight }, triggers, startReads());
    } finally {
      for (const { triggers, answer } of offers) {
        answer(triggers.map(({ id }) => id).filter(id => result?.accepted.has(id)));
      }
    }
    if (result) this.#noteExpanded(result);
    return true;
  }

  async #expand(queue: keyof typeof expansions, owner: number, priority: number): Promise<boolean> {
    if (!this.#takeHint(queue, priority)) return false;
    if (this.#inFlight.updateCapacityWait(priority, performance.now())) {
      this.#hints.add(queue, priority);
      this.#isShortOfCapacity = true;
      return false;
    }
    const expanded = await expansions[queue](this.#tools.expand, { owner, priority, capacity: this.#inFlight });
    if (expanded) {
      if (!expanded.isDrained) this.#hints.add(queue, priority);
      this.#noteExpanded(expanded);
      return true;
    }
    // While outcomes of its earlier pages are being written, an occurrence cannot be claimed.
    if (queue === 'expanding' && this.#hints.reAddIfExpected(priority, performance.now()))
      this.#isShortOfCapacity = true;
    return false;
  }

  /** Adds hints for the work that remains, and sends what was claimed. */
  #noteExpanded({ claimed, queued, next, steps }: ExpansionResult): void {
    for (const one of next) this.#hints.expectMore(one, performance.now());
    for (const one of steps) this.#hints.add('steps', one);
    for (const one of queued) this.#hints.add('deliveries', one);
    this.#send(claimed);
  }

  async #claim(owner: number, priority: number): Promise<boolean> {
    if (!this.#takeHint('deliveries', priority)) return false;
    const { claims, meters } = this.#tools;
    const claimed = await claimDeliveries(
      { claims, lastServed: this.#lastServed, meters },
      {
        owner,
        priority,
        max: Math.min(this.#inFlight.capacity(priority), maxClaim),
        shares: this.#inFlight.shares(priority),
      },
    );
    if (!claimed) return false;
    this.#hints.add('deliveries', priority);
    this.#sendClaimed(claimed);
    return true;
  }

  /**
   * Takes the hint for a queue and returns whether there is capacity to claim. Organizations without capacity are
   * looked for again when a delivery is settled.
   */
  #takeHint(queue: Queue, priority: number): boolean {
    if (!this.#hints.take(queue, priority)) return false;
    this.#tools.marker.isReady = false;
    this.#hasClaimed = true;
    const hasCapacity = this.#inFlight.capacity(priority) > 0;
    const { byOrganization } = this.#inFlight.shares(priority);
    if (!hasCapacity || [...byOrganization.values()].some(share => share <= 0)) {
      this.#isShortOfCapacity = true;
      this.#hints.add(queue, priority);
    }
    return hasCapacity;
  }

  #sendClaimed(deliveries: Delivery[]): void {
    this.#send(deliveries.map(delivery => ({ delivery })));
  }

  #send(ready: ClaimedDelivery[]): void {
    if (ready.length === 0) return;
    for (const { delivery } of ready) this.#inFlight.add(delivery);
    const leave = (delivery: Delivery, isDue: boolean) => {
      this.#inFlight.delete(delivery);
      // It continues with the channel's next provider.
      if (isDue) this.#hints.add('deliveries', delivery.priority);
      if (isDue || this.#isShortOfCapacity || this.#stop.signal.aborted) this.#wake();
    };
    deliverAll(this.#tools.deliver, ready, leave).catch(error => {
      // Unsettled deliveries belong to this lease: ending it lets recovery take over.
      this.#tools.log.error({ err: error }, 'could not settle claimed deliveries; acquiring another lease');
      this.#lease?.end();
      this.#dropLease();
      for (const { delivery } of ready) leave(delivery, false);
    });
  }

  async #recover(): Promise<void> {
    let releaseAt = 0;
    let expireAt = 0;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#lease) await this.#recoverOnce(performance.now());
        if (this.#lease) await this.#tools.outages.tick(performance.now());
        if (this.#lease && performance.now() >= releaseAt) {
          await releasePausedAcrossTenants(this.#tools.hot);
          await releaseSilencedAcrossTenants(this.#tools.hot);
          releaseAt = performance.now() + releaseEveryMs;
        }
        if (this.#lease && performance.now() >= expireAt) {
          await releaseExpiredAcrossTenants(this.#tools.hot);
          expireAt = performance.now() + expireEveryMs;
        }
      } catch (error) {
        this.#tools.log.warn({ err: error }, 'looking for dead workers failed; trying again');
      }
      await sleep(alignedDelayMs(recoverEveryMs), undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #recoverOnce(now: number): Promise<void> {
    const { pool, hot, log } = this.#tools;
    // What this worker still sends under a lost lease is its own, and moved to the next lease.
    const dead = (await listDeadWorkersAcrossTenants(hot)).filter(owner => !this.#former.includes(owner));
    for (const owner of this.#suspects.keys()) if (!dead.includes(owner)) this.#suspects.delete(owner);
    for (const owner of dead) {
      const since = this.#suspects.get(owner) ?? now;
      this.#suspects.set(owner, since);
      if (now - since < graceMs) continue;
      const occurrences =
        (await releaseOccurrencesAcrossTenants(hot, owner)) + (await releaseStepsAcrossTenants(hot, owner));
      const { settled: deliveries, ended } = await settleUnknownAcrossTenants(
        pool,
        owner,
        this.#tools.dedupe,
        maxWorkerDeaths,
      );
      this.#tools.meters.ended(ended);
      log.warn({ worker: owner, occurrences, deliveries }, 'recovered the work of a dead worker');
      this.wake('');
    }
  }
}
