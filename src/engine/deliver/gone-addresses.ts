/**
 * Stops what is sent to addresses that a provider reported as gone, many at once and on their own connection. An address is
 * disabled if a channel of the organization reported it, and suppressed for the project if one of its channels did: with its
 * own credentials, a project may not reach what others do. The announcements do not
 * count for this worker: to check every message of a campaign again for each dead device was a third of its cost, and a
 * message that is already on its way to such an address is refused by the provider too.
 */
import { stoppedProjects } from '../../core/feedback/scope.ts';
import { commandLine } from '../../core/identity/actor.ts';
import { disableAddresses, type GoneAddress } from '../../db/audience/addresses.ts';
import type { Database } from '../../db/connection/pool.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import { suppress } from '../../services/audience/suppressions.ts';

interface GoneAddressOf extends GoneAddress {
  organizationId: number;
  channel: { type: string; projectId: number | null };
  /** The name of the provider. */
  source: string;
}

/** The actor of automatic changes. */
const actor = { ...commandLine, name: 'Belfry' };

export class GoneAddresses {
  readonly #batcher: Batcher<GoneAddressOf, undefined>;
  #processId: number | undefined;

  /** The database has one connection that does nothing else. */
  constructor({ pool, db }: Pick<Database, 'pool' | 'db'>) {
    pool.on('connect', client => {
      this.#processId = (client as unknown as { processID: number }).processID;
    });
    this.#batcher = new Batcher(
      async addresses => {
        for (const [organizationId, own] of Map.groupBy(addresses, one => one.organizationId)) {
          const reports = own.map(({ channel, value, reason, source }) => ({
            channel_type: channel.type,
            target: value,
            reason: 'bounced' as const,
            source,
            detail: reason,
            projects: stoppedProjects(channel.projectId),
          }));
          const everywhere = own.filter((_, i) => reports[i]!.projects === null);
          if (everywhere.length > 0) await disableAddresses(pool, organizationId, everywhere);
          const scoped = reports.filter(({ projects }) => projects !== null);
          if (scoped.length === 0) continue;
          await db.transaction().execute(trx => suppress({ actor }, trx, organizationId, scoped));
        }
        return addresses.map(() => undefined);
      },
      {
        maxPerBatch: 1_000,
      },
    );
  }

  /** Resolves when the address is disabled. */
  async disable(address: GoneAddressOf): Promise<void> {
    await this.#batcher.add(address);
  }

  /** Returns whether an announcement is about addresses that were disabled here. */
  isOwn(processId: number): boolean {
    return processId === this.#processId;
  }
}
