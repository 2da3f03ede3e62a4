/** Limits on domain checks, because each makes a tenant's choice of names into DNS lookups of the operator. */
import { AppError } from '../../../core/errors.ts';
import { FailureCount } from '../../../lib/load/failure-count.ts';
import { type DnsLimits, defaultDnsLimits } from '../../../lib/network/dns.ts';

/** Checks of one organization in a process: enough for a person who edits records, too few to burden a DNS server. */
const maxChecks = 20;
const windowMs = 60_000;
/** Checks at the same time in a process: of one organization, so that slow ones delay only its own, and in all. */
const maxConcurrent = { organization: 2, all: 50 };
/** DNS servers and limits of the tenants' domain checks; one per process. */
export class DomainCheckLimits {
  readonly servers: readonly string[];
  readonly limits: DnsLimits;
  readonly #counts = new FailureCount(maxChecks, windowMs);
  readonly #running = new Map<number, number>();

  constructor(servers: readonly string[], limits: DnsLimits = defaultDnsLimits) {
    this.servers = servers;
    this.limits = limits;
  }

  /** Runs a check for an organization; throws if it, or the process, has too many. */
  async run<T>(organizationId: number, now: number, check: () => Promise<T>): Promise<T> {
    const key = String(organizationId);
    const own = this.#running.get(organizationId) ?? 0;
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    const isBusy = own >= maxConcurrent.organization || all >= maxConcurrent.all;
    const waitMs = this.#counts.waitMs(key, now) || (isBusy ? 1_000 : 0);
    if (waitMs > 0) {
      const retryAfterSeconds = Math.ceil(waitMs / 1_000);
      throw new AppError('domain.limited', `too many domain checks: try again in ${retryAfterSeconds} s`, {
        retryAfterSeconds,
      });
    }
    this.#counts.record(key, now);
    this.#running.set(organizationId, own + 1);
    try {
      return await check();
    } finally {
      const others = this.#running.get(organizationId)! - 1;
      if (others > 0) this.#running.set(organizationId, others);
      else this.#running.delete(organizationId);
    }
  }
}
