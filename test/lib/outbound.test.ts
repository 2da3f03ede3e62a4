import { execFile } from 'node:child_process';
import { promises as dns, type LookupAddress } from 'node:dns';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { withHandoverCheck } from '../../src/lib/network/handover.ts';
import { createOutbound, type OutboundOptions } from '../../src/lib/network/outbound.ts';
import { createGuard } from '../../src/lib/network/outbound-guard.ts';
import { certificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { closedUrl, type HttpPeer, openHttpPeer } from '../support/http-peer.ts';

const loopback = ['127.0.0.0/8', '::1/128'];
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const thing of closing.splice(0)) await thing.close();
});

function outbound(options: Partial<OutboundOptions> = {}) {
  const client = createOutbound({ allow: loopback, timeoutMs: 2_000, ...options });
  closing.unshift(client);
  return client;
}
async function peer(...args: Parameters<typeof openHttpPeer>): Promise<HttpPeer> {
  const opened = await openHttpPeer(...args);
  closing.push(opened);
  return opened;
}
/** Resolves names to one answer after the other; the last one is repeated. */
function nameServer(...answers: (string[] | Error | 'never')[]) {
  return vi.spyOn(dns, 'lookup').mockImplementation((async () => {
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    if (answer === 'never') return new Promise(() => {});
    if (answer instanceof Error) throw answer;
    return answer.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
  }) as never);
}
const get = { method: 'GET' } as const;
const post = { method: 'POST', body: '{}' } as const;

describe('the guard', () => {
  const closed = [
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255'],
    ...['127.0.0.1', '127.255.255.255', '0.0.0.0', '0.1.2.3', '169.254.169.254', '169.254.0.1', '168.63.129.16'],
    ...['192.0.0.192', '192.0.2.1', '198.51.100.7', '203.0.113.9', '198.18.0.1', '198.19.255.255', '192.88.99.1'],
    ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '100::1'],
    ...['2001:db8::1', '3fff::1', '2001::1', '2001:2::1', '2001:10::1', '5f00::1', '64:ff9b:1::1', '::127.0.0.1'],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:a00:1', '64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1'],
    ...['2002:7f00:1::', '2002:c0a8:101::1', '::ffff:0:127.0.0.1', 'no address', ''],
  ];
  const open = ['93.184.216.34', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.0.1', '100.128.0.1', '223.255.255.255']
    .concat(['192.0.1.1', '198.17.0.1', '198.20.0.1', '2606:4700:4700::1111', '2a00:1450:4001:81b::200e'])
    .concat(['::ffff:93.184.216.34', '64:ff9b::93.184.216.34', '64:ff9b::5db8:d822', '2002:5db8:d822::1']);

  it('knows the networks that the operator allows', () => {
    const { isAllowed } = createGuard(['10.1.0.0/16', '::1']);
    expect(['10.1.2.3', '::ffff:10.1.2.3', '::1', '10.2.0.1', '1.1.1.1'].map(isAllowed)).toEqual([
      ...[true, true, true, false, false],
    ]);
  });

  it.each(closed)('blocks %s', address => {
    expect(createGuard([]).allows(address)).toBe(false);
  });
  it.each(open)('allows %s', address => {
    expect(createGuard([]).allows(address)).toBe(true);
  });

  it('treats an IPv4 address the same in each of its IPv6 forms', () => {
    const guard = createGuard([]);
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(byte, byte, byte, byte, (a, b, c, d) => {
        const plain = `${a}.${b}.${c}.${d}`;
        const [high, low] = [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
        const forms = [`::ffff:${plain}`, `::ffff:${high}:${low}`, `64:ff9b::${plain}`, `2002:${high}:${low}::1`];
        return forms.every(form => guard.allows(form) === guard.allows(plain));
      }),
    );
  });

  it('allows exactly the configured networks', () => {
    const guard = createGuard(['10.1.0.0/16', '192.168.7.7', 'fd00:1::/32', 'fe80::/10']);
    expect(['fe80::1%eth0', '10.1.2.3', '192.168.7.7', 'fd00:1::5', '::ffff:10.1.2.3'].map(guard.allows)).not.toContain(
      false,
    );
    expect(['10.2.0.1', '192.168.7.8', 'fd00:2::5', '127.0.0.1', '::1'].map(guard.allows)).not.toContain(true);
  });
});

