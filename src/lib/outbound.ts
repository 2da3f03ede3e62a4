/**
 * The one client for all traffic to hosts that tenants name. Whatever connects goes through the guard at the moment of
 * connecting, with the very addresses that were checked, so a name that changes its meaning in between gains nothing.
 */
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, buildConnector } from 'undici';
import { OutboundError } from './outbound-error.ts';
import { exchange, type OutboundRequest, type OutboundResponse } from './outbound-exchange.ts';
import { createGuard, type Guard, refusal } from './outbound-guard.ts';

export { OutboundError, type OutboundFailure } from './outbound-error.ts';
export type { OutboundRequest, OutboundResponse } from './outbound-exchange.ts';

export interface Outbound {
  /**
   * A GET follows up to three redirects, and tells another origin none of its headers. Nothing else follows any: who
   * redirects a message has not taken it, and the answer is given back as it is.
   */
  request(url: string, request: OutboundRequest): Promise<OutboundResponse>;
  /** An address of the host that may be connected to; one of several by chance, so that another try may fare better. */
  resolve(host: string): Promise<string>;
  /** Waits for the requests under way. */
  close(): Promise<void>;
}

export interface OutboundOptions {
  /** Private networks (CIDRs) that may be reached all the same. */
  allow: readonly string[];
  /** When a request names none. */
  timeoutMs?: number;
  /** The longest body that is read; the rest is left unread and the connection closed. */
  mostBytes?: number;
  /** Certificate authorities (PEM) to trust instead of the usual ones. */
  ca?: string | string[];
}

const mostRedirects = 3;
/** Per origin. A peer slower than this many at once makes its own messages wait, and nobody else's. */
const mostConnections = 32;
/** As long as most peers keep an idle connection open; a shorter hint from the peer counts. */
const idleMs = 4_000;
const longestIdleMs = 60_000;

export function createOutbound({
  allow,
  timeoutMs: usualTimeoutMs = 10_000,
  mostBytes = 64 * 1024,
  ca,
}: OutboundOptions): Outbound {
  const guard = createGuard(allow);
  const agents = new Map<boolean, Promise<Agent>>();
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  const agentFor = (http2: boolean): Promise<Agent> => {
    let agent = agents.get(http2);
    if (!agent) {
      agent = openAgent(guard, http2, ca);
      agents.set(http2, agent);
    }
    return agent;
  };

  const follow = async (address: string, request: OutboundRequest): Promise<OutboundResponse> => {
    const agent = await agentFor(request.http2 === true);
    const deadline = performance.now() + (request.timeoutMs ?? usualTimeoutMs);
    const headers = lowerCase({ 'user-agent': 'Belfry', ...request.headers });
    let url = readUrl(address);
    for (let hop = 0; ; hop++) {
      const timeoutMs = Math.max(1, deadline - performance.now());
      const response = await exchange(agent, { ...request, url, headers, timeoutMs, mostBytes });
      const next = hop < mostRedirects && request.method === 'GET' ? readRedirect(response, url) : undefined;
      if (!next) return response;
      if (next.origin !== url.origin) {
        for (const name of Object.keys(headers)) if (name !== 'accept' && name !== 'user-agent') delete headers[name];
      }
      url = next;
    }
  };

  return {
    async request(address, request) {
      if (closed) throw new OutboundError('connect', false, 'the program is stopping');
      const response = follow(address, request);
      underWay.add(response);
      return response.finally(() => underWay.delete(response));
    },

    async resolve(host) {
      const addresses = await guard.addresses(host.replace(/^\[(.*)\]$/, '$1'));
      // The first family is the one that the system thinks it can reach.
      const usable = addresses.filter(({ family }) => family === addresses[0]!.family);
      return usable[Math.floor(Math.random() * usable.length)]!.address;
    },

    async close() {
      closed = true;
      await Promise.allSettled(underWay);
      // What is left has nobody waiting for it: idle connections, and some that came too late.
      await Promise.all([...agents.values()].map(async agent => (await agent).destroy()));
    },
  };
}

/** The library is read when the first message leaves: a service that sends nothing is 8 MB smaller. */
async function openAgent(guard: Guard, http2: boolean, ca: OutboundOptions['ca']): Promise<Agent> {
  const undici = await import('undici');
  return new undici.Agent({
    connect: guardedConnector(undici.buildConnector, guard, http2, ca),
    allowH2: http2,
    connections: mostConnections,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: longestIdleMs,
  });
}

/** A literal address is never looked up, so it is checked here; a name is checked by what it leads to. */
function guardedConnector(
  build: typeof buildConnector,
  guard: Guard,
  http2: boolean,
  ca: OutboundOptions['ca'],
): buildConnector.connector {
  const lookup: LookupFunction = (host, options, callback) => {
    guard.addresses(host).then(
      addresses => {
        if (options.all) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      error => callback(error, '', 0),
    );
  };
  const connect = build({ lookup, allowH2: http2, ca } as buildConnector.BuildOptions);
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) !== 0 && !guard.allows(host)) callback(refusal(host), null);
    else connect(options, callback);
  };
}

/** The URL standard turns 2130706433, 0x7f.1 and their like into plain addresses. */
function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new OutboundError('refused', false, 'no http or https address');
  if (url.username || url.password) {
    throw new OutboundError('refused', false, `the address at ${url.host} has a user name in it, which is not sent`);
  }
  return url;
}

function readRedirect({ status, headers }: OutboundResponse, from: URL): URL | undefined {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(status) || !location || !URL.canParse(location, from.href)) return undefined;
  return readUrl(new URL(location, from).href);
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
