/** How long messages are retried, and at which distances, with a clock that jumps from attempt to attempt. */
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';
import { type Answer, openSmtpScript, type SmtpCommand } from '../support/smtp-script.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A tenant with a mail server that answers as `decide` says, at the time of a clock that `follow` moves. */
async function openMail(decide: (command: SmtpCommand, ms: number) => Answer | undefined, channel: object = {}) {
  const clock = { ms: 0 };
  const server = await openSmtpScript({ decide: command => decide(command, clock.ms) });
  onTestFinished(() => server.close());
  const provider = { use: 'smtp', host: '127.0.0.1', port: server.port, from: 'a@acme.test', starttls: 'never' };
  const tenant = await world.tenant({
    users: ['ann@x.test'],
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider], ...channel }, sandbox],
    notifications: [{ channels: ['mail'] }],
  });
  return { clock, server, tenant };
}

/** Jumps to the next attempt until the delivery has ended, and returns it. */
async function follow(tenant: Tenant, id: string, clock: { ms: number }) {
  for (let attempts = 1; ; attempts++) {
    const delivery = await eventually(async () => {
      const [one] = await tenant.deliveries(id);
      expect(one?.status === 'sending' || (one?.status === 'retrying' && one.attempts < attempts)).toBe(false);
      expect(one?.attempts).toBeGreaterThan(0);
      return one!;
    }, 8_000);
    if (delivery.status !== 'retrying') return delivery;
    const waitMs = Date.parse(String(delivery.next_attempt_at)) - Date.now();
    clock.ms += waitMs;
    await tenant.passTime(waitMs);
  }
}

describe('an email', () => {
  test('that is greylisted for 20 minutes is delivered once', async () => {
    const { clock, server, tenant } = await openMail(({ verb }, ms) =>
      verb === 'RCPT' && ms < 20 * minuteMs ? '450 4.2.0 greylisted' : undefined,
    );
    const delivery = await follow(tenant, await tenant.trigger(), clock);
    expect(delivery).toMatchObject({ status: 'sent', reason: null });
    expect(clock.ms).toBeLessThan(65 * minuteMs);
    expect(delivery.attempts).toBeLessThan(13);
    expect(server.mails).toHaveLength(1);
  });

  test('to a full mailbox is tried rarely, and delivered if it is emptied within 48 hours', {
    tags: ['sweep'],
  }, async () => {
    const { clock, server, tenant } = await openMail(({ verb }, ms) =>
      verb === 'RCPT' && ms < 30 * hourMs ? '552 5.2.2 over quota' : undefined,
    );
    const delivery = await follow(tenant, await tenant.trigger(), clock);
    expect(delivery.status).toBe('sent');
    expect(clock.ms).toBeLessThan(34.1 * hourMs);
    expect(delivery.attempts).toBeLessThan(22);
    expect(server.mails).toHaveLength(1);
  });

  test('to a mailbox that stays full fails after 48 hours, for that reason', { tags: ['sweep'] }, async () => {
    const { clock, server, tenant } = await openMail(({ verb }) => (verb === 'RCPT' ? '452 4.2.2 full' : undefined));
    const id = await tenant.trigger();
    const [waiting] = await tenant.until(id, 'retrying');
    expect(waiting).toMatchObject({ reason: 'mailbox.full', attempts: 1, detail: '452 4.2.2 full' });
    const firstWait = Date.parse(String(waiting!.next_attempt_at)) - Date.now();
    expect(firstWait).toBeGreaterThan(7 * minuteMs);
    expect(Date.parse(String(waiting!.retry_until)) - Date.now()).toBeGreaterThan(47.9 * hourMs);
    const path = `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ann@x.test`;
    const why = (await tenant.ask({ path })).text;
    expect(why).toContain(
      `will be retried at ${waiting!.next_attempt_at}, until ${waiting!.retry_until} at the latest`,
    );
    expect(why).toContain('the mailbox of the recipient is full');

    const delivery = await follow(tenant, id, clock);
    expect(delivery).toMatchObject({
      status: 'failed',
      reason: 'mailbox.full',
      next_attempt_at: null,
      retry_until: null,
    });
    expect(clock.ms / hourMs).toBeCloseTo(48, 1);
    expect(server.mails).toEqual([]);
    // The first and the last attempts are kept, and all are counted.
    const attempts = await tenant.ask({
      path: `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery.id}/attempts/`,
    });
    expect(attempts.body).toHaveLength(Math.min(20, delivery.attempts));
  });

  test('to a full mailbox opens no circuit, and is not passed on to the next provider', async () => {
    const { server, tenant } = await openMail(({ verb, to }) =>
      verb === 'RCPT' && to.startsWith('p') ? '552 5.2.2 full' : undefined,
    );
    const full = Array.from({ length: 12 }, (_, i) => `p${i}@x.test`);
    const provider = { use: 'smtp', host: '127.0.0.1', port: server.port, from: 'a@acme.test', starttls: 'never' };
    const channel = { slug: 'mail', name: 'Mail', type: 'email', providers: [provider, { use: 'sandbox' }] };
    await tenant.apply({
      users: [...full, 'ann@x.test'],
      channels: [channel],
      notifications: [{ channels: ['mail'] }],
    });
    const id = await tenant.trigger();
    const deliveries = await tenant.until(id, 'retrying', 'sent');
    expect(deliveries.map(one => `${one.user} ${one.status} ${one.provider}`).sort()).toEqual(
      [...full.map(user => `${user} retrying smtp`), 'ann@x.test sent smtp'].sort(),
    );
  });
});

describe('a mail server that is down for three hours', () => {
  test('gets all messages soon after it is back, each once, and was not asked for each of them meanwhile', {
    tags: ['sweep'],
    timeout: 300_000,
  }, async () => {
    const users = ['ann@x.test', ...Array.from({ length: 30 }, (_, i) => `p${i}@x.test`)];
    let isUp = false;
    const { server, tenant } = await openMail(({ verb }) =>
      verb === 'CONNECT' && !isUp ? '421 4.3.2 down' : undefined,
    );
    const provider = { use: 'smtp', host: '127.0.0.1', port: server.port, from: 'a@acme.test', starttls: 'never' };
    const channel = { slug: 'mail', name: 'Mail', type: 'email', providers: [provider] };
    await tenant.apply({ users, channels: [channel], notifications: [{ channels: ['mail'] }] });
    const id = await tenant.trigger();
    await eventually(async () => {
      const outages = await tenant.sql('select 1 from channel_outages where organization_id = $1', tenant.id);
      expect(outages).toHaveLength(1);
    }, 20_000);
    await tenant.until(id, 'retrying');
    await tenant.passTime(3 * hourMs);
    await eventually(async () => {
      // All but the one that tests the server have been looked at again, and wait for a long time.
      const soon = `select 1 from deliveries where organization_id = $1
        and (status <> 'retrying' or due_at < now() + interval '20 minutes')`;
      expect((await tenant.sql(soon, tenant.id)).length).toBeLessThan(3);
    }, 60_000);
    const tried = server.connections;
    expect(tried).toBeLessThan(60);
    isUp = true;
    expect(await tenant.outcomes(id, 200_000)).toEqual(users.map(user => `${user} sent`).sort());
    expect(server.mails.map(({ to }) => to).sort()).toEqual(users.toSorted());
  });
});
