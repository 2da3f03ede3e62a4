/** Failures grouped by cause, and retries of a whole cause. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commonError } from '../../src/core/history/failures.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

async function causesOf(tenant: Tenant) {
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/failures/causes/` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

/** Adds failed deliveries like the given one, of the same occurrence. */
async function addFailures(tenant: Tenant, occurrence: string, count: number): Promise<void> {
  await tenant.sql(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address, status,
       reason, detail, priority, due_at)
     select organization_id, occurrence_id, notification_id, version, channel_id, user_id, 'copy-' || n, status, reason, detail,
       priority, due_at
     from (select * from deliveries where organization_id = $1 and occurrence_id = $2 limit 1) d, generate_series(1, $3) n`,
    tenant.id,
    occurrence,
    count,
  );
  await tenant.sql(
    `update occurrences set deliveries = deliveries + $3, failed = failed + $3 where organization_id = $1 and id = $2`,
    tenant.id,
    occurrence,
    count,
  );
}

test('errors that differ only in addresses, ids and long numbers are one cause', () => {
  expect(commonError('550 5.1.1 <ann@x.test>: mailbox full (id 4Xq7rT12)')).toBe(
    commonError('550 5.1.1 <ben@y.test>: mailbox full (id 9Zk2aP77)'),
  );
  expect(commonError('SMS to +15555550100 refused')).toBe(commonError('SMS to +15555550199 refused'));
  expect(commonError('550 5.1.1 unknown user')).not.toBe(commonError('552 5.2.2 mailbox full'));
  expect(commonError('HTTP 400')).not.toBe(commonError('HTTP 410'));
  expect(commonError(null)).toBe('');
});

test('failures are grouped by channel and error, with their number, since when, and the newest as an example', async () => {
  const tenant = await world.tenant({
    users: ['ann@x.test', 'bounce@x.test'],
    channels: [{ slug: 'hooks' }, sandbox],
    notifications: [{ channels: ['hooks', 'sandbox'] }],
  });
  expect(await causesOf(tenant)).toEqual({ causes: [], checked: 0, capped: false });
  tenant.answer({ status: 400 });
  const first = await tenant.trigger({ channels: ['hooks'] });
  await tenant.outcomes(first);
  const second = await tenant.trigger({ channels: ['hooks'], limit_to: ['ann@x.test'] });
  await tenant.outcomes(second);
  tenant.answer({ status: 410 });
  const third = await tenant.trigger({ channels: ['hooks'], limit_to: ['ann@x.test'] });
  await tenant.outcomes(third);
  const refused = await tenant.trigger({ channels: ['sandbox'], limit_to: ['bounce@x.test'] });
  await tenant.outcomes(refused);
  const { causes, ...rest } = await causesOf(tenant);
  expect(rest).toEqual({ checked: 5, capped: false });
  expect(causes.map((one: { deliveries: number }) => one.deliveries)).toEqual([3, 1, 1]);
  expect(causes[0]).toMatchObject({
    channel: 'hooks',
    project: null,
    example: { occurrence: second, user: 'ann@x.test', state: 'failed', detail: expect.stringContaining('400') },
  });
  const created_at = String((await tenant.occurrence(first)).created_at);
  expect(Date.parse(causes[0].since) - Date.parse(created_at)).toBeGreaterThanOrEqual(0);
  expect(Date.parse(causes[0].since)).toBeLessThan(Date.parse(causes[0].example.created_at));

  const listed = await tenant.ask({ path: `/api/o/${tenant.slug}/activity/?cause=${causes[0].cause}` });
  expect(listed.body.map((one: { occurrence: string }) => one.occurrence)).toEqual([second, first, first]);
  const ofOne = await tenant.ask({
    path: `/api/o/${tenant.slug}/activity/?cause=${causes[0].cause}&user=bounce@x.test`,
  });
  expect(ofOne.body).toHaveLength(1);
  const bad = await tenant.ask({ path: `/api/o/${tenant.slug}/activity/?cause=x` });
  expect(bad.body).toMatchObject({ status: 400, errors: { cause: expect.any(Array) } });
});

test('a retry of a cause queues its deliveries and leaves those of other causes', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant({ users: ['ann@x.test', 'ben@x.test'] });
  tenant.answer({ status: 400 });
  const first = await tenant.trigger();
  await tenant.outcomes(first);
  tenant.answer({ status: 410 });
  const second = await tenant.trigger({ limit_to: ['ann@x.test'] });
  await tenant.outcomes(second);
  const [{ cause }] = (await causesOf(tenant)).causes;
  const at = `/api/o/${tenant.slug}/failures/retry/`;
  await tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/u/ben@x.test/`, body: { locked: true } });
  expect((await tenant.post(`${at}preview/`, { cause })).body).toMatchObject({
    deliveries: 2,
    send: 1,
    skip: 1,
    reasons: [{ reason: 'user.locked', count: 1 }],
    remaining: 0,
  });
  tenant.answer({});
  expect((await tenant.post(at, { cause })).body).toEqual({ retried: 2, unchanged: 0, remaining: 0 });
  expect(await tenant.outcomes(first)).toEqual(['ann@x.test sent', 'ben@x.test suppressed: user.locked']);
  expect((await causesOf(tenant)).causes).toMatchObject([{ deliveries: 1, example: { occurrence: second } }]);
  expect((await tenant.post(at, { cause })).body).toEqual({ retried: 0, unchanged: 0, remaining: 0 });
});

test('one retry of a cause is bounded, reports what remains, and the newest failures alone are grouped', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  tenant.answer({ status: 400 });
  const occurrence = await tenant.trigger();
  await tenant.outcomes(occurrence);
  // Held, so that the retried ones stay in the queue.
  await tenant.ask({ method: 'POST', path: `/api/o/${tenant.slug}/c/hooks/pause/` });
  await addFailures(tenant, occurrence, 1_100);
  const { causes, ...rest } = await causesOf(tenant);
  expect(rest).toEqual({ checked: 1_000, capped: true });
  expect(causes).toMatchObject([{ deliveries: 1_000 }]);
  const at = `/api/o/${tenant.slug}/failures/retry/`;
  const { cause } = causes[0];
  expect((await tenant.post(`${at}preview/`, { cause })).body).toMatchObject({ deliveries: 500, remaining: 500 });
  expect((await tenant.post(at, { cause })).body).toEqual({ retried: 500, unchanged: 0, remaining: 500 });
  expect((await causesOf(tenant)).causes).toMatchObject([{ deliveries: 601 }]);
});
