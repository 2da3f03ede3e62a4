/**
 * A worker: claims, expands, sends and recovers until it is told to stop. It is woken by NOTIFY and looks by itself now
 * and then. Urgent goes before normal before bulk in every round.
 *
 * It works under a lease, and takes one only on a database that is recognised: on one that was restored or cloned it waits
 * until an operator has resumed sending. The lease is an advisory lock. When the database drops the connection that holds it, the worker takes a new identity
 * and goes on with its work under that one; where it cannot in time, recovery takes the work up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { priorities } from '../core/trigger.ts';
import {
  claimTheseAcrossTenants,
  type Delivery,
  listClaimedAcrossTenants,
  releasePausedAcrossTenants,
} from '../db/deliveries.ts';
import { releaseStepsAcrossTenants } from '../db/steps.ts';
import { findDueAcrossTenants, type Queue } from '../db/turns.ts';
import {
  acquireLease,
  inheritAcrossTenants,
  listDeadWorkersAcrossTenants,
  releaseOccurrencesAcrossTenants,
  settleUnknownAcrossTenants,
  type WorkerLease,
} from '../db/workers.ts';
import { untilNext } from '../lib/until-next.ts';
import { type ClaimedDelivery, claimSome, deliverAll } from './deliver.ts';
import type { Engine } from './engine.ts';
import { type Expanded, expandAccepted, expandNextPage } from './expand.ts';
import { InFlight } from './in-flight.ts';
import { runSteps } from './steps.ts';
import { WorkHints } from './work-hints.ts';

const claimAtOnce = 250;
/** How often it asks whether sending was resumed. */
const pausedMs = 2_000;
const recoverEveryMs = 2_000;
/** How often it looks for what was put aside for a pause that had just ended. */
const releaseEveryMs = 4_000;
/** How often it looks for claims of its own whose answer was lost, as long as it claims any. */
const reclaimEveryMs = 5_000;
/** A worker whose lock is gone is given this long to take up its own work under a new one. */
const graceMs = 5_000;

/** How what waits in each of these queues becomes deliveries. */
const expansions = { accepted: expandAccepted, expanding: expandNextPage, steps: runSteps } as const;

export class Worker {
  /** Called after each round that did not fail, with the worker's present identity. */
  onRound: (workerId: number) => void = () => {};
  readonly #engine: Engine;
  readonly #url: string;
  readonly #dedupe: string[];
  #lease: WorkerLease | undefined;
  /** Leases that were lost, and whose work is not yet under the present one. */
  readonly #former: number[] = [];
  readonly #stop = new AbortController();
  readonly #inFlight: InFlight;
  readonly #hints = new WorkHints();
  /** Whether something may have been left for lack of room: then whatever is settled wakes the worker. */
  #isShortOfRoom = false;
  #reclaimAt = 0;
  /** Whether it has tried to claim something since it last looked for lost answers. */
  #hasClaimed = true;
  #wake: () => void = () => {};
  #running: Promise<unknown> | undefined;
  readonly #suspects = new Map<number, number>();

  constructor(engine: Engine, url: string, dedupe: string[]) {
    this.#engine = engine;
    this.#url = url;
    this.#dedupe = dedupe;
    this.#inFlight = new InFlight(engine.limits.waiting);
    engine.limits.onRoom = () => this.#wake();
  }

  /** Messages in flight, by class. */
  inFlight(): number[] {
    return this.#inFlight.counts();
  }

