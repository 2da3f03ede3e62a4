/**
 * The client for all traffic to hosts that tenants configure. Every connection goes to an address that the guard checked
 * when connecting, which prevents DNS rebinding.
 */
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, buildConnector } from 'undici';
import { OutboundError } from './outbound-error.ts';
import { exchange, type OutboundRequest, type OutboundResponse } from './outbound-exchange.ts';
import { createGuard, forbiddenAddress, type Guard } from './outbound-guard.ts';

export { OutboundError } from './outbound-error.ts';
export type { OutboundRequest, OutboundResponse } from './outbound-exchange.ts';

export interface Outbound {
  /** Loads what requests need, which otherwise happens with the first one. */
  load(): Promise<void>;
  /**
   * A GET follows up to three redirects, and sends none of its headers to another origin. One from https to http fails.
   * Other methods follow none: a peer that redirects a message has not accepted it, and its response is returned as it is.
   */
  request(url: string, request: OutboundRequest): Promise<OutboundResponse>;
  /** Returns a permitted address of the host, a random one of several, so that a retry may reach another. */
  resolve(host: string): Promise<string>;
  /** Returns whether all addresses of the host are in networks that are allowed, so in networks of the operator. */
  isAllowedPrivate(host: string): Promise<boolean>;
  /** Waits for requests in flight. */
  close(): Promise<void>;
}

export interface OutboundOptions {
  /** Private networks (CIDRs) that may be reached nevertheless. */
  allow: readonly string[];
  /** The default for requests without their own timeout. */
  timeoutMs?: number;
  /** Maximum bytes of a body; the rest is not read and the connection is closed. */
  maxBytes?: number;
  /** Certificate authorities (PEM) to trust instead of the default ones. */
  ca?: string | string[];
}

const maxRedirects = 3;
/** Most peers keep idle connections open for at least this long; a keep-alive hint of the peer takes precedence. */
const idleMs = 4_000;
const maxIdleMs = 60_000;
/** Agents without connections cost little; this bounds names of connections that are no longer used. */
const maxAgents = 1_000;

export function createOutbound({
  allow,
  timeoutMs: defaultTimeoutMs = 10_000,
  maxBytes = 64 * 1024,
  ca,
}: OutboundOptions): Outbound {
  const guard = createGuard(allow);
  const agents = new Map<string, Agent>();
  const inFlight = new Set<Promise<unknown>>();
  let closed = false;

  const agentFor = async ({ http2 = false, connection = '' }: OutboundRequest): Promise<Agent> => {
    const undici = await loadUndici();
    const key = `${http2} ${connection}`;
    let agent = agents.get(key);
    if (!agent) {
      if (agents.size >= maxAgents) closeOldest();
      agent = openAgent(undici, guard, http2, ca);
      agents.set(key, agent);
    }
    return agent;
  };

  /** Requests in flight are completed. */
  const closeOldest = () => {
    const [key, agent] = agents.entries().next().value!;
    agents.delete(key);
    agent.close().catch(() => {});
  };

  const follow = async (address: string, request: OutboundRequest): Promise<OutboundResponse> => {
    const agent = await agentFor(request);
    const deadline = performance.now() + (request.timeoutMs ?? defaultTimeoutMs) + uploadMs(request);
    const headers = lowerCase({ 'user-agent': 'Belfry', ...request.headers });
    let url = readUrl(address);
    for (let hop = 0; ; hop++) {
      const timeoutMs = Math.max(1, deadline - performance.now());
      const response = await exchange(agent, { ...request, url, headers, timeoutMs, maxBytes });
      const next = hop < maxRedirects && request.method === 'GET' ? readRedirect(response, url) : undefined;
      if (!next) return response;
      if (next.origin !== url.origin) {
        for (const name of Object.keys(headers)) if (name !== 'accept' && name !== 'user-agent') delete headers[name];
      }
      url = next;
    }
  };

  return {
    load: async () => void (await loadUndici()),

    async request(address, request) {
      if (closed) throw new OutboundError('connect', false, 'the program is stopping');
      const response = follow(address, request);
      inFlight.add(response);
      return response.finally(() => inFlight.delete(response));
    },

    async resolve(host) {
      const addresses = await guard.addresses(host.replace(/^\[(.*)\]$/, '$1'));
      // The first address has the family that the system prefers.
      const usable = addresses.filter(({ family }) => family === addresses[0]!.family);
      return usable[Math.floor(Math.random() * usable.length)]!.address;
    },

    async isAllowedPrivate(host) {
      const addresses = await guard.addresses(host.replace(/^\[(.*)\]$/, '$1'));
      return addresses.every(({ address }) => guard.isAllowed(address));
    },

    async close() {
      closed = true;
      await Promise.allSettled(inFlight);
      // Only connections without a caller are left: idle ones, and some that opened too late.
      await Promise.all([...agents.values()].map(agent => agent.destroy()));
    },
  };
}

/** The slowest upload that is not given up: 10 MiB get 40 seconds more than the timeout. */
const minUploadBytesPerMs = 262;

function uploadMs({ body = '' }: OutboundRequest): number {
  if (typeof body === 'string') return 0;
  const length = Buffer.isBuffer(body) ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
  return length / minUploadBytesPerMs;
}

/**
 * Loads undici with the first request: a process that sends nothing uses 8 MB less memory. A failure, such as for want of a file
 * descriptor, is not kept: the next request tries again.
 */
async function loadUndici(): Promise<Undici> {
  try {
    loaded ??= await import('undici');
    return loaded;
  } catch (error) {
    throw new OutboundError('local', false, `the HTTP client could not be loaded: ${(error as Error).message}`, error);
  }
}

type Undici = typeof import('undici');
let loaded: Undici | undefined;

function openAgent(undici: Undici, guard: Guard, http2: boolean, ca: OutboundOptions['ca']): Agent {
  return new undici.Agent({
    connect: guardedConnector(undici.buildConnector, guard, http2, ca),
    allowH2: http2,
    // Push services answer up to 1,000 requests of one connection at a time; undici's default is 100.
    h2Options: { maxConcurrentStreams: 1_000 },
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: maxIdleMs,
  });
}

/** Literal addresses are never looked up, so they are checked here; names are checked by `lookup`. */
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
    if (isIP(host) !== 0 && !guard.allows(host)) callback(forbiddenAddress(host), null);
    else connect(options, callback);
  };
}

/** The URL parser normalizes 2130706433, 0x7f.1 and the like to dotted addresses. */
function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new OutboundError('refused', false, 'not an http or https URL');
  if (url.username || url.password) {
    throw new OutboundError('refused', false, `the URL of ${url.host} contains credentials, which are not sent`);
  }
  return url;
}

function readRedirect({ status, headers }: OutboundResponse, from: URL): URL | undefined {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(status) || !location || !URL.canParse(location, from.href)) return undefined;
  const to = readUrl(new URL(location, from).href);
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    const advice = 'use an address that leads to https:// only';
    throw new OutboundError(
      'unencrypted',
      false,
      `${from.host} redirects to ${to.origin}, without encryption: ${advice}`,
    );
  }
  return to;
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
