/**
 * A worker that is killed while it updates a message.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openHttpPeer } from '../support/http-peer.ts';
import { type Running, startBelfry } from '../support/process.ts';
import { type EngineWorld, openWorld } from '../support/sink.ts';
import { json } from '../support/wire.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api' });
});
afterAll(() => world.close());

async function startWorker(): Promise<Running> {
  const worker = await startBelfry(
    {
      DATABASE_URL: world.service.runtime.url,
      BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
      BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8',
    },
    ['--role', 'worker'],
  );
  onTestFinished(async () => void (await worker.end('SIGKILL')));
  return worker;
}

test('an update outlives a worker that is killed in the middle of it, and the time without any worker', async () => {
  const accepted = json(200, { ok: true, channel: 'D7', ts: '1.2' });
  const peer = await openHttpPeer(accepted);
  onTestFinished(() => peer.close());
  const updates = () =>
    peer.seen.filter(({ path }) => path === '/chat.update').map(({ body }) => JSON.parse(body).text);
  const tenant = await world.tenant({
    users: [{ email: 'ann@x.test', addresses: [{ name: 'slack', value: 'U7' }] }],
    channels: [
      {
        slug: 'slack',
        name: 'Slack',
        type: 'slack',
        providers: [{ use: 'slack', token: 'xoxb-hush-hush-hush', endpoint: peer.url }],
      },
    ],
    notifications: [{ channels: ['slack'], message: { body: 'Disk full' } }],
  });
  const first = await startWorker();
  const id = await tenant.trigger();
  await eventually(async () => expect((await tenant.deliveries(id))[0]).toMatchObject({ status: 'sent' }), 30_000);
  peer.reply = 'hang';
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/acknowledge/`);
  await eventually(() => expect(updates()).toHaveLength(1), 30_000);
  await first.end('SIGKILL');
  // While no worker runs.
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/resolve/`);
  peer.reply = accepted;
  // The claim of the dead worker ends after a minute.
  await tenant.sql('update message_updates set due_at = now() where claimed');
  await startWorker();
  await eventually(async () => {
    const rows = await tenant.sql('select change, status from message_updates');
    expect(rows).toEqual([{ change: 'resolved', status: 'done' }]);
  }, 30_000);
  expect(updates().at(-1)).toMatch(/^Disk full\n\nResolved by API key test, /);
});
