/** What is stopped while messages wait for a slow provider: only those that it is accepting at that moment still arrive. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let world: EngineWorld;
let peer: SmtpPeer;
let tenants = 0;

beforeAll(async () => {
  world = await openWorld();
  peer = await openSmtpPeer({ starttls: false });
});
afterAll(async () => {
  await peer.close();
  await world.close();
});

const users = Array.from({ length: 12 }, (_, i) => `user${i}@x.test`);
/** On one connection, one mail is being sent and one is ready to follow. */
const maxInCall = 2;
/** How long the server takes for a mail after the stop: more than the worker needs to hear of a stop. */
const slowMs = 500;

async function mailTenant(): Promise<{ tenant: Tenant; mails: () => number }> {
  const from = `ops${++tenants}@x.test`;
  const server = { host: 'localhost', port: peer.port, starttls: 'never', max_connections: 1 };
  const tenant = await world.tenant({
    users,
    channels: [
      { slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'smtp', from, ...server }] },
      { slug: 'app', name: 'App', type: 'inbox', providers: [{ use: 'inbox' }] },
    ],
    notifications: [{ channels: ['mail'] }],
  });
  return { tenant, mails: () => peer.mails.filter(mail => mail.from === from).length };
}

/** Stops after the first mails have arrived. Returns how many arrived before and after the stop was confirmed. */
async function stopMidway(
  { tenant, mails }: Awaited<ReturnType<typeof mailTenant>>,
  stop: () => Promise<{ status: number; text: string }>,
) {
  peer.delayMs = 40;
  const id = await tenant.trigger();
  await eventually(() => expect(mails()).toBeGreaterThanOrEqual(2), 20_000);
  peer.delayMs = 60_000;
  const answer = await stop();
  expect(answer.status, answer.text).toBeLessThan(300);
  const before = mails();
  peer.delayMs = slowMs;
  const deliveries = await eventually(async () => {
    const found = await tenant.deliveries(id);
    expect(found.filter(({ status }) => status === 'sending')).toEqual([]);
    return found;
  }, 20_000);
  const rest = deliveries.filter(({ status }) => status !== 'sent').map(one => `${one.status}: ${one.reason}`);
  expect(deliveries.length - rest.length).toBe(mails());
  return { answer, before, after: mails() - before, rest: [...new Set(rest)] };
}

describe('while mails wait for a slow server', () => {
  const forAll = (ask: (email: string) => Promise<{ status: number; text: string }>) => async () => {
    const answers = [];
    for (const email of users) answers.push(await ask(email));
    return answers.toSorted((a, b) => b.status - a.status)[0]!;
  };
  const patch = (tenant: Tenant, path: string, body: unknown) =>
    tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}${path}`, body });
  const post = (tenant: Tenant, path: string) => tenant.ask({ method: 'POST', path, body: {} });

  const onlyNotification = async (tenant: Tenant, request: { method: string; body?: unknown }) => {
    const { body } = await tenant.ask({ path: `${tenant.event}n/` });
    return tenant.ask({ ...request, path: `${tenant.event}n/${body[0].id}/` });
  };

  const stops: [what: string, rest: string, (tenant: Tenant) => () => Promise<{ status: number; text: string }>][] = [
    ['a paused channel', 'pending: channel.paused', t => () => post(t, `/api/o/${t.slug}/c/mail/pause/`)],
    ['a disabled channel', 'suppressed: channel.disabled', t => () => patch(t, '/c/mail/', { enabled: false })],
    [
      'a notification that is switched off',
      'suppressed: notification.inactive',
      t => () => onlyNotification(t, { method: 'PATCH', body: { active: false } }),
    ],
    ['a deleted notification', 'cancelled: notification.missing', t => () => onlyNotification(t, { method: 'DELETE' })],
    [
      'a channel that the notification no longer uses',
      'suppressed: notification.channel',
      t => () => onlyNotification(t, { method: 'PATCH', body: { channels: ['app'] } }),
    ],
    [
      'an event that is switched off',
      'suppressed: event.inactive',
      t => () => t.ask({ method: 'PATCH', path: t.event, body: { active: false } }),
    ],
    ['a paused event', 'pending: event.paused', t => () => post(t, `${t.event}pause/`)],
    [
      'a deleted user',
      'suppressed: user.missing',
      t => forAll(email => t.ask({ method: 'DELETE', path: `/api/o/${t.slug}/u/${email}/` })),
    ],
    ['a locked user', 'suppressed: user.locked', t => forAll(email => patch(t, `/u/${email}/`, { locked: true }))],
    [
      'a suppressed domain',
      'suppressed: address.suppressed',
      t => () => {
        const body = { channel_type: 'email', target: '@x.test' };
        return t.ask({ method: 'POST', path: `/api/o/${t.slug}/suppressions/`, body });
      },
    ],
    [
      'a user who opted out',
      'suppressed: preference.off',
      t => forAll(email => patch(t, `/u/${email}/preferences/`, { preferences: [{ enabled: false }] })),
    ],
  ];

  // Each takes over a second: `npm test` has one of them.
  const quick = new Set(['a paused channel']);
  for (const [what, expected, stopOf] of stops) {
    test(`${what} stops the rest`, { tags: quick.has(what) ? [] : ['sweep'] }, async () => {
      const sending = await mailTenant();
      const { after, rest } = await stopMidway(sending, stopOf(sending.tenant));
      expect(rest).toEqual([expected]);
      expect(after).toBeLessThanOrEqual(maxInCall);
    });
  }

  test('a cancelled occurrence says how many may still arrive', async () => {
    const started = await mailTenant();
    const { tenant } = started;
    let id = '';
    const { answer, before, after, rest } = await stopMidway(started, async () => {
      [{ id }] = (await tenant.sql<{ id: string }>(
        'select id from occurrences where organization_id = $1',
        tenant.id,
      )) as [{ id: string }];
      return tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    });
    expect(rest).toEqual(['cancelled: cancelled']);
    const { cancelled, sending } = JSON.parse(answer.text) as { cancelled: number; sending: number };
    expect(after).toBeLessThanOrEqual(sending);
    // Without the wait for the worker, it would be all that had not arrived.
    expect(sending).toBeLessThan(users.length / 2);
    const { status, counts } = await tenant.occurrence(id);
    expect([status, counts.sent, counts.sent + counts.cancelled]).toEqual(['completed', before + after, users.length]);
    expect(counts.cancelled).toBeGreaterThanOrEqual(cancelled);
    expect(counts.cancelled).toBeLessThanOrEqual(cancelled + sending);
  });

  test('a cancelled fan-out is not completed before their outcomes are known', { tags: ['sweep'] }, async () => {
    const started = await mailTenant();
    const { tenant } = started;
    peer.delayMs = 60_000;
    const id = await tenant.trigger();
    await tenant.until(id, 'sending');
    await tenant.sql(
      "update occurrences set status = 'expanding', due_at = 'infinity' where organization_id = $1",
      tenant.id,
    );
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'sending', reason: 'cancelled' });
    peer.delayMs = 0;
    await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed' }), 20_000);
  });
});
