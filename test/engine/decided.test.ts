/** Triggers that the engine decides before they are stored. What it does not store in time, the API stores alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import {
  encodeOccurrence,
  type NewOccurrence,
  storeOccurrencesAcrossTenants,
} from '../../src/db/ledger/accept/accept.ts';
import { type DecidedTrigger, storeDecidedAcrossTenants } from '../../src/db/ledger/accept/decided.ts';
import type { NewDelivery } from '../../src/db/ledger/deliver/deliveries.ts';
import { TriggerStore } from '../../src/services/history/trigger-store.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

async function makeTriggers(tenant: Tenant, count: number): Promise<NewOccurrence[]> {
  const [ids] = await tenant.sql<{ event_id: number; project_id: number; application_id: number }>(
    `select e.id::int as event_id, a.project_id::int, a.id::int as application_id
     from events e join applications a on a.id = e.application_id where e.organization_id = $1`,
    tenant.id,
  );
  const rest = { organization_id: tenant.id, priority: 1, context: {}, options: {}, created_at: new Date() };
  return Array.from({ length: count }, () => ({ ...ids!, ...rest, id: uuidv7(Date.now()) }));
}

/** Counts notifications of new work while it triggers. The engine may be busy at first. */
async function untilDecided(world: EngineWorld, trigger: () => Promise<void>): Promise<void> {
  const listener = new pg.Client(world.service.runtime.url);
  await listener.connect();
  let announcements = 0;
  listener.on('notification', () => announcements++);
  await listener.query('listen belfry_work');
  await eventually(async () => {
    announcements = 0;
    await trigger();
    await listener.query('select 1');
    expect(announcements).toBe(0);
  }, 30_000);
  await listener.end();
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
    await untilDecided(world, async () => {
      const before = tenant.received().length;
      const id = await tenant.trigger({}, { map: { longest: 1, b: 2, ä: 3, a: 4, 10: 5, 9: 6 } });
      expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
      expect(tenant.received().slice(before)).toMatchObject([{ text: expect.stringContaining('9 10 a b ä longest') }]);
    });
  });

  test('its deliveries are on record when it is answered, and it counts as one trigger', async () => {
    const own = await world.tenant({ users: ['ann@x.test', 'ben@x.test'] });
    let triggered = 0;
    await untilDecided(world, async () => {
      const id = await own.trigger();
      triggered++;
      const rows = await own.sql('select from deliveries where occurrence_id = $1', id);
      expect(rows).toHaveLength(2);
      await own.outcomes(id);
    });
    const text = 'select sum(count)::int as count from trigger_stats where organization_id = $1';
    expect(await own.sql(text, own.id)).toEqual([{ count: triggered }]);
  });

  test('a trigger that notifies no one is completed at once, with the reason', async () => {
    const own = await world.tenant({ users: [], notifications: [{ recipients: { trigger: true } }] });
    await untilDecided(world, async () => {
      const id = await own.trigger();
      expect(await own.occurrence(id)).toMatchObject({ status: 'completed', reason: 'no_recipients' });
    });
  });

  test('recipients who opted out are on record and counted', async () => {
    const own = await world.tenant({ users: [{ email: 'ann@x.test', locked: true }, 'ben@x.test'] });
    let triggered = 0;
    await untilDecided(world, async () => {
      triggered++;
      const id = await own.trigger();
      expect(await own.outcomes(id)).toEqual(['ann@x.test suppressed: user.locked', 'ben@x.test sent']);
    });
    expect(await own.stats()).toMatchObject({ suppressed: triggered, sent: triggered });
  });

  test('a repeated trigger gets the same occurrence, and another body with its key is refused', async () => {
    const post = (context: object) =>
      tenant.ask({
        method: 'POST',
        path: `${tenant.event}trigger/`,
        body: { context },
        headers: { 'idempotency-key': 'twice' },
      });
    const [first, second] = [await post({ n: 1 }), await post({ n: 1 })];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.occurrence).toBe(first.body.occurrence);
    expect(await tenant.outcomes(first.body.occurrence)).toEqual(['ann@x.test sent']);
    expect(await post({ n: 2 })).toMatchObject({ status: 400, body: { code: 'idempotency.conflict' } });
  });

  test('a refused trigger creates no users', async () => {
    const own = await world.tenant({ users: [], notifications: [{ recipients: { trigger: true } }] });
    const post = (email: string) =>
      own.ask({
        method: 'POST',
        path: `${own.event}trigger/`,
        body: { options: { recipients: [email] } },
        headers: { 'idempotency-key': 'once' },
      });
    const { body } = await post('new@x.test');
    expect(await own.outcomes(body.occurrence)).toEqual(['new@x.test sent']);
    expect(await post('other@x.test')).toMatchObject({ status: 400 });
    const users = await own.sql('select email from users where organization_id = $1', own.id);
    expect(users).toEqual([{ email: 'new@x.test' }]);
  });

  test('a trigger with many recipients, or whose messages are collected, is left to the queue', async () => {
    const users = Array.from({ length: 150 }, (_, i) => `u${i}@x.test`);
    const many = await world.tenant({ users });
    expect(await many.outcomes(await many.trigger(), 20_000)).toHaveLength(users.length);
    const collected = await world.tenant({ users: ['ann@x.test'], notifications: [{ digest: { every: '1h' } }] });
    const id = await collected.trigger();
    expect(await collected.until(id, 'pending')).toMatchObject([{ reason: 'digest' }]);
  });

  test('a trigger does not overtake the announcement of a pause that was confirmed before it', {
    tags: ['sweep'],
  }, async () => {
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
});

