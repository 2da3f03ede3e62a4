/**
 * Outages of channels: one begins when a provider's circuit opens or its settings are doubted, and ends with the next message that is sent. Both are reported to
 * operational webhooks. Meanwhile messages wait for long, which costs nothing, and one at a time is made due to test the provider. After
 * the end, all of them are.
 */
import type pg from 'pg';
import { releaseRetries } from '../../db/ledger/deliver/releases.ts';
import { beginOutage, endOutage, holdChannel, listOutagesAcrossTenants } from '../../db/operations/channel-outages.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';
import type { Log } from '../log.ts';

/** How often to read the outages recorded by other workers. */
const refreshEveryMs = 10_000;
/** How often a provider is tested after a restart, until its circuit opens again. */
const testEveryMs = 30_000;
/**
 * How long and how often messages are released after an outage: longer than a circuit stays open, because another worker, whose
 * circuit still is, may let them wait again.
 */
const releaseForMs = 130_000;
const releaseEveryMs = 10_000;

interface Channel {
  organizationId: number;
  id: number;
}

interface Outage extends Channel {
  /** When to make a message due that tests the provider. */
  testAt: number;
}

interface Recovery extends Channel {
  nextAt: number;
  until: number;
}

export class ChannelOutages {
  readonly #pool: pg.Pool;
  readonly #hot: pg.Pool;
  readonly #log: Log;
  /** The outages on record, by any worker: by `organization/channel`. */
  readonly #outages = new Map<string, Outage>();
  /** Outages that ended lately. */
  readonly #recoveries = new Map<string, Recovery>();
  #refreshAt = 0;
  #isReleasing = false;

  /** `hot` is for the release of messages: see `indexScansOnly`. */
  constructor(pool: pg.Pool, hot: pg.Pool, log: Log) {
    this.#pool = pool;
    this.#hot = hot;
    this.#log = log;
  }

  /** Called regularly: reads what other workers have recorded, and releases what is to be released. */
  async tick(now: number): Promise<void> {
    if (now >= this.#refreshAt) {
      this.#refreshAt = now + refreshEveryMs;
      await this.#refresh(now);
    }
    if (!this.#isReleasing) this.#logFailure(this.#release(now));
  }

  /** The circuit has opened, or opened again after a test, until this moment of the monotonic clock. */
  circuitOpened(channel: PlannedChannel, provider: string, until: number, isAgain: boolean): void {
    const { organizationId, id } = channel;
    const key = channelKey(channel);
    if (isAgain && !this.#outages.has(key)) return;
    this.#outages.set(key, { organizationId, id, testAt: until });
    if (!isAgain) this.#logFailure(beginOutage(this.#pool, organizationId, id, provider));
  }

  /** Pauses the channel: with these settings, nothing that is sent says anything about the addresses. */
  settingsDoubted(channel: PlannedChannel, provider: string, reason: string): void {
    const { organizationId, id } = channel;
    this.#outages.set(channelKey(channel), { organizationId, id, testAt: Number.POSITIVE_INFINITY });
    this.#log.warn({ organization: organizationId, channel: id, provider, reason }, 'paused a channel');
    this.#logFailure(holdChannel(this.#pool, organizationId, id, { provider, reason }));
  }

  /** Ends the channel's outage, if there is one. */
  messageSent(channel: PlannedChannel): void {
    if (this.#outages.size === 0 || !this.#outages.delete(channelKey(channel))) return;
    const { organizationId, id } = channel;
    const now = performance.now();
    this.#recoveries.set(channelKey(channel), { organizationId, id, nextAt: now, until: now + releaseForMs });
    this.#logFailure(endOutage(this.#pool, organizationId, id));
    if (!this.#isReleasing) this.#logFailure(this.#release(now));
  }

  async #refresh(now: number): Promise<void> {
    const before = [...this.#outages.keys()];
    const recorded = (await listOutagesAcrossTenants(this.#pool)).map(row => ({
      organizationId: row.organization_id,
      id: row.channel_id,
    }));
    const keys = new Set(recorded.map(channelKey));
    for (const key of before) if (!keys.has(key)) this.#outages.delete(key);
    for (const one of recorded) {
      const key = channelKey(one);
      if (!this.#outages.has(key) && !this.#recoveries.has(key)) this.#outages.set(key, { ...one, testAt: now });
    }
  }

  async #release(now: number): Promise<void> {
    this.#isReleasing = true;
    try {
      for (const outage of this.#outages.values()) {
        if (outage.testAt > now) continue;
        outage.testAt = now + testEveryMs;
        const released = await releaseRetries(this.#hot, outage.organizationId, outage.id, 1);
        // With nothing to send, the next message is the test.
        if (released === 0) outage.testAt = Number.POSITIVE_INFINITY;
      }
      for (const [key, recovery] of this.#recoveries) {
        if (recovery.nextAt > now) continue;
        recovery.nextAt = now + releaseEveryMs;
        await releaseRetries(this.#hot, recovery.organizationId, recovery.id);
        if (now > recovery.until || this.#outages.has(key)) this.#recoveries.delete(key);
      }
    } finally {
      this.#isReleasing = false;
    }
  }

  #logFailure(work: Promise<void>): void {
    work.catch(error => this.#log.warn({ err: error }, 'could not record or end the outage of a channel'));
  }
}

function channelKey({ organizationId, id }: Channel): string {
  return `${organizationId}/${id}`;
}
