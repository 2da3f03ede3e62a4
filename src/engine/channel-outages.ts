/** Tells webhooks of channels whose provider rests, and of those that a message got through to again. */
import type pg from 'pg';
import { beginOutage, endOutage, listOutagesAcrossTenants } from '../db/channel-outages.ts';
import type { PlannedChannel } from '../services/plans.ts';
import type { Log } from './log.ts';

export class ChannelOutages {
  readonly #pool: pg.Pool;
  readonly #log: Log;
  /** Channels that were told to be unhealthy, by any worker: `organization/channel`. */
  #known = new Set<string>();

  constructor(pool: pg.Pool, log: Log) {
    this.#pool = pool;
    this.#log = log;
  }

  /** What other workers have found out, or left behind. */
  async refresh(): Promise<void> {
    const outages = await listOutagesAcrossTenants(this.#pool);
    this.#known = new Set(outages.map(({ organization_id, channel_id }) => `${organization_id}/${channel_id}`));
  }

  began(channel: PlannedChannel, provider: string): void {
    this.#known.add(nameOf(channel));
    this.#note(beginOutage(this.#pool, channel.organizationId, channel.id, provider));
  }

  /** A message got through; nearly always there was no outage. */
  gotThrough(channel: PlannedChannel): void {
    if (this.#known.size === 0 || !this.#known.delete(nameOf(channel))) return;
    this.#note(endOutage(this.#pool, channel.organizationId, channel.id));
  }

  #note(work: Promise<void>): void {
    work.catch(error => this.#log.warn({ err: error }, 'could not tell webhooks of the health of a channel'));
  }
}

function nameOf({ organizationId, id }: PlannedChannel): string {
  return `${organizationId}/${id}`;
}
