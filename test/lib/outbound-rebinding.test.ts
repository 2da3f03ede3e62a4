/**
 * DNS rebinding: names whose addresses change between two lookups, served by a real DNS server. 127.0.0.2 is the only
 * allowed address, like a public one; servers at the same port of 127.0.0.1 and ::1 must never receive a connection.
 */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createOutbound, type Outbound } from '../../src/lib/network/outbound.ts';
import { smtp } from '../../src/providers/email/smtp/smtp.ts';
import { type ComplianceCase, exampleOutgoing } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { emailCases } from '../support/compliance-email.ts';
import { type DnsRecord, type DnsServer, openDnsServer } from '../support/dns-server.ts';
import { sources, textOf } from '../support/sources.ts';

const host = 'rebinding.test';
const allowed: DnsRecord = { type: 'A', data: '127.0.0.2' };
const forbidden: [what: string, DnsRecord[]][] = [
  ...['127.0.0.1', '0.0.0.0', '169.254.169.254', '10.0.0.1', '192.168.0.1'].map((data): [string, DnsRecord[]] => [
    data,
    [{ type: 'A', data }],
  ]),
  ...['::1', '::', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::', 'fd00::1', 'fe80::1'].map(
    (data): [string, DnsRecord[]] => [data, [{ type: 'AAAA', data }]],
  ),
  [
    'both families of loopback',
    [
      { type: 'A', data: '127.0.0.1' },
      { type: 'AAAA', data: '::1' },
    ],
  ],
  [
    'a chain of aliases to 127.0.0.1',
    [
      { type: 'CNAME', data: 'one.test' },
      { name: 'one.test', type: 'CNAME', data: 'two.test' },
      { name: 'two.test', type: 'A', data: '127.0.0.1' },
    ],
  ],
  [
    'an alias for localhost',
    [
      { type: 'CNAME', data: 'localhost' },
      { name: 'localhost', type: 'A', data: '127.0.0.1' },
    ],
  ],
];

let names: DnsServer;
let port: number;
let outbound: Outbound;
let reached = 0;
let trapped = 0;
let keepsAlive = false;
/** What the allowed server answers to a request, besides 200. */
let location: string | undefined;
const servers: Server[] = [];
const sockets = new Set<Socket>();

