/** Poison that a tenant has stored, and receivers that answer with it, from trigger to outcome: nobody else notices. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type EngineWorld, openWorld, type Tenant } from './support/sink.ts';

let world: EngineWorld;
let bystander: Tenant;

beforeAll(async () => {
  world = await openWorld();
  bystander = await world.tenant({ users: ['ann@x.test'] });
  // So that nothing is compiled or planned for the first time while it is timed.
  await bystander.outcomes(await bystander.trigger());
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

/** How long somebody else's message took at the most, one after the other, while the work goes on. */
async function slowestBystander(work: Promise<unknown>): Promise<number> {
  let slowest = 0;
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  do {
    const began = performance.now();
    expect(await bystander.outcomes(await bystander.trigger())).toEqual(['ann@x.test sent']);
    slowest = Math.max(slowest, performance.now() - began);
  } while (!isOver);
  await over;
  return slowest;
}

/** Far below what any of this took before: tens of seconds, or the process. */
const soonMs = 3_000;

test.each([
  ['asks for more memory than there is', "length(pad_left('a', `400000000`, 'b')) > `0`"],
  [
    'works for ever',
    'length(map(&map(&map(&@, @), @), [items, items, items, items])) > `0` && items[*].length(sort(@)) > `1`',
  ],
])('a stored filter that %s lets no message through, and holds up nobody', async (_what, filter) => {
  const poisoned = await world.tenant({ users: ['eve@x.test'], notifications: [{ name: 'poison', filter }] });
  const items = Array.from({ length: 2_000 }, (_, i) => [i, i + 1]);
  const ids = await Promise.all(Array.from({ length: 10 }, () => poisoned.trigger({}, { items })));
  const ended = Promise.all(ids.map(id => poisoned.outcomes(id, 20_000)));
  expect(await slowestBystander(ended)).toBeLessThan(soonMs);
  expect((await ended).flat()).toEqual([]);
});

test('a receiver that refuses with 64 KiB of `<` costs its own tenant alone', async () => {
  const users = Array.from({ length: 40 }, (_, i) => `p${i}@x.test`);
  const victim = await world.tenant({ users });
  victim.answer({ status: 400, body: '<'.repeat(65_536) });
  const id = await victim.trigger();
  const ended = victim.outcomes(id, 20_000);
  expect(await slowestBystander(ended)).toBeLessThan(soonMs);
  expect(await ended).toEqual(users.map(user => `${user} failed: provider.failed`).sort());
});

test('a body that takes for ever to read fails its own messages, which say so', async () => {
  const message = { subject: 'Hello', body: '{% for i in (1..60000) %}a{% endfor %}@' };
  const poisoned = await world.tenant({ users: ['eve@x.test'], notifications: [{ name: 'poison', message }] });
  const ended = poisoned.trigger().then(id => poisoned.outcomes(id, 20_000));
  expect(await slowestBystander(ended)).toBeLessThan(soonMs);
  expect(await ended).toEqual(['eve@x.test failed: template.failed']);
});
