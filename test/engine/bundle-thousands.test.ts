/**
 * Thousands of alerts in one bundle: acknowledging all of them is many short transactions, and other requests are answered meanwhile.
 *
 * @module-tag sweep
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { createAcknowledgeLinks } from '../../src/pipeline/message-links.ts';
import { silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { json } from '../support/wire.ts';

const baseUrl = 'https://alerts.acme.test';
const alerts = 3_000;

let world: EngineWorld;
let worker: Service;
beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api', BASE_URL: baseUrl });
  worker = await startService(
    testConfig(world.service.runtime.url, { BELFRY_ROLE: 'worker', BASE_URL: baseUrl }),
    silent,
  );
});
afterAll(async () => {
  await world.checkLedger();
  await worker.stop();
  await world.close();
});

async function bundleOf(count: number): Promise<Tenant> {
  const users = [{ email: 'ann@x.test', addresses: [{ name: 'slack', value: 'U7' }] }];
  const tenant = await world.tenant({ users });
  tenant.answer(json(200, { ok: true, channel: 'D7', ts: '1503435956.000247' }));
  const slack = { use: 'slack', token: 'xoxb-hush-hush-hush', endpoint: `${world.peer.url}/${tenant.slug}/slack` };
  await tenant.apply(
    {
      users,
      channels: [{ slug: 'slack', name: 'Slack', type: 'slack', providers: [slack] }],
      notifications: [
        {
          steps: [{ channels: ['slack'] }, { after: '1h', unless: 'acknowledged', channels: ['slack'] }],
          message: { subject: 'Down', body: '{{ acknowledge_url }}' },
        },
      ],
    },
    true,
  );
  await tenant.trigger({ dedup_key: 'first' });
  await eventually(async () => expect(posted(tenant)).toHaveLength(1), 20_000);
  await tenant.sql(`update digests set closes_at = now() + interval '1 hour' where organization_id = ${tenant.id}`);
  for (let done = 0; done < count; done += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => tenant.trigger({ dedup_key: `alert ${done + i}` })));
  }
  await eventually(async () => {
    const [row] = await tenant.sql<{ items: number }>(
      `select items::int as items from digests where organization_id = ${tenant.id} and items > 0`,
    );
    expect(row?.items).toBe(count);
  }, 120_000);
  await tenant.sql(`update digests set closes_at = now() where organization_id = ${tenant.id} and items > 0`);
  await tenant.sql(
    `update deliveries set due_at = now() where organization_id = ${tenant.id} and status = 'pending'
       and digest_id is not null and due_at <> '9999-12-31Z'`,
  );
  await tenant.sql('notify belfry_work');
  await eventually(async () => expect(posted(tenant)).toHaveLength(2), 30_000);
  return tenant;
}

const calls = (tenant: Tenant, method: string) =>
  world.peer.seen.filter(one => one.path === `/${tenant.slug}/slack/${method}`);
const posted = (tenant: Tenant) => calls(tenant, 'chat.postMessage');

test('acknowledging thousands of alerts at once takes short transactions, and changes the message once', async () => {
  const tenant = await bundleOf(alerts);
  const [row] = await tenant.sql<{ id: string; user_id: number; link_generation: number }>(
    `select d.digest_id as id, u.id::int as user_id, u.link_generation from deliveries d
     join users u on u.organization_id = d.organization_id and u.id = d.user_id
     where d.organization_id = ${tenant.id} and d.digest_id is not null limit 1`,
  );
  const recipient = { organization_id: tenant.id, user_id: row!.user_id, link_generation: row!.link_generation };
  const { signer } = world.service.runtime.deps;
  const link = createAcknowledgeLinks(signer, baseUrl)(recipient, row!.id, 'address').slice(baseUrl.length);
  const delay = monitorEventLoopDelay({ resolution: 10 });
  let maxTransactionMs = 0;
  let maxRequestMs = 0;
  let isDone = false;
  const watch = (async () => {
    while (!isDone) {
      const [found] = await tenant.sql<{ ms: number }>(
        `select coalesce(max(extract(epoch from clock_timestamp() - xact_start)) * 1000, 0)::float8 as ms from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and application_name like 'belfry%'`,
      );
      maxTransactionMs = Math.max(maxTransactionMs, found!.ms);
      const begun = performance.now();
      await tenant.ask({ path: tenant.event });
      maxRequestMs = Math.max(maxRequestMs, performance.now() - begun);
    }
  })();
  delay.enable();
  const press = async () => {
    const begun = performance.now();
    const { text } = await tenant.ask({ method: 'POST', path: link });
    return { text, tookMs: performance.now() - begun };
  };
  const pressed = [await press(), await press()];
  const countOpen = async () => {
    const [open] = await tenant.sql<{ count: number }>(
      `select count(*)::int as count from occurrences where organization_id = ${tenant.id} and acknowledged_at is null`,
    );
    return open!.count;
  };
  const left = await countOpen();
  // The first alert was sent alone.
  await eventually(async () => expect(await countOpen()).toBe(1), 200_000);
  delay.disable();
  isDone = true;
  await watch;
  for (const { text, tookMs } of pressed) {
    expect(text).toMatch(new RegExp(`\\d+ of ${alerts} alerts are acknowledged so far`));
    expect(tookMs).toBeLessThan(8_000);
  }
  expect(left).toBeGreaterThan(1);
  expect((await press()).text).toContain(`0 of ${alerts} alerts were open`);
  expect(delay.max / 1e6).toBeLessThan(8_000);
  expect(maxTransactionMs).toBeLessThan(8_000);
  expect(maxRequestMs).toBeLessThan(8_000);
  await eventually(async () => expect(calls(tenant, 'chat.update')).toHaveLength(1), 60_000);
  await eventually(
    async () =>
      expect(
        await tenant.sql(
          `select 1 as one from message_updates where organization_id = ${tenant.id} and status = 'waiting'`,
        ),
      ).toEqual([]),
    120_000,
  );
  expect(calls(tenant, 'chat.update')).toHaveLength(1);
}, 300_000);
