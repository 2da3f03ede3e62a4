/** Connections to a mail server: their number, their lifetime, and the outcome of the mails on them. */
import { promises as dns } from 'node:dns';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exampleOutgoing } from '../support/compliance.ts';
import { eventually } from '../support/eventually.ts';
import { passTime } from '../support/pass-time.ts';
import { open, openScripted } from '../support/smtp-open.ts';
import { trickle } from '../support/smtp-script.ts';

afterEach(() => vi.restoreAllMocks());

describe('connections', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => exampleOutgoing({ id: `mail-${n}` }));

  it('are limited and shared by many mails, each sent once', async () => {
    const { peer, sender } = await open({ max_connections: 3 });
    const outcomes = await Promise.all(many(100).map(sender.send));
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    expect(new Set(peer.mails.map(({ headers }) => headers['message-id'])).size).toBe(100);
    expect(peer.mails).toHaveLength(100);
    expect(peer.connections).toBe(3);
  });

  it('are reused for any number of mails, also after a refused one', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await Promise.all(many(150).map(sender.send));
    peer.fault = { rcpt: '550 no' };
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false });
    peer.fault = { data: '554 spam' };
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false });
    peer.fault = undefined;
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(peer.mails).toHaveLength(151);
    expect(peer.connections).toBe(1);
  });

  it('that the server will not use for another mail lose none', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing({ id: 'first' }));
    const fault = { mail: '421 4.7.0 enough for now' };
    Object.defineProperty(peer, 'fault', { get: () => (peer.connections === 1 ? fault : undefined) });
    expect(await sender.send(exampleOutgoing({ id: 'second' }))).toEqual({ ok: true, id: '<second@acme.test>' });
    expect([peer.mails.length, peer.connections]).toEqual([2, 2]);
  });

  it('are resolved and opened again after a minute', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing());
    passTime(61_000);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect([peer.mails.length, peer.connections]).toEqual([2, 2]);
    await eventually(() => expect(peer.open()).toBe(1));
  });

  it('on which a mail waits for its reply are not idle after another mail failed', { tags: ['sweep'] }, async () => {
    const { server, sender } = await openScripted(
      { max_connections: 1, timeout_ms: 2_000 },
      { offers: ['PIPELINING'] },
    );
    server.decide = ({ verb, connection }) => (verb === '.' && connection === 1 ? trickle : undefined);
    const first = sender.send(exampleOutgoing({ id: 'first' }));
    await server.until(() => server.mails.length === 1);
    expect(await sender.send(exampleOutgoing({ address: '' }))).toMatchObject({ ok: false, retry: false });
    expect(await first).toMatchObject({ ok: false, unknown: true });
    expect(await sender.send(exampleOutgoing({ id: 'third' }))).toMatchObject({ ok: true });
    // No connection was opened for the failed one.
    expect(server.connections).toBe(2);
  });

  it('that the server has closed meanwhile lose no mail', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing({ id: 'first' }));
    peer.disconnect();
    expect(await sender.send(exampleOutgoing({ id: 'second' }))).toMatchObject({ ok: true });
    expect(peer.mails).toHaveLength(2);
  });

  it('resolve the host again', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing());
    peer.disconnect();
    await eventually(() => expect(peer.open()).toBe(0));
    vi.spyOn(dns, 'lookup').mockImplementation((async () => [{ address: '10.0.0.1', family: 4 }]) as never);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: false });
  });

  it('are closed once mails in flight have ended', async () => {
    const { peer, sender } = await open({ max_connections: 2 });
    const sending = Promise.all(many(10).map(sender.send));
    await sender.close();
    expect((await sending).filter(({ ok }) => !ok)).toEqual([]);
    await eventually(() => expect(peer.open()).toBe(0));
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: true });
  });

  it('send no faster than the rate', { tags: ['sweep'] }, async () => {
    const { peer, sender } = await open({ rate: 5, max_connections: 1 });
    const before = performance.now();
    await Promise.all(many(11).map(sender.send));
    expect(peer.mails).toHaveLength(11);
    expect(performance.now() - before).toBeGreaterThan(1_900);
  });
});

describe('a server that replies slowly without ever exceeding a timeout', () => {
  const timeoutMs = 1_500;

  /** Sends two mails over the only connection, on which the reply to `endless` never ends. */
  async function sendTwo(endless: string) {
    const { server, sender } = await openScripted({ timeout_ms: timeoutMs, max_connections: 1 });
    const trickling = Promise.withResolvers<void>();
    server.decide = ({ verb, connection }) => {
      if (verb !== endless || connection !== 1) return undefined;
      trickling.resolve();
      return trickle;
    };
    const began = performance.now();
    const sending = sender.send(exampleOutgoing());
    await trickling.promise;
    // Waits for the connection, which does not count against its deadline.
    const following = sender.send(exampleOutgoing({ id: 'second' }));
    const first = await sending;
    const elapsedMs = performance.now() - began;
    const second = await following;
    // The second connection is idle and therefore closed; the first would stay open for as long as the server sends.
    await eventually(() => expect(server.open()).toBe(0));
    return { first, elapsedMs, second, mails: server.mails.length, connections: server.connections };
  }

  const aborted = { ok: false, retry: true, reason: expect.stringContaining(`${timeoutMs} ms`) };

  it('is aborted when a reply takes too long, and only a mail that was handed over whole may have been accepted', {
    tags: ['sweep'],
  }, async () => {
    const verbs = ['CONNECT', 'EHLO', 'MAIL', 'RCPT', 'DATA', '.'];
    const results = await Promise.all(verbs.map(sendTwo));
    expect(results.map(({ first }) => first)).toEqual(
      verbs.map(verb => {
        if (verb === 'CONNECT') return { ...aborted, reason: expect.stringMatching(/1500 ms|Greeting never received/) };
        return verb === '.' ? { ...aborted, unknown: true } : aborted;
      }),
    );
    expect(Math.min(...results.map(({ elapsedMs }) => elapsedMs))).toBeGreaterThan(timeoutMs - 10);
    expect(Math.max(...results.map(({ elapsedMs }) => elapsedMs))).toBeLessThan(10 * timeoutMs);
    // Nothing was sent on the first connection after it was aborted.
    expect(results.map(({ second, mails, connections }) => [second.ok, mails, connections])).toEqual(
      verbs.map(verb => [true, verb === '.' ? 2 : 1, 2]),
    );
  });

  it('is aborted when all replies together take too long', { tags: ['sweep'] }, async () => {
    const { server, sender } = await openScripted({ timeout_ms: 800, max_connections: 1 });
    server.decide = async ({ verb }) => {
      if (['MAIL', 'RCPT', 'DATA'].includes(verb)) await new Promise(resolve => setTimeout(resolve, 600));
      return undefined;
    };
    const reason = expect.stringMatching(/did not finish within 16\d\d ms/);
    expect(await sender.send(exampleOutgoing())).toEqual({ ok: false, retry: true, reason });
    expect(server.mails).toEqual([]);
  });

  it('is treated like a name that resolves too late: nothing is sent', async () => {
    const { server, sender } = await openScripted({ host: 'mail.acme.test', timeout_ms: 100 });
    const late = Promise.withResolvers<{ address: string; family: number }[]>();
    vi.spyOn(dns, 'lookup').mockReturnValue(late.promise as never);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: true });
    late.resolve([{ address: '127.0.0.1', family: 4 }]);
    await eventually(() => expect([server.connections, server.open()]).toEqual([1, 0]), 3_000);
    expect(server.commands).toEqual([[]]);
  });
});
