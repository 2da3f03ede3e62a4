/** Quiet hours from the trigger to the morning: what waits, what does not, and what happens meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

/** Times relative to now in UTC: quiet hours `now` began an hour ago, and `notNow` begin in two hours. */
const clock = (plusMinutes: number) => new Date(Date.now() + plusMinutes * 60_000).toISOString().slice(11, 16);
const activeHours = () => ({ from: clock(-60), to: clock(90) });
const inactiveHours = () => ({ from: clock(120), to: clock(180) });

const input = (more: TenantInput = {}): TenantInput => ({
  users: ['a@x.test'],
  organization: {
    timezone: 'UTC',
    quiet_hours: activeHours(),
    categories: [{ slug: 'alarm', name: 'Alarm', kind: 'required', quiet_hours: 'ignore' }],
  },
  ...more,
});
const preferences = (tenant: Tenant, body: unknown) =>
  tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/u/a@x.test/preferences/`, body });

/** Makes everything due that waits for the morning. */
async function endQuietHours(tenant: Tenant): Promise<void> {
  await tenant.sql(`update deliveries set due_at = now() where status = 'pending' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
}

test('a message decided in quiet hours waits until they end, with the reason, and is then sent', async () => {
  const tenant = await world.tenant(input());
  const occurrence = await tenant.trigger();
  const [delivery] = await tenant.until(occurrence, 'pending');
  expect(delivery).toMatchObject({ reason: 'quiet_hours', attempts: 0 });
  const wait = new Date(delivery!.next_attempt_at!).getTime() - Date.now();
  expect(wait).toBeGreaterThan(88 * 60_000);
  expect(wait).toBeLessThan(96 * 60_000);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${occurrence}/why/?user=a@x.test` });
  expect(why.body.answers[0].explanation).toMatch(/^It is waiting: the quiet hours of the user.* at 20\d\d-/);
  const simulated = await tenant.post(`${tenant.event}simulate/`, {});
  expect(simulated.body.notifications[0]).toMatchObject({ deliveries: 1, held: { quiet_hours: 1 }, suppressed: {} });
  expect(simulated.body.deliveries[0]).toMatchObject({ reason: 'quiet_hours', due_at: expect.any(String) });
  expect(simulated.body.deliveries[0].message.text).toContain('Hello');
  const waiting = async () => (await tenant.ask({ path: `${tenant.event}waiting/` })).body;
  const due = delivery!.next_attempt_at;
  expect(await waiting()).toEqual({
    complete: true,
    waiting: [{ reason: 'quiet_hours', count: 1, first_due_at: due, last_due_at: due }],
  });
  await preferences(tenant, { quiet_hours: { enabled: false } });
  await endQuietHours(tenant);
  expect(await tenant.outcomes(occurrence)).toEqual(['a@x.test sent']);
  expect(await waiting()).toEqual({ complete: true, waiting: [] });
  expect(tenant.received()).toHaveLength(1);
});

test('urgent messages, required categories that ignore quiet hours, the inbox and users with other hours do not wait', {
  tags: ['sweep'],
}, async () => {
  const inbox = { slug: 'in-app', name: 'Inbox', type: 'inbox', providers: [{ use: 'inbox' }] };
  const urgent = await world.tenant(input({ notifications: [{ priority: 'urgent' }] }));
  expect(await urgent.outcomes(await urgent.trigger())).toEqual(['a@x.test sent']);
  const byTrigger = await world.tenant(input());
  expect(await byTrigger.outcomes(await byTrigger.trigger({ priority: 'urgent' }))).toEqual(['a@x.test sent']);
  const required = await world.tenant(input({ event: { category: 'alarm' } }));
  expect(await required.outcomes(await required.trigger())).toEqual(['a@x.test sent']);
  const app = await world.tenant(input({ channels: [inbox], notifications: [{ channels: ['in-app'] }] }));
  expect(await app.outcomes(await app.trigger())).toEqual(['a@x.test sent']);
  const own = await world.tenant(input());
  expect((await preferences(own, { quiet_hours: inactiveHours() })).status).toBe(200);
  expect(await own.outcomes(await own.trigger())).toEqual(['a@x.test sent']);
  const elsewhere = await world.tenant(input({ users: [{ email: 'a@x.test', timezone: 'Asia/Kolkata' }] }));
  expect(await elsewhere.outcomes(await elsewhere.trigger())).toEqual(['a@x.test sent']);
});

test('a waiting message is decided again when it is due: opted out, cancelled or expired means not sent', {
  tags: ['sweep'],
}, async () => {
  const off = await world.tenant(input());
  const first = await off.trigger();
  await off.until(first, 'pending');
  await preferences(off, { preferences: [{ enabled: false }] });
  await endQuietHours(off);
  expect(await off.outcomes(first)).toEqual(['a@x.test suppressed: preference.off']);

  const cancelled = await world.tenant(input());
  const second = await cancelled.trigger();
  await cancelled.until(second, 'pending');
  await cancelled.post(`/api/o/${cancelled.slug}/occurrence/${second}/cancel/`);
  expect(await cancelled.outcomes(second)).toEqual(['a@x.test cancelled']);

  const expired = await world.tenant(input());
  const third = await expired.trigger({ expires_at: new Date(Date.now() + 600_000).toISOString() });
  await expired.until(third, 'pending');
  await expired.sql(`update occurrences set expires_at = now() where organization_id = ${expired.id}`);
  await endQuietHours(expired);
  expect(await expired.outcomes(third)).toEqual(['a@x.test expired']);
  for (const tenant of [off, cancelled, expired]) expect(tenant.received()).toEqual([]);
});

test('a user who changed time zones waits for the morning there', async () => {
  const tenant = await world.tenant(input());
  const occurrence = await tenant.trigger();
  await tenant.until(occurrence, 'pending');
  // Two hours to the east the window is over, and half an hour to the west it has just begun.
  await tenant.sql(`update organizations set quiet_hours = null where id = ${tenant.id}`);
  const at = (plus: number) => clock(plus + 330);
  await preferences(tenant, { timezone: 'Asia/Kolkata', quiet_hours: { from: at(-30), to: at(60) } });
  await endQuietHours(tenant);
  await eventually(async () => {
    const [delivery] = await tenant.deliveries(occurrence);
    expect(delivery).toMatchObject({ status: 'pending', reason: 'quiet_hours', attempts: 0 });
    const wait = new Date(delivery!.next_attempt_at!).getTime() - Date.now();
    expect(wait).toBeGreaterThan(58 * 60_000);
    expect(wait).toBeLessThan(66 * 60_000);
  });
  await preferences(tenant, { timezone: null, quiet_hours: null });
  await endQuietHours(tenant);
  expect(await tenant.outcomes(occurrence)).toEqual(['a@x.test sent']);
});

test("invalid time zones and hours are rejected with the field's name", async () => {
  const tenant = await world.tenant(input());
  const refused = async (field: string, body: unknown) =>
    expectProblem(await preferences(tenant, body), 400, 'request.invalid', [field]);
  await refused('timezone', { timezone: 'Mars/Olympus' });
  await refused('quiet_hours/from', { quiet_hours: { from: '25:00', to: '07:00' } });
  await refused('quiet_hours/to', { quiet_hours: { from: '07:00' } });
  await refused('quiet_hours/to', { quiet_hours: { from: '07:00', to: '07:00' } });
  await expect(tenant.apply({ organization: { timezone: '+01:00' } })).rejects.toThrow('is not a time zone');
  const settings = await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/`,
    body: { timezone: 'Europe/Berlin', quiet_hours: null },
  });
  expect(settings.body).toMatchObject({ timezone: 'Europe/Berlin', quiet_hours: null });
  const profile = await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/u/a@x.test/profile/`,
    body: { timezone: 'America/New_York' },
  });
  expect(profile.body).toMatchObject({ timezone: 'America/New_York' });
});
