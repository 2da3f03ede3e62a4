/**
 * Records outages for operational webhooks: an outage begins when a provider's circuit opens or its settings are doubted, and
 * ends with the next message that is sent.
 */
import type pg from 'pg';
import { beginOutage, endOutage, holdChannel, listOutagesAcrossTenants } from '../db/operations/channel-outages.ts';
import type { PlannedChannel } from '../pipeline/plans.ts';
import type { Log } from './log.ts';

export class ChannelOutages {
  readonly #pool: pg.Pool;
  readonly #log: Log;
  /** Channels with an outage on record, by any worker: `organization/channel`. */
  #outages = new Set<string>();

  constructor(pool: pg.Pool, log: Log) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Reads the outages that other workers have recorded. */
  async refresh(): Promise<void> {
    const outages = await listOutagesAcrossTenants(this.#pool);
    this.#outages = new Set(outages.map(({ organization_id, channel_id }) => `${organization_id}/${channel_id}`));
  }

  circuitOpened(channel: PlannedChannel, provider: string): void {
    this.#outages.add(channelKey(channel));
    this.#logFailure(beginOutage(this.#pool, channel.organizationId, channel.id, provider));
  }

  /** Pauses the channel: with these settings, nothing that is sent says anything about the addresses. */
  settingsDoubted(channel: PlannedChannel, provider: string, reason: string): void {
    const { organizationId, id } = channel;
    this.#outages.add(channelKey(channel));
    this.#log.warn({ organization: organizationId, channel: id, provider, reason }, 'paused a channel');
    this.#logFailure(holdChannel(this.#pool, organizationId, id, { provider, reason }));
  }

  /** Ends the channel's outage, if there is one. */
  messageSent(channel: PlannedChannel): void {
    if (this.#outages.size === 0 || !this.#outages.delete(channelKey(channel))) return;
    this.#logFailure(endOutage(this.#pool, channel.organizationId, channel.id));
  }

  #logFailure(work: Promise<void>): void {
    work.catch(error => this.#log.warn({ err: error }, 'could not record the health of a channel'));
  }
}

function channelKey({ organizationId, id }: PlannedChannel): string {
  return `${organizationId}/${id}`;
}
