/**
 * A worker: claims, expands, sends and recovers until it is told to stop. It is woken by NOTIFY and looks by itself now
 * and then. Urgent goes before normal before bulk in every round.
 *
 * Its life is an advisory lock. When the database drops the connection that holds it, the worker takes a new identity
 * and goes on with its work under that one; where it cannot in time, recovery takes the work up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { priorities } from '../core/trigger.ts';
import { claimTheseAcrossTenants, type Delivery, listClaimedAcrossTenants } from '../db/deliveries.ts';
import { releaseHeldAcrossTenants } from '../db/holds.ts';
import {
  beginLife,
  inheritAcrossTenants,
  listDeadWorkersAcrossTenants,
  releaseOccurrencesAcrossTenants,
  settleUnknownAcrossTenants,
  type WorkerLife,
} from '../db/workers.ts';
import { claimSome, deliverAll, type Ready } from './deliver.ts';
import type { Engine } from './engine.ts';
import { expandSome } from './expand.ts';
import { Expected, type Kind } from './expected.ts';
import { UnderWay } from './under-way.ts';

const claimAtOnce = 250;
const recoverEveryMs = 2_000;
/** How often it looks for claims of its own whose answer was lost. */
const lookBackEveryMs = 5_000;
/** A worker whose lock is gone is given this long to take up its own work under a new one. */
const graceMs = 5_000;

export class Worker {
  /** Called after each round that did not fail, with the worker's present identity. */
  onRound: (workerId: number) => void = () => {};
  readonly #engine: Engine;
  readonly #url: string;
  readonly #dedupe: string[];
  #life: WorkerLife | undefined;
  /** Lives that were lost, and whose work is not yet under the present one. */
  readonly #former: number[] = [];
  readonly #stop = new AbortController();
  readonly #underWay: UnderWay;
  readonly #expected = new Expected();
  /** Whether something may have been left for lack of room: then whatever is settled wakes the worker. */
  #short = false;
  #lookBackAt = 0;
  #wake: () => void = () => {};
  #running: Promise<unknown> | undefined;
  readonly #suspects = new Map<number, number>();

