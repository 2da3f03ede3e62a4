/** Each attempt is on record: when, by whom, with which answer, and how long it took. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from './support/api.ts';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

interface Attempt {
  at: string;
  provider: string;
  outcome: string;
  detail: string | null;
  duration_ms: number;
}

async function attemptsOf(tenant: Tenant, id: string): Promise<Attempt[]> {
  const [delivery] = await tenant.deliveries(id);
  const path = `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery!.id}/attempts/`;
  const answer = await tenant.ask({ path });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

test('of a message that is sent at once there is one', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  const before = Date.now();
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const attempts = await attemptsOf(tenant, id);
  expect(attempts).toMatchObject([{ provider: 'standard-webhooks', outcome: 'sent', detail: null }]);
  expect(attempts[0]!.duration_ms).toBeGreaterThanOrEqual(0);
  expect(Date.parse(attempts[0]!.at)).toBeGreaterThanOrEqual(before - 1_000);
});

test('of one that fails twice before it is sent there are three, with what the receiver said', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  tenant.answer((_seen, nth) => (nth <= 2 ? { status: 503, body: `overloaded ${nth}` } : { status: 200 }));
  const id = await tenant.trigger();
  for (const attempts of [1, 2]) {
    await eventually(async () => expect(await tenant.deliveries(id)).toMatchObject([{ status: 'retrying', attempts }]));
    await tenant.hurry();
  }
  await tenant.outcomes(id);
  const attempts = await attemptsOf(tenant, id);
  expect(attempts.map(({ outcome, detail }) => [outcome, detail?.match(/overloaded \d/)?.[0]])).toEqual([
    ['failed', 'overloaded 1'],
    ['failed', 'overloaded 2'],
    ['sent', undefined],
  ]);
  expect(attempts.map(({ at }) => at)).toEqual(attempts.map(({ at }) => at).toSorted());
});

test('of many of a fan-out each has its own', async () => {
  const users = Array.from({ length: 60 }, (_, i) => `p${i}@x.test`);
  const tenant = await world.tenant({ users });
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const [row] = await tenant.sql<{ count: number }>(
    'select count(*)::int as count from deliveries where occurrence_id = $1 and attempt_ms is not null',
    id,
  );
  expect(row).toEqual({ count: users.length });
});

test('another tenant’s are not there', async () => {
  const [tenant, other] = [
    await world.tenant({ users: ['ann@x.test'] }),
    await world.tenant({ users: ['eve@x.test'] }),
  ];
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const [delivery] = await tenant.deliveries(id);
  const path = `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery!.id}/attempts/`;
  expect((await other.ask({ path })).status).toBe(404);
});