  async start(): Promise<void> {
    if (await this.#engine.instance.check()) await this.#acquireLease();
    this.#running = Promise.all([this.#work(), this.#recover()]);
  }

  /** By what the database announced. */
  wake(payload: string): void {
    this.#hints.announced(payload);
    this.#wake();
  }

  /** Claims nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
    await this.#engine.outcomes.drain();
    await this.#lease?.end();
  }

  async #acquireLease(): Promise<void> {
    this.#lease = await acquireLease(this.#url, error => {
      this.#engine.log.warn({ err: error }, "lost the connection that is this worker's lease; acquiring another");
      if (this.#lease) this.#former.push(this.#lease.id);
      this.#lease = undefined;
    });
    this.#reclaimAt = 0;
    this.#hasClaimed = true;
  }

  async #work(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const woken = this.#wakening();
      try {
        if (!this.#lease) {
          if (!(await this.#engine.instance.check())) {
            await sleep(pausedMs, undefined, { signal: this.#stop.signal }).catch(() => {});
            continue;
          }
          await this.#acquireLease();
        }
        if (this.#hasClaimed && Date.now() >= this.#reclaimAt) await this.#reclaimUnheard(this.#lease!.id);
        const { id } = this.#lease!;
        const found = await this.#round(id);
        this.onRound(id);
        if (found) continue;
      } catch (error) {
        this.#engine.log.error({ err: error }, 'a round of the worker failed; trying again');
        this.#reclaimAt = 0;
        // What it was about to look for is still there.
        this.#hints.addAll();
        await sleep(500);
        continue;
      }
      await this.#sleep(woken);
    }
    while (this.#inFlight.size > 0) await this.#wakening();
  }

  /** Resolves when there is work to look for, or room for it. */
  #wakening(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }

  async #sleep(woken: Promise<void>): Promise<void> {
    const timer = new AbortController();
    const now = Date.now();
    const restMs = Math.max(0, Math.min(this.#hints.lookAt, this.#engine.limits.roomAt(now)) - now);
    await Promise.race([woken, sleep(restMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }

  /**
   * A claim may be committed and its answer lost with the connection: then this worker owns what it does not know of, and
   * recovery leaves it alone because this worker lives. Between rounds nothing is being claimed or expanded.
   */
  async #reclaimUnheard(owner: number): Promise<void> {
    const { pool, hot, log } = this.#engine;
    if (this.#former.length > 0) {
      const former = [...this.#former];
      await inheritAcrossTenants(pool, former, owner);
      this.#former.splice(0, former.length);
    }
    const occurrences =
      (await releaseOccurrencesAcrossTenants(hot, owner)) + (await releaseStepsAcrossTenants(hot, owner));
    const deliveries = await listClaimedAcrossTenants(hot, owner, this.#inFlight.ids());
    this.#reclaimAt = Date.now() + reclaimEveryMs;
    this.#hasClaimed = this.#inFlight.size > 0;
    if (occurrences + deliveries.length === 0) return;
    log.warn({ occurrences, deliveries: deliveries.length }, 'took up claims whose answer was lost');
    this.#sendClaimed(deliveries);
  }

  /** Whether anything was found. Each round begins with the most urgent. */
  async #round(owner: number): Promise<boolean> {
    const { limits, claims } = this.#engine;
    const now = Date.now();
    this.#isShortOfRoom = false;
    if (this.#hints.isLookDue(now)) {
      for (const { queue, priority } of await findDueAcrossTenants(claims, [...priorities.keys()])) {
        this.#hints.add(queue, priority);
      }
    }
    const recalled = limits.recall(now);
    if (recalled.length > 0) {
      this.#hasClaimed = true;
      this.#sendClaimed(await claimTheseAcrossTenants(claims, owner, recalled));
    }
    for (const priority of priorities.keys()) {
      const expanded = await this.#expand('accepted', owner, priority);
      const continued = await this.#expand('expanding', owner, priority);
      const escalated = await this.#expand('steps', owner, priority);
      const claimed = await this.#claim(owner, priority);
      if (expanded || continued || escalated || claimed) return true;
    }
    return false;
  }

  async #expand(queue: keyof typeof expansions, owner: number, priority: number): Promise<boolean> {
    if (!this.#hasRoom(queue, priority)) return false;
    if (this.#inFlight.shouldWaitForRoom(priority, Date.now())) {
      this.#hints.add(queue, priority);
      this.#isShortOfRoom = true;
      return false;
    }
    const expanded = await expansions[queue](this.#engine, owner, priority, this.#inFlight);
    if (expanded) {
      this.#noteExpanded(queue, priority, expanded);
      return true;
    }
    // Outcomes of its earlier pages, while they are being written, keep an occurrence from being claimed.
    if (queue === 'expanding' && this.#hints.remarkIfMore(priority, Date.now())) this.#isShortOfRoom = true;
    return false;
  }

  /** Looks next where there is more; what has come since is announced. */
  #noteExpanded(queue: Queue, priority: number, { claimed, queued, next, steps, isAll }: Expanded): void {
    if (!isAll) this.#hints.add(queue, priority);
    for (const one of next) this.#hints.expectMore(one, Date.now());
    for (const one of steps) this.#hints.add('steps', one);
    for (const one of queued) this.#hints.add('deliveries', one);
    this.#send(claimed);
  }

  async #claim(owner: number, priority: number): Promise<boolean> {
    if (!this.#hasRoom('deliveries', priority)) return false;
    const most = Math.min(this.#inFlight.room(priority), claimAtOnce);
    const shares = this.#inFlight.shares(priority);
    const claimed = await claimSome(this.#engine, owner, priority, most, shares);
    if (!claimed) return false;
    this.#hints.add('deliveries', priority);
    this.#sendClaimed(claimed);
    return true;
  }

  /** Whether to look there, as far as there is room: whoever is left out is looked for again when something is settled. */
  #hasRoom(queue: Queue, priority: number): boolean {
    if (!this.#hints.take(queue, priority)) return false;
    this.#hasClaimed = true;
    const hasRoom = this.#inFlight.room(priority) > 0;
    const { byOrganization } = this.#inFlight.shares(priority);
    if (!hasRoom || [...byOrganization.values()].some(share => share <= 0)) {
      this.#isShortOfRoom = true;
      this.#hints.add(queue, priority);
    }
    return hasRoom;
  }

  #sendClaimed(deliveries: Delivery[]): void {
    this.#send(deliveries.map(delivery => ({ delivery })));
  }

  #send(ready: ClaimedDelivery[]): void {
    if (ready.length === 0) return;
    for (const { delivery } of ready) this.#inFlight.add(delivery);
    const leave = (delivery: Delivery, isDue: boolean) => {
      this.#inFlight.delete(delivery);
      // It goes on to the channel's next provider.
      if (isDue) this.#hints.add('deliveries', delivery.priority);
      if (isDue || this.#isShortOfRoom || this.#stop.signal.aborted) this.#wake();
    };
    deliverAll(this.#engine, ready, leave).catch(error => {
      // What is not settled belongs to this lease: ending it lets recovery take it up.
      this.#engine.log.error({ err: error }, 'could not settle what was claimed; acquiring another lease');
      this.#lease?.end();
      this.#lease = undefined;
      for (const { delivery } of ready) leave(delivery, false);
    });
  }

  async #recover(): Promise<void> {
    let releaseAt = 0;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#lease) await this.#recoverOnce(Date.now());
        if (this.#lease && Date.now() >= releaseAt) {
          await releasePausedAcrossTenants(this.#engine.hot);
          releaseAt = Date.now() + releaseEveryMs;
        }
      } catch (error) {
        this.#engine.log.warn({ err: error }, 'looking for dead workers failed; trying again');
      }
      await sleep(untilNext(recoverEveryMs), undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #recoverOnce(now: number): Promise<void> {
    const { pool, hot, log } = this.#engine;
    const dead = await listDeadWorkersAcrossTenants(hot);
    for (const owner of this.#suspects.keys()) if (!dead.includes(owner)) this.#suspects.delete(owner);
    for (const owner of dead) {
      const since = this.#suspects.get(owner) ?? now;
      this.#suspects.set(owner, since);
      if (now - since < graceMs) continue;
      const occurrences =
        (await releaseOccurrencesAcrossTenants(hot, owner)) + (await releaseStepsAcrossTenants(hot, owner));
      const { settled: deliveries, ended } = await settleUnknownAcrossTenants(pool, owner, this.#dedupe);
      this.#engine.meters.ended(ended);
      log.warn({ worker: owner, occurrences, deliveries }, 'took up the work of a worker that died');
      this.wake('');
    }
  }
}
