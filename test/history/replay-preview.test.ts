/** Previews of replays and retries match what happens. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EngineWorld, joinWorld, secret, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const own = [{ slug: 'hooks', name: 'Hooks', type: 'webhook', providers: [{ use: 'standard-webhooks', secret }] }];
const names = ['ann', 'ben', 'cat', 'dan', 'eve'];

async function preview(tenant: Tenant, path: string) {
  const answer = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${path}` });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

test('the preview lists users who are locked, lost the address or opted out, and the replay skips them', {
  tags: ['sweep'],
}, async () => {
  const tenant = await world.tenant({ users: [], channels: own });
  // Each user has their own address, which the tenant's sink answers.
  const users = names.map(name => ({
    email: `${name}@x.test`,
    addresses: [{ name: 'webhook', value: `${world.peer.url}/${tenant.slug}/${name}` }],
  }));
  await tenant.apply({ users, channels: own });
  tenant.answer({ status: 400 });
  const id = await tenant.trigger();
  expect(await tenant.outcomes(id)).toEqual(names.map(name => `${name}@x.test failed: provider.failed`));
  expect(await preview(tenant, `${id}/replay/`)).toMatchObject({ deliveries: 5, checked: 5, send: 5, reasons: [] });

  const user = (name: string) => `/api/o/${tenant.slug}/u/${name}@x.test/`;
  await tenant.ask({ method: 'PATCH', path: user('ben'), body: { locked: true } });
  const [cat] = (await tenant.ask({ path: `${user('cat')}addresses/` })).body.filter(
    (one: { name: string }) => one.name === 'webhook',
  );
  await tenant.ask({ method: 'PATCH', path: `${user('cat')}addresses/${cat.id}/`, body: { enabled: false } });
  const [dan] = (await tenant.ask({ path: `${user('dan')}addresses/` })).body.filter(
    (one: { name: string }) => one.name === 'webhook',
  );
  await tenant.ask({ method: 'DELETE', path: `${user('dan')}addresses/${dan.id}/?cascade=true` });
  const off = { preferences: [{ enabled: false }] };
  const chosen = await tenant.ask({ method: 'PATCH', path: `${user('eve')}preferences/`, body: off });
  expect(chosen.status, chosen.text).toBe(200);

  const expected = await preview(tenant, `${id}/replay/`);
  expect(expected).toMatchObject({ deliveries: 5, send: 1, wait: 0, skip: 4, expands: false });
  expect(expected.reasons.map((one: { reason: string }) => one.reason).sort()).toEqual([
    'address.disabled',
    'address.removed',
    'preference.off',
    'user.locked',
  ]);
  const delivery = (await tenant.deliveries(id)).find(one => one.user === 'ben@x.test')!;
  expect(await preview(tenant, `${id}/deliveries/${delivery.id}/retry/`)).toMatchObject({
    deliveries: 1,
    skip: 1,
    reasons: [{ effect: 'skip', reason: 'user.locked', explanation: 'the user is locked', count: 1 }],
  });

  tenant.answer({});
  await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
  expect(await tenant.outcomes(id)).toEqual([
    'ann@x.test sent',
    'ben@x.test suppressed: user.locked',
    'cat@x.test suppressed: address.disabled',
    'dan@x.test suppressed: address.removed',
    'eve@x.test suppressed: preference.off',
  ]);
  expect(await preview(tenant, `${id}/replay/`)).toMatchObject({ deliveries: 0, checked: 0, send: 0 });
});

test('the preview counts held and skipped deliveries without changing them', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  tenant.answer({ status: 400 });
  const id = await tenant.trigger();
  await tenant.outcomes(id);
  const channel = `/api/o/${tenant.slug}/c/hooks/`;
  await tenant.post(`${channel}pause/`);
  expect(await preview(tenant, `${id}/replay/`)).toMatchObject({
    wait: 1,
    reasons: [{ effect: 'wait', reason: 'channel.paused', count: 1 }],
  });
  await tenant.post(`${channel}resume/`);
  await tenant.post(`${tenant.event}pause/`);
  expect((await preview(tenant, `${id}/replay/`)).reasons[0]).toMatchObject({ reason: 'event.paused' });
  await tenant.post(`${tenant.event}resume/`);
  await tenant.ask({ method: 'PATCH', path: channel, body: { enabled: false } });
  expect((await preview(tenant, `${id}/replay/`)).reasons[0]).toMatchObject({
    effect: 'skip',
    reason: 'channel.disabled',
  });
  expect((await tenant.deliveries(id)).map(one => one.status)).toEqual(['failed']);
});
