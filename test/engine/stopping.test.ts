/**
 * A worker that is stopped while its provider is slow: what it has not begun to send is left to the next worker.
 *
 * @module-tag sweep
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, hooks, openWorld } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let world: EngineWorld;
let peer: SmtpPeer;

beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api' });
  peer = await openSmtpPeer({ starttls: false });
});
afterAll(async () => {
  await peer.close();
  await world.close();
});

const startWorker = () => startService(testConfig(world.service.runtime.url, { BELFRY_ROLE: 'worker' }), silent);

test('gives back unstarted mails at once, and every mail is sent once', async () => {
  const users = Array.from({ length: 40 }, (_, i) => `user${i}@x.test`);
  const smtp = {
    use: 'smtp',
    host: 'localhost',
    port: peer.port,
    from: 'ops@x.test',
    starttls: 'never',
    max_connections: 1,
  };
  const tenant = await world.tenant({
    users,
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [smtp] }],
    notifications: [{ channels: ['mail'] }],
  });
  const first = await startWorker();
  peer.delayMs = 500;
  const id = await tenant.trigger();
  await eventually(() => expect(peer.mails.length).toBeGreaterThanOrEqual(2), 20_000);
  await first.stop();
  // One mail is being sent and one is ready to follow on the only connection.
  const sending = peer.mails.length;
  expect(sending).toBeLessThan(10);
  peer.delayMs = 0;
  const second = await startWorker();
  expect(await tenant.outcomes(id, 30_000)).toEqual(users.map(email => `${email} sent`).sort());
  expect(peer.mails.flatMap(({ to }) => to).sort()).toEqual(users.toSorted());
  await second.stop();
  await world.checkLedger();
});

test('gives back messages that are waiting for the limit of the day', async () => {
  // More than a webhook channel has in flight: the others wait for their turn.
  const users = Array.from({ length: 40 }, (_, i) => `user${i}@x.test`);
  const tenant = await world.tenant({ users });
  await tenant.apply({ users, channels: [hooks(`${world.peer.url}/${tenant.slug}/hook`, {}, { per_day: 1_000 })] });
  const first = await startWorker();
  await tenant.outcomes(await tenant.trigger({ limit_to: [users[0]!] }));
  const locking = new pg.Client({ connectionString: world.service.runtime.url });
  await locking.connect();
  await locking.query('begin; lock table provider_days in access exclusive mode');
  const id = await tenant.trigger();
  const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%into provider_days%'`;
  await eventually(async () => expect(await tenant.sql(waiting)).toHaveLength(1), 20_000);
  const stopped = first.stop();
  await eventually(async () => {
    expect((await tenant.deliveries(id)).some(({ status }) => status === 'pending')).toBe(true);
  }, 20_000);
  await locking.query('rollback');
  await stopped;
  await locking.end();
  expect((await tenant.deliveries(id)).filter(({ status }) => status !== 'pending')).toEqual([]);
  expect(tenant.received()).toHaveLength(1);
  const second = await startWorker();
  expect(await tenant.outcomes(id, 30_000)).toEqual(users.map(email => `${email} sent`).sort());
  expect(tenant.received()).toHaveLength(41);
  await second.stop();
  await world.checkLedger();
});