async function listen(server: Server, at: { host: string; port: number }): Promise<void> {
  server.on('connection', socket => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(at);
  await once(server, 'listening');
  servers.push(server);
}

beforeEach(async () => {
  [reached, trapped, keepsAlive, location] = [0, 0, false, undefined];
  names = await openDnsServer();
  const peer = createHttpServer((_, response) => {
    response.writeHead(location ? 302 : 200, {
      ...(location && { location }),
      ...(!keepsAlive && { connection: 'close' }),
    });
    response.end('{}');
  });
  peer.on('connection', () => reached++);
  const [first, second] = [createServer(() => trapped++), createServer(() => trapped++)];
  // Another connection of the machine may have the port on one of the addresses.
  for (let isFree = false; !isFree; ) {
    for (const server of servers.splice(0)) server.close();
    await listen(peer, { host: '127.0.0.2', port: 0 });
    ({ port } = peer.address() as AddressInfo);
    isFree = await Promise.all([
      listen(first, { host: '127.0.0.1', port }),
      listen(second, { host: '::1', port }),
    ]).then(
      () => true,
      error => {
        if (error.code !== 'EADDRINUSE') throw error;
        return false;
      },
    );
  }
  outbound = createOutbound({ allow: ['127.0.0.2/32'], timeoutMs: 5_000 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await outbound.close();
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
  names.close();
});

const get = { method: 'GET' } as const;
const url = () => `http://${host}:${port}/`;

test('a lookup without the guard leads to the forbidden server', async () => {
  names.answers(host, [{ type: 'A', data: '0.0.0.0' }]);
  const careless = createOutbound({ allow: ['0.0.0.0/0', '::/0'], timeoutMs: 500 });
  await careless.request(url(), get).catch(() => {});
  await careless.close();
  expect(trapped).toBe(1);
});

describe.each(forbidden)('a name that changes to %s', (_what, records) => {
  test('is refused at the next connection, without connecting to it', async () => {
    names.answers(host, [allowed], records);
    expect((await outbound.request(url(), get)).status).toBe(200);
    await expect(outbound.request(url(), get)).rejects.toMatchObject({ kind: 'refused', sent: false });
    await expect(outbound.resolve(host)).rejects.toMatchObject({ kind: 'refused' });
    expect([names.lookups(host), reached, trapped]).toEqual([3, 1, 0]);
  });

  test('is refused as the target of a redirect', async () => {
    names.answers(host, [allowed]);
    names.answers('other.test', records);
    location = `http://other.test:${port}/`;
    await expect(outbound.request(url(), get)).rejects.toMatchObject({ kind: 'refused' });
    expect([reached, trapped]).toEqual([1, 0]);
  });

  test('is ignored beside an allowed address', async () => {
    names.answers(host, [...records.filter(({ type }) => type !== 'CNAME'), allowed]);
    for (let i = 0; i < 5; i++) {
      expect((await outbound.request(url(), get)).status).toBe(200);
      expect(await outbound.resolve(host)).toBe('127.0.0.2');
    }
    expect([reached, trapped]).toEqual([5, 0]);
  });
});

test('a kept connection stays open when its name changes', async () => {
  keepsAlive = true;
  names.answers(host, [allowed], [{ type: 'A', data: '127.0.0.1' }]);
  const statuses: unknown[] = [];
  // If the kept connection is not free yet, another would be opened, and is refused.
  for (let i = 0; i < 1_000 && statuses.filter(status => status === 200).length < 2; i++) {
    statuses.push(
      await outbound.request(url(), get).then(
        ({ status }) => status,
        ({ kind }) => kind,
      ),
    );
    await new Promise(setImmediate);
  }
  expect(statuses.filter(status => status !== 'refused')).toEqual([200, 200]);
  expect([reached, trapped]).toEqual([1, 0]);
});

/** Tenants must not learn the internal addresses of a name. */
const addressOfNobody = /127\.0\.0\.1|0\.0\.0\.0\b|169\.254|192\.168|10\.0\.0|::/;
const cases = { ...emailCases, ...chatCases } as unknown as Record<string, ComplianceCase>;

describe.each(Object.entries(cases))('the provider %s', (_name, { provider, settings, address }) => {
  test('connects to no private address when the name of its peer changes', async () => {
    names.answers(host, [allowed], ...forbidden.map(([, records]) => records));
    const base = `http://${host}:${port}`;
    const options = settings(base);
    // The first request is the one for a token, where there is one.
    const sender = provider.open('login_url' in options ? { ...options, login_url: base } : options, { outbound });
    const at = typeof address === 'function' ? address(base) : address;
    const outgoing = exampleOutgoing(at === undefined ? {} : { address: at });
    await sender.send(outgoing);
    expect(reached).toBe(1);
    for (const [what] of forbidden) {
      const outcome = await sender.send(outgoing);
      expect(outcome, what).toMatchObject({ ok: false });
      expect(JSON.stringify(outcome)).not.toMatch(addressOfNobody);
    }
    await sender.close();
    expect([reached, trapped]).toEqual([1, 0]);
    expect(names.lookups(host)).toBeGreaterThan(forbidden.length);
  });
});

test('the provider smtp connects to no private address when the name of its server changes', {
  tags: ['sweep'],
}, async () => {
  names.answers(host, [allowed], ...forbidden.map(([, records]) => records));
  const settings = { host, port, from: 'Acme <no-reply@acme.test>', starttls: 'never', timeout_ms: 2_000 } as const;
  const sender = smtp.open(settings, { outbound });
  await sender.send(exampleOutgoing());
  expect(reached).toBe(1);
  for (const [what] of forbidden) {
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome, what).toMatchObject({ ok: false });
    expect(JSON.stringify(outcome)).not.toMatch(addressOfNobody);
  }
  await sender.close();
  expect([reached, trapped]).toEqual([1, 0]);
});

/** Other files that open connections, and to what. */
const connecting: Record<string, string> = {
  'lib/network/outbound.ts': 'the guarded client itself',
  'providers/email/smtp/connection.ts': 'to an address that the guarded client has resolved',
  'lib/secrets/oidc.ts': 'the identity provider that the operator names',
  'cli/doctor.ts': 'the service itself, at the operator’s command line',
  'cli/import/client.ts': 'the system that the operator imports from at the command line',
  'cli/remote.ts': 'the server that the operator names at the command line',
  'services/operations/doctor/traces.ts': 'the collector of traces that the operator names',
};

test('only the guarded client opens connections, except to hosts that the operator configures', () => {
  const opens = [
    /\bfetch\(/,
    /import \{[^}]*\b(connect|createConnection|request|get)\b[^}]*\} from 'node:(net|tls|http|https|http2)'/,
    /import\('(undici|openid-client)'\)/,
  ];
  const found = sources.filter(file => opens.some(pattern => pattern.test(textOf(file))));
  expect(found.toSorted()).toEqual(Object.keys(connecting).toSorted());
});
