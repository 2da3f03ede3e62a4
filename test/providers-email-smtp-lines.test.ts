/** The connections to a mail server: how many, how long, and what becomes of the mails on them. */
import { promises as dns } from 'node:dns';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exampleOutgoing } from './support/compliance.ts';
import { open, openScripted } from './support/smtp-open.ts';
import { trickle } from './support/smtp-script.ts';

afterEach(() => vi.restoreAllMocks());

describe('connections', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => exampleOutgoing({ id: `mail-${n}` }));

  it('are few, and shared by many mails, each sent once', async () => {
    const { peer, sender } = await open({ max_connections: 3 });
    const outcomes = await Promise.all(many(100).map(sender.send));
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    expect(new Set(peer.mails.map(({ headers }) => headers['message-id'])).size).toBe(100);
    expect(peer.mails).toHaveLength(100);
    expect(peer.connections).toBe(3);
  });

  it('are kept, however many mails have gone, and also after one that was refused', async () => {
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

  it('that the server will not use for another mail cost none', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing({ id: 'first' }));
    const fault = { mail: '421 4.7.0 enough for now' };
    Object.defineProperty(peer, 'fault', { get: () => (peer.connections === 1 ? fault : undefined) });
    expect(await sender.send(exampleOutgoing({ id: 'second' }))).toEqual({ ok: true, id: '<second@acme.test>' });
    expect([peer.mails.length, peer.connections]).toEqual([2, 2]);
  });

  it('are looked up and opened anew after a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const { peer, sender } = await open({ max_connections: 1 });
      await sender.send(exampleOutgoing());
      vi.setSystemTime(Date.now() + 61_000);
      expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
      expect([peer.mails.length, peer.connections]).toEqual([2, 2]);
      await vi.waitFor(() => expect(peer.open()).toBe(1));
    } finally {
      vi.useRealTimers();
    }
  });

  it('on which a mail waits for its answer are not idle after another that could not go', async () => {
    const { server, sender } = await openScripted({ max_connections: 1, timeout_ms: 300 }, { offers: ['PIPELINING'] });
    server.decide = ({ verb, connection }) => (verb === '.' && connection === 1 ? trickle : undefined);
    const first = sender.send(exampleOutgoing({ id: 'first' }));
    await server.until(() => server.mails.length === 1);
    expect(await sender.send(exampleOutgoing({ address: '' }))).toMatchObject({ ok: false, retry: false });
    expect(await first).toMatchObject({ ok: false, unknown: true });
    expect(await sender.send(exampleOutgoing({ id: 'third' }))).toMatchObject({ ok: true });
    // None was opened for the one that was given up.
    expect(server.connections).toBe(2);
  });

  it('that the server has closed meanwhile cost no mail', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing({ id: 'first' }));
    peer.disconnect();
    expect(await sender.send(exampleOutgoing({ id: 'second' }))).toMatchObject({ ok: true });
    expect(peer.mails).toHaveLength(2);
  });

  it('ask anew where the host is', async () => {
    const { peer, sender } = await open({ max_connections: 1 });
    await sender.send(exampleOutgoing());
    peer.disconnect();
    await vi.waitFor(() => expect(peer.open()).toBe(0));
    vi.spyOn(dns, 'lookup').mockImplementation((async () => [{ address: '10.0.0.1', family: 4 }]) as never);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: false });
  });

  it('are let go once what is under way has ended', async () => {
    const { peer, sender } = await open({ max_connections: 2 });
    const sending = Promise.all(many(10).map(sender.send));
    await sender.close();
    expect((await sending).filter(({ ok }) => !ok)).toEqual([]);
    await vi.waitFor(() => expect(peer.open()).toBe(0));
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: true });
  });

  it('send no faster than the rate', async () => {
    const { peer, sender } = await open({ rate: 5, max_connections: 1 });
    const before = performance.now();
    await Promise.all(many(11).map(sender.send));
    expect(peer.mails).toHaveLength(11);
    expect(performance.now() - before).toBeGreaterThan(1_900);
  });
});

describe('a server that trickles its replies, so that none is ever late', () => {
  it.each([
    ['EHLO', false],
    ['MAIL', false],
    ['RCPT', false],
    ['DATA', false],
    ['.', true],
  ])('to "%s" is given up; that it may have been accepted: %s', async (endless, unknown) => {
    const { server, sender } = await openScripted({ timeout_ms: 200, max_connections: 1 });
    server.decide = ({ verb }) => (verb === endless ? trickle : undefined);
    const began = performance.now();
    const [first, second] = await Promise.all([
      sender.send(exampleOutgoing()),
      // Waits for the only connection, which is no fault of it.
      new Promise(resolve => setTimeout(resolve, 300)).then(() => {
        const sending = sender.send(exampleOutgoing({ id: 'second' }));
        server.decide = () => undefined;
        return sending;
      }),
    ]);
    expect(first).toMatchObject({ ok: false, retry: true, reason: expect.stringContaining('1000 ms') });
    expect('unknown' in first).toBe(unknown);
    expect(performance.now() - began).toBeGreaterThan(990);
    expect(second).toMatchObject({ ok: true });
    // Nothing went out on the first connection after it was given up.
    expect([server.mails.length, server.connections]).toEqual([unknown ? 2 : 1, 2]);
    // The second is idle, and closed for it; the first would stay for as long as something comes.
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  it('is like a name that is found too late: nothing is sent then', async () => {
    const { server, sender } = await openScripted({ host: 'mail.acme.test', timeout_ms: 100 });
    vi.spyOn(dns, 'lookup').mockImplementation((async () => {
      await new Promise(resolve => setTimeout(resolve, 1_000));
      return [{ address: '127.0.0.1', family: 4 }];
    }) as never);
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: true });
    await vi.waitFor(() => expect([server.connections, server.open()]).toEqual([1, 0]), 3_000);
    expect(server.commands).toEqual([[]]);
  });
});
