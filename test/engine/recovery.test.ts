/**
 * Recovery of unfinished work: of a dead worker, of a claim whose response was lost, and of an interrupted fan-out.
 *
 * @module-tag sweep
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await openWorld();
  // The settlements of some tenants fail five times. A sequence counts, as it is not rolled back.
  await world.service.runtime.deps.pool.query(`
    create sequence refusals;
    create table refused_settlements (organization_id bigint primary key, state text not null);
    create function refuse_settlement() returns trigger language plpgsql as $$
    declare
      refused text := (select state from refused_settlements where organization_id = new.organization_id);
    begin
      if refused is not null and nextval('refusals') <= 5 then raise exception using errcode = refused; end if;
      return new;
    end $$;
    create trigger refuse_settlement before update on deliveries for each row
      when (old.status = 'sending') execute function refuse_settlement()`);
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const two = ['ann@x.test', 'ben@x.test'];
const sent = two.map(email => `${email} sent`);
const deadWorker = 2_000_000;

/** Returns the current id of this service's worker. */
async function currentWorker(tenant: Tenant): Promise<number> {
  const rows = await tenant.sql<{ owner: number }>(
    `select objid::bigint::int as owner from pg_locks join pg_database d on d.oid = database
     where locktype = 'advisory' and classid = ${0x62656c66} and d.datname = current_database()`,
  );
  expect(rows).toHaveLength(1);
  return rows[0]!.owner;
}

/** Creates an occurrence and the deliveries of another that the worker has claimed, without any further progress. */
async function createClaimed(tenant: Tenant, owner: number): Promise<string[]> {
  const expanding = await tenant.trigger({ delay: '1h' });
  await tenant.sql(
    `update occurrences set status = 'expanding', owner = $2, due_at = now() where organization_id = $1 and id = $3`,
    tenant.id,
    owner,
    expanding,
  );
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`);
  const sending = await eventually(async () => {
    const id = await tenant.trigger();
    const deliveries = await eventually(async () => {
      const found = await tenant.deliveries(id);
      expect(found).toHaveLength(2);
      for (const one of found) expect(['channel.paused', null]).toContain(one.reason);
      expect(found.every(one => one.status !== 'sending')).toBe(true);
      return found;
    });
    expect(deliveries.map(one => one.reason)).toEqual(['channel.paused', 'channel.paused']);
    return id;
  });
  await tenant.sql(
    `with unpaused as (update channels set paused_at = null where organization_id = $1)
     update deliveries set status = 'sending', reason = null, owner = $2, attempts = 1, provider_attempts = 1,
       due_at = now() where organization_id = $1 and occurrence_id = $3`,
    tenant.id,
    owner,
    sending,
  );
  return [expanding, sending];
}

test.concurrent('the work of a dead worker is recovered within seconds', async () => {
  const tenant = await world.tenant({ users: two });
  const ids = await createClaimed(tenant, deadWorker);
  for (const id of ids) expect(await tenant.outcomes(id, 20_000)).toEqual(sent);
  expect(tenant.received().filter(one => two.includes(one.to)).length).toBeGreaterThanOrEqual(4);
  expect((await tenant.deliveries(ids[1]!)).map(one => one.attempts)).toEqual([2, 2]);
});

test.concurrent('a message that ended one worker after another becomes unknown', async () => {
  const tenant = await world.tenant({ users: two });
  const [, sending] = await createClaimed(tenant, deadWorker + 1);
  await tenant.sql(
    `update deliveries set attempts = 60, provider_attempts = 60, worker_deaths = case when address = 'ann@x.test' then 7 end
     where organization_id = $1 and occurrence_id = $2`,
    tenant.id,
    sending!,
  );
  // Attempts that only failed do not count.
  expect(await tenant.outcomes(sending!, 20_000)).toEqual(['ann@x.test unknown', 'ben@x.test sent']);
});

test.concurrent('a message of a dead worker that is refused afterwards ends as unknown, not as failed', async () => {
  const tenant = await world.tenant({ users: two });
  tenant.answer({ status: 422 });
  const [, sending] = await createClaimed(tenant, deadWorker + 2);
  expect(await tenant.outcomes(sending!, 20_000)).toEqual(two.map(email => `${email} unknown: unknown.earlier`));
});

test.concurrent('a claim whose response was lost is recovered by the worker itself', async () => {
  const tenant = await world.tenant({ users: two });
  const ids = await createClaimed(tenant, await currentWorker(tenant));
  for (const id of ids) expect(await tenant.outcomes(id, 9_000)).toEqual(sent);
  // Nothing had been sent, so this is still the first attempt.
  expect((await tenant.deliveries(ids[1]!)).map(one => one.attempts)).toEqual([1, 1]);
});

test.each([
  ['cancelled, for example by a statement_timeout', '57014'],
  ['refused a lock', '55P03'],
  ['refused because the database is read-only', '25006'],
])('a settlement that is %s is stored later, and no message is sent twice', async (_, state) => {
  const tenant = await world.tenant({ users: two });
  await tenant.sql('alter sequence refusals restart');
  await tenant.sql('insert into refused_settlements values ($1, $2)', tenant.id, state);
  const id = await tenant.trigger();
  expect(await tenant.outcomes(id, 30_000)).toEqual(sent);
  expect(
    tenant
      .received()
      .map(one => one.to)
      .sort(),
  ).toEqual(two);
});

test.concurrent('an occurrence that cannot be expanded affects no other, and is expanded once it can be', async () => {
  const broken = await world.tenant({ users: two });
  const other = await world.tenant({ users: two });
  await broken.sql(`update notifications set steps = '[null]' where organization_id = $1`, broken.id);
  const stuck = await broken.trigger();
  const ids = await Promise.all(Array.from({ length: 5 }, () => other.trigger()));
  for (const id of ids) expect(await other.outcomes(id)).toEqual(sent);
  // If others of its batch are expanded page by page, so is this one.
  const postponed = `select from occurrences where id = $1 and status in ('accepted', 'expanding') and due_at > now()`;
  await eventually(async () => expect(await broken.sql(postponed, stuck)).toHaveLength(1), 8_000);
  await broken.sql('update notifications set steps = null where organization_id = $1', broken.id);
  await broken.sql('update occurrences set due_at = now() where organization_id = $1', broken.id);
  expect(await broken.outcomes(stuck)).toEqual(sent);
});

test.concurrent('a replay during a fan-out ends neither the fan-out nor its counts', async () => {
  const tenant = await world.tenant({ users: two });
  const id = await tenant.trigger({ delay: '1h' });
  await tenant.sql(
    `with failed as (
       insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address,
         status, priority, attempts, due_at)
       select n.organization_id, $2, n.id, 1, c.id, u.id, u.username, 'failed', 1, 1, now()
       from notifications n join channels c using (organization_id) join users u using (organization_id)
       where n.organization_id = $1 and u.username = 'ann@x.test')
     update occurrences set deliveries = 1, failed = 1 where organization_id = $1 and id = $2`,
    tenant.id,
    id,
  );
  const answer = await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
  expect(answer.status, answer.text).toBe(200);
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'accepted', counts: { sent: 1, failed: 0 } });
  });
  await tenant.sql('update occurrences set due_at = now() where organization_id = $1', tenant.id);
  expect(await tenant.outcomes(id)).toEqual(sent);
});
