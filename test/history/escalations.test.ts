/** The board of open escalations. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countdown } from '../../console/src/components/countdown.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

test('open escalations are listed with their step, the next one and the users that were notified', async () => {
  const steps = [{ channels: ['hooks'] }, { after: '10m', unless: 'acknowledged', channels: ['hooks'] }];
  const tenant = await world.tenant({
    users: ['a@x.test', 'b@x.test', { email: 'c@x.test', locked: true }],
    notifications: [{ steps }],
  });
  const board = async () => (await tenant.ask({ path: `/api/o/${tenant.slug}/escalations/` })).body;
  expect(await board()).toEqual({ escalations: [], capped: false });
  const id = await tenant.trigger();
  await tenant.until(id, 'sent', 'suppressed');
  const escalation = {
    occurrence: { identifier: id, event: 'shop/web/go', state: 'escalating' },
    steps: [{ notification: 'n1', step: 1, is_running: false, next_step: 2, next_at: expect.any(String) }],
    notified: ['a@x.test', 'b@x.test'],
    notified_more: false,
  };
  await eventually(async () => expect(await board()).toMatchObject({ escalations: [escalation], capped: false }));

  await tenant.sql(`update steps set due_at = now() where occurrence_id = $1 and status = 'waiting'`, id);
  await tenant.sql('notify belfry_work');
  await tenant.outcomes(id);
  expect(await board()).toMatchObject({
    escalations: [{ occurrence: { state: 'unacknowledged' }, steps: [{ step: 2, next_step: null, next_at: null }] }],
  });
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/acknowledge/`);
  expect(await board()).toEqual({ escalations: [], capped: false });
});

test.each([
  [599_001, '10:00'],
  [61_000, '01:01'],
  [1, '00:01'],
  [3_600_000, '1:00:00'],
  [0, undefined],
])('%i ms are left as %s', (ms, text) => {
  expect(countdown(ms)).toBe(text);
});
