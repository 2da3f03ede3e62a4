/** The engine's thread is started again when it ends, and what ends it is set aside. */
import { readdir, readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Supervisor, type SupervisorOptions, type ThreadReport } from '../src/engine/supervisor.ts';
import type { Marked } from '../src/engine/work-marker.ts';
import { countCrash } from '../src/services/workers.ts';
import { eventually } from './support/api.ts';
import { silent, testService } from './support/database.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

const occurrence = '01890000-0000-7000-8000-000000000000';

describe('a thread', () => {
  let supervisor: Supervisor;
  const crashes: Marked[] = [];
  const reports: ThreadReport['kind'][] = [];

  afterEach(async () => {
    await supervisor.stop(1_000);
    crashes.length = 0;
    reports.length = 0;
  });

  async function start(does: string, more: Partial<SupervisorOptions> = {}): Promise<void> {
    supervisor = new Supervisor({
      entry: new URL('./support/engine-crashing.ts', import.meta.url),
      stalledMs: 60_000,
      heapMb: 64,
      settings: {
        url: does,
        keys: { secretKey: '', previousSecretKeys: [], dataDir: '' },
        surroundings: {},
        outboundAllow: [],
        isBesideApi: true,
      },
      log: silent,
      onCrash: async marked => void crashes.push(marked),
      onReport: report => void reports.push(report.kind),
      ...more,
    });
    await supervisor.start();
  }

  const twice = () => eventually(async () => expect(reports.length).toBeGreaterThanOrEqual(2), 20_000);

  test('that throws is started again, and it is told what it was working on', async () => {
    await start(`throws ${occurrence} 42`);
    await twice();
    expect(crashes[0]).toEqual({ organizationId: 7, occurrenceId: occurrence, deliveryId: 42 });
  });

  test('that fills its memory ends alone', async () => {
    await start(`fills ${occurrence}`);
    await twice();
    expect(crashes[0]).toEqual({ organizationId: 7, occurrenceId: occurrence, deliveryId: undefined });
  });

  test('that stands still is ended and started again', async () => {
    await start(`stalls ${occurrence}`, { stalledMs: 300 });
    await twice();
    expect(crashes[0]).toMatchObject({ occurrenceId: occurrence });
  });

  test('is tried again until what is to be noted about its end can be noted', async () => {
    let failures = 0;
    const onCrash = async () => {
      if (++failures === 1) throw new Error('the database is away');
    };
    await start(`throws ${occurrence}`, { onCrash });
    await twice();
    expect(failures).toBeGreaterThanOrEqual(2);
  });

  test('that cannot start at all fails the start of the service', async () => {
    const entry = new URL('./support/no-such-file.ts', import.meta.url);
    await expect(start('', { entry })).rejects.toThrow();
  });
});

describe.runIf(process.platform === 'linux')('the priority of the engine', () => {
  /** How much the threads of this process give way to others, each value once. */
  const niceness = async () => {
    const threads = await readdir('/proc/self/task');
    const stats = await Promise.all(threads.map(id => readFile(`/proc/self/task/${id}/stat`, 'utf8').catch(() => '')));
    const found = stats.filter(Boolean).map(stat => Number(stat.slice(stat.lastIndexOf(')')).split(' ')[17]));
    return [...new Set(found)].sort((a, b) => a - b);
  };

  test.each([
    ['is below that of the API in the same process', 'all', [0, 5]],
    ['is the usual one where it is alone', 'worker', [0]],
  ])('%s', async (_, role, expected) => {
    const service = await testService({ BELFRY_ROLE: role });
    try {
      // Threads of what ran before may be about to end.
      await eventually(async () => expect((await niceness()).map(nice => nice - getPriority())).toEqual(expected));
    } finally {
      await service.stop();
    }
  });
});

describe('what ended the engine', () => {
  let world: EngineWorld;
  beforeAll(async () => {
    // Nobody expands or sends anything but for these tests.
    world = await openWorld({ BELFRY_ROLE: 'api' });
  });
  afterAll(() => world.close());

  const crash = (tenant: Tenant, id: string, deliveryId?: number) =>
    countCrash(world.service.runtime.deps, { organizationId: tenant.id, occurrenceId: id, deliveryId }, silent);

  const countFailed = async () => {
    const text = await (await fetch(`${world.service.address}/metrics`)).text();
    return Number(/^belfry_occurrences_total\{outcome="failed"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };

  test('three times by expanding is set aside as crashed, and a replay expands it again', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    const id = await tenant.trigger();
    await crash(tenant, id);
    await crash(tenant, id);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted', reason: null });
    const counted = await countFailed();
    await crash(tenant, id);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', reason: 'crashed', outcome: 'failed' });
    expect(await countFailed()).toBe(counted + 1);
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted', reason: null, completed_at: null });
    // From the beginning.
    await crash(tenant, id);
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted' });
  });

  test('three times by sending one message fails that message alone, and it can be retried', async () => {
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
