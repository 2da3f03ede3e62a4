/** What follows an attempt, with a simulated clock: retries of one and of several providers, and waits during an outage. */
import { expect, test } from 'vitest';
import { retryMsOf } from '../../src/core/history/retries.ts';
import type { Delivery } from '../../src/db/ledger/deliver/deliveries.ts';
import { settleOpenCircuit, settleOutcome } from '../../src/engine/deliver/settlements.ts';
import type { PlannedChannel } from '../../src/pipeline/plans.ts';
import type { Outcome } from '../../src/providers/sending.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const outgoing = { id: '1', address: 'a@x.test' } as never;
const down: Outcome = { ok: false, retry: true, reason: '503' };
const refused: Outcome = { ok: false, retry: false, reason: '400' };

function channelOf(type: string, providers = 1, retry: { for: string } | null = null): PlannedChannel {
  const names = Array.from({ length: providers }, (_, i) => ({
    provider: { name: `p${i}`, dedupes: true },
    settings: {},
  }));
  return { type, retryMs: retryMsOf({ type, retry }), onUnknown: 'resend', providers: names } as never;
}

const fresh = { attempts: 0, provider_attempts: 0, provider_index: 0, retry_since: null, may_have_arrived: false };

interface Attempt {
  provider: number;
  ms: number;
}

/** Retries a message until it ends; `answer` gets the provider and the time since the first attempt. */
function send(channel: PlannedChannel, answer: (provider: number, ms: number) => Outcome) {
  const delivery = { ...fresh } as unknown as Delivery;
  const attempts: Attempt[] = [];
  for (let ms = 0; ; ) {
    delivery.attempts++;
    delivery.provider_attempts++;
    const provider = delivery.provider_index;
    attempts.push({ provider, ms });
    const settled = settleOutcome(delivery, channel, answer(provider, ms), outgoing, ms);
    if (settled.status !== 'retrying') return { status: settled.status, reason: settled.reason, attempts, ms };
    delivery.provider_index = settled.provider_index;
    delivery.provider_attempts = settled.provider_attempts;
    delivery.retry_since ??= new Date(ms);
    ms = (settled.due_at as Date).getTime();
  }
}

test.each([
  ['email', 48],
  ['webhook', 24],
  ['slack', 24],
  ['chat', 24],
  ['sms', 1],
  ['voice', 1],
  ['push', 1],
  ['webpush', 1],
])('a message of type %s is retried for %i hours, at growing distances', (type, hours) => {
  const { status, attempts, ms } = send(channelOf(type), () => down);
  expect(status).toBe('failed');
  expect(ms).toBe(hours * hourMs);
  const waits = attempts.slice(1).map((one, i) => one.ms - attempts[i]!.ms);
  expect(waits[0]).toBeGreaterThanOrEqual(2_500);
  expect(waits[0]).toBeLessThanOrEqual(5_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(hourMs);
  expect(attempts.length).toBeGreaterThan(8);
  expect(attempts.length).toBeLessThan(12 + 2 * hours);
});

test('a provider that is down for three hours gets the message within the hour after', () => {
  const { status, ms } = send(channelOf('email'), (_, at) => (at < 3 * hourMs ? down : { ok: true }));
  expect(status).toBe('sent');
  expect(ms).toBeLessThanOrEqual(4 * hourMs);
});

test('a channel that says 0s has one attempt with each provider, and 4h is kept to', () => {
  expect(send(channelOf('email', 2, { for: '0s' }), () => down)).toMatchObject({
    status: 'failed',
    ms: 0,
    attempts: [
      { provider: 0, ms: 0 },
      { provider: 1, ms: 0 },
    ],
  });
  expect(send(channelOf('email', 1, { for: '4h' }), () => down).ms).toBe(4 * hourMs);
});

test('the next provider is tried within eleven minutes, not when the retries end', () => {
  const { status, attempts } = send(channelOf('email', 2), provider => (provider === 0 ? down : { ok: true }));
  expect(status).toBe('sent');
  expect(attempts.filter(one => one.provider === 0)).toHaveLength(8);
  expect(attempts.at(-1)!.ms).toBeLessThan(11 * minuteMs);
});

test('if all providers are down, they take turns until the retries end', () => {
  const { status, attempts, ms } = send(channelOf('email', 2), () => down);
  expect([status, ms]).toEqual(['failed', 48 * hourMs]);
  const later = attempts.slice(16).map(({ provider }) => provider);
  expect(later.slice(0, 6)).toEqual([0, 1, 0, 1, 0, 1]);
  // The second one is asked at once, not after another delay.
  expect(attempts[17]!.ms).toBe(attempts[16]!.ms);
  const back = send(channelOf('email', 2), (provider, at) => (provider === 0 && at > 3 * hourMs ? { ok: true } : down));
  expect(back.status).toBe('sent');
  expect(back.ms).toBeLessThan(4.1 * hourMs);
});

test('a refusal by the last provider is final, and one by another is not', () => {
  expect(send(channelOf('email', 2), () => refused).attempts).toHaveLength(2);
  const { status, attempts } = send(channelOf('email', 2), (provider, at) =>
    provider === 0 ? refused : at > hourMs ? { ok: true } : down,
  );
  expect(status).toBe('sent');
  expect(attempts.at(-1)!.provider).toBe(1);
});

test('a Retry-After is respected, but not beyond the end of the retries', () => {
  const asks = (seconds: number): Outcome => ({ ...down, retryAfterSeconds: seconds }) as Outcome;
  expect(send(channelOf('sms'), () => asks(600)).attempts.map(({ ms }) => ms / minuteMs)).toEqual([
    0, 10, 20, 30, 40, 50, 60,
  ]);
  expect(send(channelOf('sms'), () => asks(86_400)).attempts.map(({ ms }) => ms / minuteMs)).toEqual([0, 60]);
});

test('while the circuit is open, a message waits longer and longer without an attempt, and fails at the end', () => {
  const channel = channelOf('sms');
  const delivery = { ...fresh, attempts: 1, provider_attempts: 1 } as unknown as Delivery;
  const waits: number[] = [];
  for (let ms = 0; ; ) {
    const settled = settleOpenCircuit(delivery, channel, ms + 30_000, ms);
    expect(settled.tried).toBe(false);
    if (settled.status === 'failed') {
      expect([ms, settled.reason]).toEqual([hourMs, 'provider.failed']);
      break;
    }
    expect(settled).toMatchObject({ status: 'retrying', reason: 'provider.paused', provider_attempts: 0 });
    delivery.retry_since ??= new Date(0);
    waits.push((settled.due_at as Date).getTime() - ms);
    ms += waits.at(-1)!;
  }
  expect(waits[0]).toBe(30_000);
  expect(waits.length).toBeLessThan(16);
  // A test that is in progress ends within seconds: only its outcome is awaited.
  const old = { ...delivery, retry_since: new Date(0) } as Delivery;
  const { due_at } = settleOpenCircuit(old, channel, 30 * minuteMs + 1_000, 30 * minuteMs);
  expect(due_at).toEqual(new Date(30 * minuteMs + 1_000));
});
