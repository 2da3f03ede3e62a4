/** Occurrences that the API hands to the engine in the same process, in memory. The queue is the fallback. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { encodeOccurrence, storeAndHandOverAcrossTenants } from '../../src/db/ledger/accept/accept.ts';
import {
  type ClaimedOccurrence,
  type ExpansionPage,
  storeHandedPagesAcrossTenants,
} from '../../src/db/ledger/expand/expand.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

/** Stores occurrences of the tenant, and returns what is handed over. */
async function store(world: EngineWorld, tenant: Tenant, count: number, isReady = true): Promise<ClaimedOccurrence[]> {
  const [ids] = await tenant.sql<{ event_id: number; project_id: number; application_id: number }>(
    `select e.id::int as event_id, a.project_id::int, a.id::int as application_id
     from events e join applications a on a.id = e.application_id where e.organization_id = $1`,
    tenant.id,
  );
  const rest = { organization_id: tenant.id, priority: 1, context: {}, options: {}, created_at: new Date() };
  const items = Array.from({ length: count }, () =>
    encodeOccurrence({ ...ids!, ...rest, id: uuidv7(Date.now()) }, 100),
  );
  let handed: ClaimedOccurrence[] = [];
  const receiver = { isReady, handOver: (occurrences: ClaimedOccurrence[]) => (handed = occurrences) };
  await storeAndHandOverAcrossTenants(world.service.runtime.database.pool, items, receiver);
  return handed;
}

describe('with an engine', () => {
  let world: EngineWorld;
  let tenant: Tenant;
  beforeAll(async () => {
    world = await openWorld();
    tenant = await world.tenant({
      users: ['ann@x.test'],
      notifications: [{ message: { body: '{% for pair in map %}{{ pair[0] }} {% endfor %}' } }],
    });
  });
  afterEach(() => world.checkLedger());
  afterAll(() => world.close());

  test('a trigger is sent without being announced, with the keys of objects in the order of the ledger', async () => {
    const listener = new pg.Client(world.service.runtime.url);
    await listener.connect();
    let announcements = 0;
    listener.on('notification', () => announcements++);
    await listener.query('listen belfry_work');
    // The engine may be busy at first.
    await eventually(async () => {
      announcements = 0;
      const before = tenant.received().length;
      const id = await tenant.trigger({}, { map: { longest: 1, b: 2, ä: 3, a: 4, 10: 5, 9: 6 } });
      expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
      expect(tenant.received().slice(before)).toMatchObject([{ text: expect.stringContaining('9 10 a b ä longest') }]);
      await listener.query('select 1');
      expect(announcements).toBe(0);
    });
    await listener.end();
  });

  test('a trigger does not overtake the announcement of a pause that was confirmed before it', async () => {
    const [listening] = await tenant.sql<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and application_name = 'belfry worker listener'`,
    );
    const before = tenant.received().length;
    process.kill(listening!.pid, 'SIGSTOP');
    try {
      await tenant.post(`${tenant.event}pause/`);
      const id = await tenant.trigger();
      // More than enough time to send it.
      for (let i = 0; i < 50; i++) await tenant.occurrence(id);
      process.kill(listening!.pid, 'SIGCONT');
      await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ reason: 'event.paused' }));
      expect(tenant.received()).toHaveLength(before);
    } finally {
      process.kill(listening!.pid, 'SIGCONT');
      await tenant.post(`${tenant.event}resume/`);
    }
  });

  test('an occurrence that is lost on the way is found in the queue', async () => {
    const [lost] = await store(world, tenant, 1);
    expect(await tenant.outcomes(lost!.id)).toEqual(['ann@x.test sent']);
  });

  test('an engine that is not ready is not handed anything', async () => {
    expect(await store(world, tenant, 1, false)).toEqual([]);
  });
});

test('what was cancelled, acknowledged or expanded after it was handed over is left to the queue', async () => {
  const world = await openWorld({ BELFRY_ROLE: 'api' });
  const { pool } = world.service.runtime.database;
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  const handed = await store(world, tenant, 4);
  const [cancelled, acknowledged, expanded, waiting] = handed;
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${cancelled!.id}/cancel/`);
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${acknowledged!.id}/acknowledge/`);
  const pages = handed.map(
    ({ organization_id, id, event_id, priority }): ExpansionPage => ({
      ...{ organization_id, id, event_id, priority, cursor: null, reason: null },
      deliveries: [
        {
          ...{ notification_id: 1, version: 1, channel_id: 1, user_id: 1, address: 'a', priority, user_version: 1 },
          ...{ status: 'sending', due_at: null, reason: null, detail: null, digest_id: null },
        },
      ],
    }),
  );
  await storeHandedPagesAcrossTenants(pool, 1, [pages[2]!]);
  const { stored, advanced } = await storeHandedPagesAcrossTenants(pool, 1, pages);
  expect(advanced).toEqual(new Set([waiting!.id]));
  expect(stored.map(({ delivery }) => delivery.occurrence_id)).toEqual([waiting!.id]);
  const rows = await tenant.sql<{ id: string }>('select occurrence_id as id from deliveries d order by d.id');
  expect(rows.map(({ id }) => id)).toEqual([expanded!.id, waiting!.id]);
  await world.close();
});