describe('without an engine', () => {
  let world: EngineWorld;
  let tenant: Tenant;
  beforeAll(async () => {
    world = await openWorld({ BELFRY_ROLE: 'api' });
    tenant = await world.tenant({ users: ['ann@x.test'] });
  });
  afterAll(() => world.close());

  const decide = (trigger: NewOccurrence): DecidedTrigger<NewDelivery> => {
    const { organization_id, id, event_id, priority } = trigger;
    const delivery: NewDelivery = {
      ...{ notification_id: 1, version: 1, channel_id: 1, user_id: 1, address: 'a', priority, user_version: 1 },
      ...{ status: 'sending', due_at: null, reason: null, detail: null, digest_id: null },
    };
    const page = { organization_id, id, event_id, priority, cursor: null, reason: null, deliveries: [delivery] };
    return { trigger, page };
  };
  const storedOf = (ids: string[]) =>
    tenant.sql<{ status: string; deliveries: number; rows: number }>(
      `select status, deliveries, (select count(*)::int from deliveries d where d.occurrence_id = o.id) as rows
       from occurrences o where id = any($1::uuid[]) order by array_position($1::uuid[], id)`,
      ids,
    );

  test('what the engine has not stored is stored alone', async () => {
    const [known, other] = await makeTriggers(tenant, 2);
    const offered: string[] = [];
    const store = new TriggerStore(world.service.runtime.database, () => ({
      isReady: true,
      accept: async triggers => {
        offered.push(...triggers.map(({ id }) => id));
        await storeDecidedAcrossTenants(world.service.runtime.database.pool, 1, [decide(known!)]);
        return new Set([known!.id]);
      },
    }));
    const later = { ...(await makeTriggers(tenant, 1))[0]!, due_at: new Date(Date.now() + 3_600_000) };
    const all = [known!, other!, later];
    const answers = await Promise.all(all.map(one => store.add(encodeOccurrence(one, 100))));
    expect(answers).toEqual(all.map(({ id }) => ({ id })));
    expect(offered).toEqual([known!.id, other!.id]);
    expect(await storedOf(all.map(({ id }) => id))).toEqual([
      { status: 'sending', deliveries: 1, rows: 1 },
      { status: 'accepted', deliveries: 0, rows: 0 },
      { status: 'accepted', deliveries: 0, rows: 0 },
    ]);
  });

  test('an engine that is not ready is offered nothing', async () => {
    const accept = () => Promise.reject(new Error('it is not ready'));
    const store = new TriggerStore(world.service.runtime.database, () => ({ isReady: false, accept }));
    const [trigger] = await makeTriggers(tenant, 1);
    expect(await store.add(encodeOccurrence(trigger!, 100))).toEqual({ id: trigger!.id });
  });

  test('of two stores that race for the same triggers, exactly one takes effect for each', async () => {
    const { pool, writer } = world.service.runtime.database;
    const rounds = 20;
    for (let round = 0; round < rounds; round++) {
      const triggers = (await makeTriggers(tenant, 20)).map((one, i) => ({
        ...one,
        ...(i % 2 === 0 && { idempotency: { key: `race-${round}-${i}`, body_hash: '00'.repeat(32) } }),
      }));
      const items = triggers.map(one => encodeOccurrence(one, 100));
      const storeAlone = async () => {
        await sleep(Math.random() * 4);
        return storeOccurrencesAcrossTenants(writer, items);
      };
      const [decided, answers] = await Promise.all([
        storeDecidedAcrossTenants(pool, 1, triggers.map(decide)),
        storeAlone(),
      ]);
      expect(answers).toEqual(triggers.map(({ id }) => ({ id })));
      const rows = await storedOf(triggers.map(({ id }) => id));
      const isDecided = triggers.map(({ id }) => decided.accepted.has(id));
      expect(rows.map(one => one.status === 'sending')).toEqual(isDecided);
      expect(rows.map(one => [one.deliveries, one.rows])).toEqual(isDecided.map(is => (is ? [1, 1] : [0, 0])));
    }
    const text = `select count(*)::int as count from deliveries d where d.owner = 1 and not exists
      (select from occurrences o where o.id = d.occurrence_id and o.status = 'sending')`;
    expect(await tenant.sql(text)).toEqual([{ count: 0 }]);
  });

  test('nothing of an organization that moves to another cell is decided here', async () => {
    const [trigger] = await makeTriggers(tenant, 1);
    const moving = { ...trigger!, idempotency: { key: 'moving', body_hash: '00'.repeat(32) } };
    await tenant.sql(
      `insert into organization_moves (organization_id, id, slug, state) values ($1, $2, $3, 'draining')`,
      tenant.id,
      trigger!.id,
      tenant.slug,
    );
    const { accepted } = await storeDecidedAcrossTenants(world.service.runtime.database.pool, 1, [decide(moving)]);
    await tenant.sql('delete from organization_moves');
    expect(accepted.size).toBe(0);
    expect(await tenant.sql(`select from idempotency_keys where key = 'moving'`)).toEqual([]);
  });
});
