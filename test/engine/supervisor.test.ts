/** The engine's thread is restarted when it ends, and the work that ends it is set aside. */
import { readdir, readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Supervisor, type SupervisorOptions, type ThreadReport } from '../../src/engine/supervisor.ts';
import type { MarkedWork } from '../../src/engine/work-marker.ts';
import { countCrash } from '../../src/services/operations/workers.ts';

import { silent, testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

const occurrence = '01890000-0000-7000-8000-000000000000';

describe('a thread', () => {
  let supervisor: Supervisor;
  const crashes: MarkedWork[] = [];
  const reports: ThreadReport['kind'][] = [];

  afterEach(async () => {
    await supervisor.stop(1_000);
    crashes.length = 0;
    reports.length = 0;
  });

  async function start(behavior: string, more: Partial<SupervisorOptions> = {}): Promise<void> {
    supervisor = new Supervisor({
      entry: new URL('../support/engine-crashing.ts', import.meta.url),
      stalledMs: 60_000,
      heapMb: 64,
      settings: {
        url: behavior,
        keys: { secretKey: '', previousSecretKeys: [], dataDir: '' },
        surroundings: {},
        outboundAllow: [],
        sharesProcessWithApi: true,
      },
      log: silent,
      onCrash: async marked => void crashes.push(marked),
      onReport: report => void reports.push(report.kind),
      ...more,
    });
    await supervisor.start();
  }

  const restarted = () => eventually(async () => expect(reports.length).toBeGreaterThanOrEqual(2), 20_000);

  test('that throws is restarted, and onCrash gets the work it was processing', async () => {
    await start(`throws ${occurrence} 42`);
    await restarted();
    expect(crashes[0]).toEqual({ organizationId: 7, occurrenceId: occurrence, deliveryId: 42 });
  });

  test('that exceeds its memory ends without the process', { tags: ['sweep'] }, async () => {
    await start(`fills ${occurrence}`);
    await restarted();
    expect(crashes[0]).toEqual({ organizationId: 7, occurrenceId: occurrence, deliveryId: undefined });
  });

  test('that blocks is terminated and restarted', { tags: ['sweep'] }, async () => {
    await start(`stalls ${occurrence}`, { stalledMs: 300 });
    await restarted();
    expect(crashes[0]).toMatchObject({ occurrenceId: occurrence });
  });

  test('is restarted only after onCrash succeeds', { tags: ['sweep'] }, async () => {
    let failures = 0;
    const onCrash = async () => {
      if (++failures === 1) throw new Error('the database is away');
    };
    await start(`throws ${occurrence}`, { onCrash });
    await restarted();
    expect(failures).toBeGreaterThanOrEqual(2);
  });

  test('that does not answer an offer in time gives all triggers back', async () => {
    await start('idle');
    expect(await supervisor.accept([])).toEqual(new Set());
  });

  test("that cannot start makes the service's start fail", async () => {
    const entry = new URL('../support/no-such-file.ts', import.meta.url);
    await expect(start('', { entry })).rejects.toThrow();
  });
});

describe.runIf(process.platform === 'linux')('the CPU priority of the engine', () => {
  const listThreads = () => readdir('/proc/self/task');

  /** Returns the distinct nice values of the main thread and of those that have started since. */
  const niceness = async (earlier: string[]) => {
    const isNew = (id: string) => id === String(process.pid) || !earlier.includes(id);
    const threads = (await listThreads()).filter(isNew);
    const stats = await Promise.all(threads.map(id => readFile(`/proc/self/task/${id}/stat`, 'utf8').catch(() => '')));
    const found = stats.filter(Boolean).map(stat => Number(stat.slice(stat.lastIndexOf(')')).split(' ')[17]));
    return [...new Set(found)].sort((a, b) => a - b);
  };

  test.each([
    ['is below that of the API in the same process', 'all', [0, 5]],
    ['is unchanged without the API', 'worker', [0]],
  ])('%s', async (_, role, expected) => {
    const earlier = await listThreads();
    const service = await testService({ BELFRY_ROLE: role });
    try {
      await eventually(async () =>
        expect((await niceness(earlier)).map(nice => nice - getPriority())).toEqual(expected),
      );
    } finally {
      await service.stop();
    }
  });
});

describe('work that crashed the engine', () => {
  let world: EngineWorld;
  beforeAll(async () => {
    // Only these tests expand or send anything.
    world = await openWorld({ BELFRY_ROLE: 'api' });
  });
  afterAll(() => world.close());

  const crash = (tenant: Tenant, id: string, deliveryId?: number) =>
    countCrash(world.service.runtime.deps, { organizationId: tenant.id, occurrenceId: id, deliveryId }, silent);

  const countFailed = async () => {
    const text = await (await fetch(`${world.service.address}/metrics`)).text();
    return Number(/^belfry_occurrences_total\{outcome="failed"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };

  test('is set aside after three crashes in the expansion, and a replay expands it again', {
    tags: ['sweep'],
  }, async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    const id = await tenant.trigger();
    await crash(tenant, id);
    await crash(tenant, id);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted', reason: null });
    const counted = await countFailed();
    await crash(tenant, id);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', reason: 'crashed', outcome: 'failed' });
    await eventually(async () => expect(await countFailed()).toBe(counted + 1));
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted', reason: null, completed_at: null });
    // The replay resets the crash count.
    await crash(tenant, id);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted' });
  });

  test('fails only the delivery after three crashes in sending it, and it can be retried', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test', 'ben@x.test'] });
    const id = await tenant.trigger();
    await tenant.sql(
      `with made as (
         insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address,
           status, priority, attempts, owner, due_at)
         select n.organization_id, $2, n.id, 1, c.id, u.id, u.username, 'sending', 1, 1, 99, now()
         from notifications n join channels c using (organization_id) join users u using (organization_id)
         where n.organization_id = $1)
       update occurrences set status = 'sending', deliveries = 2 where organization_id = $1 and id = $2`,
      tenant.id,
      id,
    );
    const [ann] = await tenant.deliveries(id);
    for (let i = 0; i < 3; i++) await crash(tenant, id, ann!.id);
    expect((await tenant.deliveries(id)).map(one => [one.status, one.reason])).toEqual([
      ['failed', 'crashed'],
      ['sending', null],
    ]);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'sending', counts: { failed: 1, pending: 1 } });
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect((await tenant.deliveries(id))[0]).toMatchObject({ status: 'pending', reason: null });
    await world.checkLedger();
  });
});