describe('connecting', () => {
  const odd = ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '[::ffff:127.0.0.1]', '[::1]', 'localhost'];

  it.each(odd)('refuses http://%s before any connection', async host => {
    const inside = await peer();
    const request = outbound({ allow: [] }).request(`http://${host}:${inside.port}/`, post);
    await expect(request).rejects.toMatchObject({ name: 'OutboundError', kind: 'refused', sent: false });
    expect(inside.connections).toBe(0);
  });

  it('reaches the same loopback when that network is allowed', async () => {
    const inside = await peer({ body: 'hello' });
    expect(await outbound().request(inside.url, get)).toMatchObject({ status: 200, text: 'hello' });
  });

  it.each(['ftp://example.test/', 'file:///etc/passwd', 'no address', ''])(
    'speaks only http and https: %s',
    async url => {
      await expect(outbound().request(url, get)).rejects.toMatchObject({ kind: 'refused', sent: false });
    },
  );

  it('sends nothing if the check right before the first byte refuses it', async () => {
    const { url, seen } = await peer();
    const client = outbound();
    let checks = 0;
    const refuse = () => ++checks < 0;
    const refused = withHandoverCheck(refuse, () => client.request(url, post));
    await expect(refused).rejects.toMatchObject({ kind: 'withdrawn', sent: false });
    expect([checks, seen.length]).toEqual([1, 0]);
    expect(
      (
        await withHandoverCheck(
          () => true,
          () => client.request(url, post),
        )
      ).status,
    ).toBe(200);
  });

  it('refuses a URL with a password, and does not quote it', async () => {
    const failure = await outbound()
      .request('http://me:hush@127.0.0.1/', get)
      .catch(error => error);
    expect(failure).toMatchObject({ kind: 'refused', sent: false });
    expect(failure.message).not.toContain('hush');
  });

  it('skips the forbidden addresses of a name and uses an allowed one', async () => {
    const inside = await peer();
    nameServer(['10.0.0.1', '169.254.169.254', '127.0.0.1']);
    const { status } = await outbound().request(`http://some.test:${inside.port}/`, get);
    expect(status).toBe(200);
    expect(inside.seen[0]!.headers.host).toBe(`some.test:${inside.port}`);
  });

  it('connects to the checked address: a name is looked up once per connection, and checked again for the next', async () => {
    const inside = await peer({ headers: { connection: 'close' } });
    const lookups = nameServer(['127.0.0.1'], ['10.0.0.1']);
    const client = outbound();
    const url = `http://rebinding.test:${inside.port}/`;
    expect((await client.request(url, get)).status).toBe(200);
    expect(lookups).toHaveBeenCalledTimes(1);
    await expect(client.request(url, get)).rejects.toMatchObject({ kind: 'refused', sent: false });
    expect(lookups).toHaveBeenCalledTimes(2);
  });

  it('resolves a host for other protocols by the same rules', async () => {
    expect(await outbound().resolve('127.0.0.1')).toBe('127.0.0.1');
    expect(await outbound().resolve('[::1]')).toBe('::1');
    for (const host of ['127.0.0.1', '::1', 'localhost', '2130706433', '0x7f.1', '::ffff:127.0.0.1']) {
      await expect(outbound({ allow: [] }).resolve(host), host).rejects.toMatchObject({ kind: 'refused' });
    }
    nameServer(['10.0.0.1', '1.2.3.4', '2606:4700::1']);
    expect(await outbound().resolve('some.test')).toBe('1.2.3.4');
  });

  it('does not reveal the addresses of a refused name', async () => {
    nameServer(['10.20.30.40']);
    const failure = await outbound()
      .resolve('db.internal')
      .catch(error => error);
    expect(failure.message).toContain('db.internal');
    expect(failure.message).not.toContain('10.20');
  });
});

