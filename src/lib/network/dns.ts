/** DNS lookups with limits on their number, their time and the size of answers, for names that tenants choose. */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

export type RecordType = 'TXT' | 'A' | 'AAAA' | 'MX' | 'CNAME' | 'PTR';

export type DnsAnswer =
  | { status: 'found'; records: string[] }
  /** The name, or a record of this type, does not exist. */
  | { status: 'none' }
  /** Nothing is known; `reason` says why. */
  | { status: 'failed'; reason: string };

export interface DnsLimits {
  /** Time for one lookup. */
  lookupMs: number;
  /** Time for all lookups of a session. */
  totalMs: number;
  lookups: number;
}

export const defaultDnsLimits: DnsLimits = { lookupMs: 5_000, totalMs: 15_000, lookups: 200 };

const maxRecords = 100;
const maxRecordLength = 8_192;

/** Returns whether a text is the address of a DNS server: 192.0.2.53, 192.0.2.53:5353, 2001:db8::53 or [2001:db8::53]:5353. */
export function isDnsServer(text: string): boolean {
  const [, bracketed, address = text, port] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isFound = bracketed === undefined ? isIP(address) !== 0 : isIP(bracketed) === 6;
  return isFound && (port === undefined || (Number(port) > 0 && Number(port) <= 65_535));
}

/** One series of lookups. Without servers, those of the system are used. Close it afterwards. */
export class DnsSession {
  readonly #resolver: Resolver;
  readonly #limits: DnsLimits;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #left: number;

  constructor(servers: readonly string[], limits: DnsLimits = defaultDnsLimits) {
    this.#limits = limits;
    this.#left = limits.lookups;
    // The second try gets twice the time.
    this.#resolver = new Resolver({ timeout: Math.ceil(limits.lookupMs / 3), tries: 2 });
    if (servers.length > 0) this.#resolver.setServers(servers);
    this.#timer = setTimeout(() => this.close(), limits.totalMs);
  }

  async lookUp(type: RecordType, name: string): Promise<DnsAnswer> {
    if (this.#isOver) return { status: 'failed', reason: `no time was left after ${this.#limits.totalMs / 1_000} s` };
    if (this.#left-- <= 0)
      return { status: 'failed', reason: `the check needs more than ${this.#limits.lookups} lookups` };
    const timeout = new AbortController();
    const late = new Promise<DnsAnswer>(resolve => {
      const end = setTimeout(() => resolve({ status: 'failed', reason: noAnswer }), this.#limits.lookupMs);
      timeout.signal.addEventListener('abort', () => clearTimeout(end));
    });
    try {
      return await Promise.race([this.#ask(type, name), late]);
    } finally {
      timeout.abort();
    }
  }

  async #ask(type: RecordType, name: string): Promise<DnsAnswer> {
    try {
      const records = await this.#query(type, name);
      if (records.length > maxRecords || records.some(record => record.length > maxRecordLength)) {
        return { status: 'failed', reason: 'the answer is too large' };
      }
      return records.length > 0 ? { status: 'found', records } : { status: 'none' };
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'ENOTFOUND' || code === 'ENODATA') return { status: 'none' };
      return { status: 'failed', reason: reasons.get(code) ?? `the lookup failed (${code})` };
    }
  }

  async #query(type: RecordType, name: string): Promise<string[]> {
    const resolver = this.#resolver;
    switch (type) {
      case 'TXT':
        return (await resolver.resolveTxt(name)).map(parts => parts.join(''));
      case 'A':
        return resolver.resolve4(name);
      case 'AAAA':
        return resolver.resolve6(name);
      case 'MX':
        return (await resolver.resolveMx(name))
          .sort((a, b) => a.priority - b.priority)
          .map(({ priority, exchange }) => `${priority} ${toName(exchange)}`);
      case 'CNAME':
        return (await resolver.resolveCname(name)).map(toName);
      case 'PTR':
        return (await resolver.resolvePtr(name)).map(toName);
    }
  }

  /** Ends all lookups that are still running. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#resolver.cancel();
  }
}

const noAnswer = 'the DNS server did not answer in time';

const reasons = new Map(
  Object.entries({
    ETIMEOUT: noAnswer,
    ECANCELLED: noAnswer,
    ESERVFAIL: 'the DNS server reported an error (SERVFAIL)',
    EREFUSED: 'the DNS server refused to answer (REFUSED)',
    ECONNREFUSED: 'the DNS server cannot be reached',
    EBADRESP: 'the answer of the DNS server cannot be read',
  }),
);

function toName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