  constructor(engine: Engine, url: string, dedupe: string[]) {
    this.#engine = engine;
    this.#url = url;
    this.#dedupe = dedupe;
    this.#underWay = new UnderWay(engine.limits.waiting);
    engine.limits.onRoom = () => this.#wake();
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  async start(): Promise<void> {
    await this.#begin();
    this.#running = Promise.all([this.#work(), this.#recover()]);
  }

  /** By what the database announced. */
  wake(payload: string): void {
    this.#expected.announced(payload);
    this.#wake();
  }

  /** Claims nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
    await this.#engine.outcomes.drain();
    await this.#life?.end();
  }

  async #begin(): Promise<void> {
    this.#life = await beginLife(this.#url, error => {
      this.#engine.log.warn({ err: error }, "lost the connection that is this worker's life; beginning another");
      if (this.#life) this.#former.push(this.#life.id);
      this.#life = undefined;
    });
    this.#lookBackAt = 0;
  }

  async #work(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const woken = this.#wakening();
      try {
        if (!this.#life) await this.#begin();
        if (Date.now() >= this.#lookBackAt) await this.#lookBack(this.#life!.id);
        const { id } = this.#life!;
        const found = await this.#round(id);
        this.onRound(id);
        if (found) continue;
      } catch (error) {
        this.#engine.log.error({ err: error }, 'a round of the worker failed; trying again');
        this.#lookBackAt = 0;
        // What it was about to look for is still there.
        this.#expected.announced('');
        await sleep(500);
        continue;
      }
      await this.#rest(woken);
    }
    while (this.#underWay.size > 0) await this.#wakening();
  }

  /** Resolves when there is work to look for, or room for it. */
  #wakening(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }

  async #rest(woken: Promise<void>): Promise<void> {
    const timer = new AbortController();
    const now = Date.now();
    const restMs = Math.max(0, Math.min(this.#expected.everywhereAt, this.#engine.limits.roomAt(now)) - now);
    await Promise.race([woken, sleep(restMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }

  /**
   * A claim may be committed and its answer lost with the connection: then this worker owns what it does not know of, and
   * recovery leaves it alone because this worker lives. Between rounds nothing is being claimed or expanded.
   */
  async #lookBack(owner: number): Promise<void> {
    const { db, pool, log } = this.#engine;
    if (this.#former.length > 0) {
      const former = [...this.#former];
      await inheritAcrossTenants(pool, former, owner);
      this.#former.splice(0, former.length);
    }
    const occurrences = await releaseOccurrencesAcrossTenants(db, owner);
    const deliveries = await listClaimedAcrossTenants(pool, owner, this.#underWay.ids());
    this.#lookBackAt = Date.now() + lookBackEveryMs;
    if (occurrences + deliveries.length === 0) return;
    log.warn({ occurrences, deliveries: deliveries.length }, 'took up claims whose answer was lost');
    this.#sendClaimed(deliveries);
  }

  /** Whether anything was found. Each round begins with the most urgent. */
  async #round(owner: number): Promise<boolean> {
    const { limits, claims } = this.#engine;
    const now = Date.now();
    this.#short = false;
    this.#expected.pass(now);
    const recalled = limits.recall(now);
    if (recalled.length > 0) this.#sendClaimed(await claimTheseAcrossTenants(claims, owner, recalled));
    for (const priority of priorities.keys()) {
      const expanded = await this.#expand(owner, priority);
      const claimed = await this.#claim(owner, priority);
      if (expanded || claimed) return true;
    }
    return false;
  }

  async #expand(owner: number, priority: number): Promise<boolean> {
    const free = this.#room('occurrences', priority);
    if (!free) return false;
    if (this.#underWay.soon(priority, Date.now())) {
      this.#expected.add('occurrences', priority);
      this.#short = true;
      return false;
    }
    const expanded = await expandSome(this.#engine, owner, priority, free.busy, this.#underWay);
    if (!expanded) {
      // Outcomes of its earlier pages, while they are being written, keep an occurrence from being claimed.
      if (this.#expected.hasMore(priority, Date.now())) this.#short = true;
      return false;
    }
    // What has come since is announced.
    if (!expanded.isAll) this.#expected.add('occurrences', priority);
    for (const next of expanded.next) {
      this.#expected.add('occurrences', next);
      this.#expected.more(next, Date.now());
    }
    for (const queued of expanded.queued) this.#expected.add('deliveries', queued);
    this.#send(expanded.ready);
    return true;
  }

  async #claim(owner: number, priority: number): Promise<boolean> {
    const free = this.#room('deliveries', priority);
    if (!free) return false;
    const claimed = await claimSome(this.#engine, owner, priority, Math.min(free.room, claimAtOnce), free.busy);
    if (!claimed) return false;
    this.#expected.add('deliveries', priority);
    this.#sendClaimed(claimed);
    return true;
  }

  /** As it is now: what has just been taken on counts. Undefined where there is none, or nothing to look for. */
  #room(kind: Kind, priority: number): { room: number; busy: number[] } | undefined {
    if (!this.#expected.take(kind, priority)) return undefined;
    const room = this.#underWay.room(priority);
    const busy = this.#underWay.busy(priority);
    if (room <= 0 || busy.length > 0) {
      // Whoever was left out is looked for again when something is settled.
      this.#short = true;
      this.#expected.add(kind, priority);
    }
    return room > 0 ? { room, busy } : undefined;
  }

  #sendClaimed(deliveries: Delivery[]): void {
    this.#send(deliveries.map(delivery => ({ delivery })));
  }

  #send(ready: Ready[]): void {
    if (ready.length === 0) return;
    for (const { delivery } of ready) this.#underWay.add(delivery);
    const leave = (delivery: Delivery, isDue: boolean) => {
      this.#underWay.delete(delivery);
      // It goes on to the channel's next provider.
      if (isDue) this.#expected.add('deliveries', delivery.priority);
      if (isDue || this.#short || this.#stop.signal.aborted) this.#wake();
    };
    deliverAll(this.#engine, ready, leave).catch(error => {
      // What is not settled belongs to this life: ending it lets recovery take it up.
      this.#engine.log.error({ err: error }, 'could not settle what was claimed; beginning another life');
      this.#life?.end();
      this.#life = undefined;
      for (const { delivery } of ready) leave(delivery, false);
    });
  }

  async #recover(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#recoverOnce(Date.now());
        await releaseHeldAcrossTenants(this.#engine.db);
      } catch (error) {
        this.#engine.log.warn({ err: error }, 'looking for dead workers failed; trying again');
      }
      await sleep(recoverEveryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #recoverOnce(now: number): Promise<void> {
    const { db, pool, log } = this.#engine;
    const dead = await listDeadWorkersAcrossTenants(db);
    for (const owner of this.#suspects.keys()) if (!dead.includes(owner)) this.#suspects.delete(owner);
    for (const owner of dead) {
      const since = this.#suspects.get(owner) ?? now;
      this.#suspects.set(owner, since);
      if (now - since < graceMs) continue;
      const occurrences = await releaseOccurrencesAcrossTenants(db, owner);
      const deliveries = await settleUnknownAcrossTenants(pool, owner, this.#dedupe);
      log.warn({ worker: owner, occurrences, deliveries }, 'took up the work of a worker that died');
      this.wake('');
    }
  }
}
