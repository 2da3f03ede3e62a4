/** Attempts of a delivery: time, provider, outcome and duration. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
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

test('a message that is sent immediately has one attempt', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  const before = Date.now();
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const attempts = await attemptsOf(tenant, id);
  expect(attempts).toMatchObject([{ provider: 'standard-webhooks', outcome: 'sent', detail: null }]);
  expect(attempts[0]!.duration_ms).toBeGreaterThanOrEqual(0);
  expect(Date.parse(attempts[0]!.at)).toBeGreaterThanOrEqual(before - 1_000);
});

test("a message that fails twice before it is sent has three attempts, with the receiver's response", async () => {
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

test('each delivery of a fan-out has its own attempt', async () => {
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

test("answers 404 for another tenant's attempts", async () => {
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