describe('redirects', () => {
  const to = (location: string, status = 302) => ({ status, headers: { location } });

  it('checks the target of a redirect', async () => {
    const inside = await peer(to('http://169.254.169.254/latest/meta-data/'));
    await expect(outbound().request(inside.url, get)).rejects.toMatchObject({ kind: 'refused' });
  });

  it('does not follow one into another scheme', async () => {
    const inside = await peer(to('file:///etc/passwd'));
    await expect(outbound().request(inside.url, get)).rejects.toMatchObject({ kind: 'refused' });
  });

  it('are followed for a GET, without its headers to another origin', async () => {
    const other = await peer({ body: 'there' });
    const first = await peer(to(`${other.url}/b?c=d`));
    const headers = { Authorization: 'Bearer hush', 'X-Key': 'hush', Accept: 'text/plain' };
    expect((await outbound().request(first.url, { ...get, headers })).text).toBe('there');
    expect(other.seen[0]).toMatchObject({ path: '/b?c=d', headers: { accept: 'text/plain' } });
    expect(JSON.stringify(other.seen)).not.toContain('hush');
  });

  it('keeps the headers within an origin', async () => {
    const same = await peer(({ path }) => (path === '/a' ? to('/b') : {}));
    await outbound().request(`${same.url}/a`, { ...get, headers: { authorization: 'Bearer x' } });
    expect(same.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer x', 'Bearer x']);
  });

  it('are followed at most three times', async () => {
    const circle = await peer(to('/again'));
    expect((await outbound().request(circle.url, get)).status).toBe(302);
    expect(circle.seen).toHaveLength(4);
  });

  it('are refused if they lead from https to http, because the URL may be a secret', async () => {
    const plain = await peer();
    const secure = await peer(to(`${plain.url}/secret`), { protocol: 'https' });
    const failure = await outbound({ ca: certificate })
      .request(`${secure.url}/secret`, get)
      .catch(error => error);
    expect(failure).toMatchObject({ kind: 'unencrypted', sent: false, isFinal: true });
    expect(failure.message).toMatch(
      /^localhost:\d+ redirects to http:\/\/127\.0\.0\.1:\d+, without encryption: use an/,
    );
    expect(plain.connections).toBe(0);
    const again = await peer(to(secure.url));
    secure.reply = { body: 'there' };
    expect((await outbound({ ca: certificate }).request(again.url, get)).text).toBe('there');
  });

  it.each([301, 302, 303, 307, 308])('returns a %d to a POST as it is', async status => {
    const other = await peer();
    const first = await peer(to(other.url, status));
    expect((await outbound().request(first.url, post)).status).toBe(status);
    expect(other.connections).toBe(0);
  });
});

describe('a response', () => {
  it('is read with its status, headers and text', async () => {
    const inside = await peer({ status: 418, headers: { 'X-One': 'a', 'Set-Cookie': 'b' }, body: 'grüße' });
    const answer = await outbound().request(`${inside.url}/p?q=1`, { ...post, headers: { 'X-Two': 'c' } });
    expect(answer).toMatchObject({ status: 418, headers: { 'x-one': 'a' }, text: 'grüße' });
    expect(inside.seen[0]).toMatchObject({ method: 'POST', path: '/p?q=1', body: '{}', headers: { 'x-two': 'c' } });
  });

  it('is cut after 64 KiB', async () => {
    const inside = await peer('flood');
    // Not because of the timeout.
    const { text } = await outbound({ timeoutMs: 60_000 }).request(inside.url, get);
    expect(text).toHaveLength(64 * 1024);
  });

  it('is decided by its status if its body never ends', { tags: ['sweep'] }, async () => {
    const inside = await peer('stall');
    // Long enough for the part that comes, on a busy machine too.
    expect(await outbound({ timeoutMs: 3_000 }).request(inside.url, post)).toMatchObject({
      status: 200,
      text: '{"id":',
    });
  });

  it('with endless headers is a distinct kind of error', async () => {
    const inside = await peer({ headers: { 'x-long': 'x'.repeat(15_000), 'x-longer': 'x'.repeat(15_000) } });
    await expect(outbound().request(inside.url, post)).rejects.toMatchObject({ kind: 'too_large', sent: true });
  });
});

describe('a request without a response', () => {
  it.each([
    ['hang', 'timeout'],
    ['drop', 'broken'],
    ['nonsense', 'broken'],
  ] as const)('may have been accepted after %s', async (fault, kind) => {
    const inside = await peer(fault);
    const request = outbound({ timeoutMs: 1_000 }).request(inside.url, post);
    await expect(request).rejects.toMatchObject({ kind, sent: true });
  });

  it('fails in any case when the connection is reset before it was read', async () => {
    const inside = await peer('reset');
    const failure = await outbound()
      .request(inside.url, post)
      .catch(error => error);
    // Whether it was sent depends on timing.
    expect([failure.kind, failure.sent]).toBeOneOf([
      ['broken', true],
      ['connect', false],
    ]);
    expect(inside.seen).toHaveLength(0);
  });

  it('was not sent when the connection is refused', async () => {
    await expect(outbound().request(await closedUrl(), post)).rejects.toMatchObject({ kind: 'connect', sent: false });
  });

  it('was not sent when the name does not exist', async () => {
    nameServer(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    await expect(outbound().request('http://no.test/', post)).rejects.toMatchObject({ kind: 'connect', sent: false });
  });

  it('was not sent when it timed out before it was connected', async () => {
    nameServer('never');
    const request = outbound({ timeoutMs: 100 }).request('http://slow.test/', post);
    await expect(request).rejects.toMatchObject({ kind: 'timeout', sent: false });
  });

  it('does not wait for others to the same host, which would use up its time', { tags: ['sweep'] }, async () => {
    const inside = await peer('hang');
    const client = outbound({ timeoutMs: 5_000 });
    const busy = Array.from({ length: 100 }, () => client.request(inside.url, post).catch(error => error));
    await eventually(() => expect(inside.seen).toHaveLength(100));
    inside.reply = {};
    await expect(client.request(inside.url, post)).resolves.toMatchObject({ status: 200 });
    await Promise.all(busy);
  });

  it('was refused when it is not a valid request', async () => {
    const inside = await peer();
    const request = outbound().request(inside.url, { ...post, headers: { 'x-a': 'b\r\nx-c: d' } });
    await expect(request).rejects.toMatchObject({ kind: 'refused', sent: false });
    expect(inside.seen).toHaveLength(0);
  });
});

describe('connections', () => {
  it('are kept for the next request', async () => {
    const inside = await peer();
    const client = outbound();
    for (let n = 0; n < 20; n++) await client.request(inside.url, post);
    // A second one is opened if the first has ended its response but is not free yet.
    expect(inside.connections).toBeLessThanOrEqual(2);
  });

  it('are closed once requests in flight have ended', async () => {
    const inside = await peer({ body: 'done' });
    const client = outbound();
    const last = client.request(inside.url, post);
    await client.close();
    expect((await last).text).toBe('done');
    await expect(client.request(inside.url, post)).rejects.toMatchObject({ kind: 'connect', sent: false });
  });

  it('need a trusted certificate for the name in the URL', async () => {
    const inside = await peer({ body: 'safe' }, { protocol: 'https' });
    const trusting = outbound({ ca: certificate });
    expect((await trusting.request(inside.url, get)).text).toBe('safe');
    await expect(outbound().request(inside.url, post)).rejects.toMatchObject({ kind: 'connect', sent: false });
    nameServer(['127.0.0.1', '::1']);
    const other = trusting.request(inside.url.replace('localhost', 'other.test'), post);
    await expect(other).rejects.toMatchObject({ kind: 'connect', sent: false });
    expect(inside.seen).toHaveLength(1);
  });

  it('use HTTP/2 on request', async () => {
    const inside = await peer({ body: 'two' }, { protocol: 'http2' });
    const answer = await outbound({ ca: certificate }).request(inside.url, { ...post, http2: true });
    expect(answer).toMatchObject({ status: 200, text: 'two' });
    expect(inside.seen[0]).toMatchObject({ method: 'POST', body: '{}' });
  });
});

describe('a process without file descriptors', { skip: process.platform !== 'linux' }, () => {
  it('sends nothing, says that the peer is not the cause, and sends again when it has some', async () => {
    const { url } = await peer();
    const script = fileURLToPath(new URL('../support/without-descriptors.ts', import.meta.url));
    const command = ['-c', 'ulimit -n 64 && exec "$@"', 'sh', process.execPath, script, url];
    const { stdout } = await promisify(execFile)('sh', command);
    const unsent = ['local', false];
    // Without the HTTP client, with it; then without a socket, without name resolution, and with both.
    expect(JSON.parse(stdout)).toEqual([unsent, 200, unsent, unsent, 200]);
  });
});
