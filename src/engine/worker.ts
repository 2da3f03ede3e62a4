/**
 * A worker: claims, expands, sends and recovers until it is told to stop. It is woken by NOTIFY and looks by itself now
 * and then. Urgent goes before normal before bulk in every round, and bulk never fills all the room that there is.
 *
 * Its life is an advisory lock. When the database drops the connection that holds it, the worker takes a new identity;
 * what it was sending under the old one is settled by whoever comes first, its own outcome or recovery.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { priorities } from '../core/trigger.ts';
import type { Delivery } from '../db/deliveries.ts';
import { releaseHeldAcrossTenants } from '../db/holds.ts';
import {
  beginLife,
  listDeadWorkersAcrossTenants,
  releaseOccurrencesAcrossTenants,
  settleUnknownAcrossTenants,
  type WorkerLife,
} from '../db/workers.ts';
import { claimSome, deliverAll } from './deliver.ts';
import type { Engine } from './engine.ts';
import { expandSome } from './expand.ts';

/** How much may be under way at once: bounds memory, and what a crash can leave unknown. */
const mostUnderWay = 1_000;
const mostBulkUnderWay = 500;
const claimAtOnce = 250;
/** A backstop: NOTIFY wakes it sooner, and nothing that is due waits longer than this. */
const lookEveryMs = 1_000;
const recoverEveryMs = 5_000;
/** A worker whose lock is gone is given this long to write what it knows. */
const graceMs = 10_000;

export class Worker {
  readonly #engine: Engine;
  readonly #url: string;
  readonly #dedupe: string[];
  #life: WorkerLife | undefined;
  readonly #stop = new AbortController();
  #underWay = 0;
  #wake: () => void = () => {};
  #running: Promise<unknown> | undefined;
  readonly #suspects = new Map<number, number>();

  constructor(engine: Engine, url: string, dedupe: string[]) {
    this.#engine = engine;
    this.#url = url;
    this.#dedupe = dedupe;
  }

  get underWay(): number {
    return this.#underWay;
  }

  async start(): Promise<void> {
    await this.#begin();
    this.#running = Promise.all([this.#work(), this.#recover()]);
  }

  wake(): void {
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
      this.#life = undefined;
    });
  }

  async #work(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve;
      });
      try {
        if (!this.#life) await this.#begin();
        if (await this.#round(this.#life!.id)) continue;
      } catch (error) {
        this.#engine.log.error({ err: error }, 'a round of the worker failed; trying again');
        await sleep(500);
      }
      await this.#rest(woken);
    }
    while (this.#underWay > 0) await this.#someRoom();
  }

  async #rest(woken: Promise<void>): Promise<void> {
    const timer = new AbortController();
    await Promise.race([woken, sleep(lookEveryMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }

  /** Whether anything was found. Each round begins with the most urgent. */
  async #round(owner: number): Promise<boolean> {
    for (const priority of priorities.keys()) {
      const room = (priority === priorities.length - 1 ? mostBulkUnderWay : mostUnderWay) - this.#underWay;
      if (room <= 0) {
        await this.#someRoom();
        return true;
      }
      const small = await expandSome(this.#engine, owner, priority);
      if (small) this.#send(small);
      const due = await claimSome(this.#engine, owner, priority, Math.min(room, claimAtOnce));
      if (due) this.#send(due);
      if (small || due) return true;
    }
    return false;
  }

  #send(deliveries: Delivery[]): void {
    if (deliveries.length === 0) return;
    let unsettled = deliveries.length;
    this.#underWay += unsettled;
    const leave = (count: number) => {
      unsettled -= count;
      this.#underWay -= count;
      this.#roomMade();
    };
    deliverAll(this.#engine, deliveries, () => leave(1)).catch(error => {
      // What is not settled belongs to this life: ending it lets recovery take it up.
      this.#engine.log.error({ err: error, unsettled }, 'could not settle what was claimed; beginning another life');
      leave(unsettled);
      this.#life?.end();
      this.#life = undefined;
    });
  }

  #roomMade: () => void = () => {};

  #someRoom(): Promise<void> {
    return new Promise(resolve => {
      this.#roomMade = resolve;
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
      this.#wake();
    }
  }
}
