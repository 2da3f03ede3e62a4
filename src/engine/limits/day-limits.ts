/**
 * Enforces the limits of providers per day, over all workers. Messages are reserved in the database, many at a time under load,
 * and given back if they were not sent after all. Once a day is used up, this process asks no more until the day ends.
 * Providers without such a limit are not handled here.
 */
import type pg from 'pg';
import { type DayLimit, dayLimitOf, nameInChannel } from '../../core/decision/day-limit.ts';
import { reserveMessagesOfDay } from '../../db/ledger/deliver/day-limits.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';
import type { Admission, Entrant, Entry, Limit, Refusal } from './limits.ts';

interface ProviderLimiter {
  limit: DayLimit;
  reservations: Batcher<undefined, Admission>;
  /** Set once the day is used up. */
  wait: Refusal | undefined;
  /** When the day ends, by the clock of this process. */
  endsAt: number;
  /** Reserved messages that were not sent. */
  spare: number;
  entry: Entry;
}

export class DayLimits implements Limit {
  readonly #pool: pg.Pool;
  readonly #limiters = new Map<string, ProviderLimiter>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Returns whether the day is known to be used up, without asking the database. */
  findWait(channel: PlannedChannel, index: number, now: number): Refusal | undefined {
    const limiter = this.#limiter(channel, index, now);
    return limiter && limiter.spare === 0 ? limiter.wait : undefined;
  }

  /** Reserves a message. The next one uses the reservation of a message that was not sent. */
  enter(channel: PlannedChannel, { provider_index }: Entrant): Admission | Promise<Admission> | undefined {
    const limiter = this.#limiter(channel, provider_index, performance.now());
    if (!limiter) return undefined;
    if (limiter.spare > 0) {
      limiter.spare--;
      return limiter.entry;
    }
    return limiter.wait ?? limiter.reservations.add(undefined);
  }

  #limiter(channel: PlannedChannel, index: number, now: number): ProviderLimiter | undefined {
    const limit = dayLimitOf(channel.providers[index]!.settings);
    if (!limit) return undefined;
    const { organizationId, id: channelId } = channel;
    const provider = nameInChannel(
      channel.providers.map(one => one.provider.name),
      index,
    );
    const key = `${organizationId}/${channelId}/${provider}`;
    let limiter = this.#limiters.get(key);
    if (!limiter) {
      const created: ProviderLimiter = {
        limit,
        wait: undefined,
        endsAt: Number.POSITIVE_INFINITY,
        spare: 0,
        entry: {
          leave: isSent => {
            if (!isSent) created.spare++;
          },
        },
        reservations: new Batcher(
          requests => this.#reserve(organizationId, channelId, provider, created, requests.length),
          {
            maxPerBatch: 5_000,
          },
        ),
      };
      limiter = created;
      this.#limiters.set(key, limiter);
    }
    const { perDay, start, growth } = limiter.limit;
    const isChanged = perDay !== limit.perDay || start !== limit.start || growth !== limit.growth;
    if (isChanged || now >= limiter.endsAt)
      Object.assign(limiter, { limit, wait: undefined, spare: 0, endsAt: Number.POSITIVE_INFINITY });
    return limiter;
  }

  async #reserve(
    organizationId: number,
    channelId: number,
    provider: string,
    limiter: ProviderLimiter,
    requested: number,
  ): Promise<Admission[]> {
    const request = { channelId, provider, requested, ...limiter.limit };
    const { granted, limit, endsAt, endsInMs } = await reserveMessagesOfDay(this.#pool, organizationId, request);
    limiter.endsAt = performance.now() + Math.max(0, endsInMs);
    const detail = `the provider ${provider} is limited to ${limit} messages on this day (UTC)`;
    const wait: Refusal = { by: 'day', dueAt: endsAt, detail };
    if (granted < requested) limiter.wait = wait;
    return Array.from({ length: requested }, (_, i) => (i < granted ? limiter.entry : wait));
  }
}
