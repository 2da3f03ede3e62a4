/** What the engine makes of failures before a message was handed over. */
import { expect, test } from 'vitest';
import { Senders } from '../../src/engine/deliver/senders.ts';
import { settleOutcome } from '../../src/engine/deliver/settlements.ts';
import { OutboundError } from '../../src/lib/network/outbound.ts';
import { sendHttp } from '../../src/providers/http-outcome.ts';
import { httpSender, type Tools } from '../../src/providers/sending.ts';
import { passTime } from '../support/pass-time.ts';

type Channel = Parameters<Senders['send']>[0];
const delivery = { attempts: 8, provider_attempts: 8, provider_index: 0, may_have_arrived: false } as never;
const outgoing = { id: '1', address: 'a@x.test' } as never;

function channelOf(send: (tools: Tools) => ReturnType<typeof httpSender>['send']): Channel {
  const provider = { name: 'test', dedupes: false, open: (_: unknown, tools: Tools) => httpSender(send(tools)) };
  return {
    organizationId: 1,
    id: 1,
    type: 'webhook',
    onUnknown: 'hold',
    providers: [{ provider, settings: {} }],
  } as never;
}

function sendersWith(request: Tools['outbound']['request']): Senders {
  return new Senders({ outbound: { request } as Tools['outbound'] });
}

test('a failure within the machine costs no attempt, is never unknown and does not open the circuit', async () => {
  const senders = sendersWith(async () => {
    throw new OutboundError('local', false, 'no connection could be opened on this machine (EMFILE)');
  });
  const channel = channelOf(
    ({ outbound }) =>
      () =>
        sendHttp(outbound, { url: 'http://x.test/' }),
  );
  for (let i = 0; i < 20; i++) {
    const outcome = await senders.send(channel, 0, outgoing);
    // Also after the last attempt.
    expect(settleOutcome(delivery, channel, outcome, outgoing, Date.now())).toMatchObject({
      status: 'retrying',
      tried: false,
      provider_attempts: 7,
      due_at: expect.any(Date),
      detail: expect.stringContaining('EMFILE'),
    });
  }
  expect(senders.circuitOpenUntil(channel, 0, performance.now())).toBe(0);
});

test('a bug in a provider has an unknown outcome only if it had begun a request', async () => {
  const senders = sendersWith(async () => ({ status: 200, headers: {}, text: '' }));
  const early = channelOf(() => async () => {
    throw new TypeError('no key');
  });
  expect(await senders.send(early, 0, outgoing)).toMatchObject({ ok: false, retry: true, unknown: false });
  const late = channelOf(({ outbound }) => async () => {
    await outbound.request('http://x.test/', { method: 'POST' });
    throw new TypeError('no id');
  });
  expect(await senders.send({ ...late, id: 2 }, 0, outgoing)).toMatchObject({ ok: false, retry: true, unknown: true });
});

test.each([
  ['webhook', 3_600],
  ['sms', 600],
])('an absurd Retry-After closes a channel of type %s for %i seconds at most', async (type, seconds) => {
  const senders = sendersWith(async () => ({ status: 429, headers: { 'retry-after': '99999999' }, text: '' }));
  const channel = {
    ...channelOf(
      ({ outbound }) =>
        () =>
          sendHttp(outbound, { url: 'http://x.test/' }),
    ),
    type,
  };
  const before = performance.now();
  for (let i = 0; i < 10; i++) {
    // The message itself waits for a day.
    expect(await senders.send(channel, 0, outgoing)).toMatchObject({ retry: true, retryAfterSeconds: 86_400 });
  }
  const openMs = senders.circuitOpenUntil(channel, 0, before) - before;
  expect(Math.floor(openMs / 10_000)).toBe(seconds / 10);
});

test('a wait that a provider reads from its response is limited to a day', async () => {
  const senders = sendersWith(async () => ({ status: 200, headers: {}, text: '' }));
  const channel = channelOf(() => async () => ({ ok: false, retry: true, retryAfterSeconds: 1e12, reason: '429' }));
  expect(await senders.send(channel, 0, outgoing)).toMatchObject({ retryAfterSeconds: 86_400 });
});

test('a circuit stays open for half a minute, and after tests that failed for two minutes at most', async () => {
  const senders = sendersWith(async () => ({ status: 503, headers: {}, text: '' }));
  const channel = channelOf(
    ({ outbound }) =>
      () =>
        sendHttp(outbound, { url: 'http://x.test/' }),
  );
  const openSeconds = () =>
    Math.round((senders.circuitOpenUntil(channel, 0, performance.now()) - performance.now()) / 1_000);
  // Those beyond the tenth were in flight, and test nothing.
  for (let i = 0; i < 15; i++) await senders.send(channel, 0, outgoing);
  const seconds = [openSeconds()];
  for (let i = 0; i < 4; i++) {
    passTime(seconds.at(-1)! * 1_000 + 1_000);
    await senders.send(channel, 0, outgoing);
    seconds.push(openSeconds());
  }
  expect(seconds).toEqual([30, 60, 120, 120, 120]);
});

test('an answer that wrong settings may cause counts once another address was reached, and never before the next provider', async () => {
  const doubtful = { ok: false, retry: false, gone: true, doubt: 'check x', reason: '400: bad' } as const;
  const held: string[] = [];
  const nothing = () => {};
  const outages = {
    circuitOpened: nothing,
    messageSent: nothing,
    settingsDoubted: (_: unknown, __: string, why: string) => held.push(why),
  };
  const senders = new Senders({ outbound: {} as Tools['outbound'] }, outages);
  const channel = channelOf(
    () =>
      async ({ address }) =>
        address === 'good' ? { ok: true } : doubtful,
  );
  const sendTo = (address: string, to = channel) => senders.send(to, 0, { id: '1', address } as never);
  const waits = { ok: false, retry: true, ofRecipient: true, reason: '400: bad: check x' };
  // The same address again says nothing new.
  for (let i = 0; i < 20; i++) expect(await sendTo('a')).toEqual(waits);
  for (let i = 0; i < 8; i++) expect(await sendTo(`b${i}`)).toEqual(waits);
  expect(held).toEqual([]);
  expect(await sendTo('c')).toEqual(waits);
  expect(held).toEqual([expect.stringMatching(/^10 addresses in a row .*check x/)]);
  expect(await sendTo('good')).toEqual({ ok: true });
  expect(await sendTo('c')).toEqual({ ok: false, retry: false, gone: true, reason: '400: bad' });
  const two = { ...channel, id: 2, providers: [channel.providers[0]!, channel.providers[0]!] };
  expect(await sendTo('c', two)).toEqual({ ok: false, retry: false, reason: '400: bad' });
});
