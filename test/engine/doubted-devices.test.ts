/** Devices that a push service calls unknown because the channel has the wrong environment: none is disabled for that. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { appleKey } from '../support/compliance-push.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

let world: EngineWorld;

beforeAll(async () => {
  world = await joinWorld();
});
afterEach(() => world.checkLedger());
afterAll(() => world.close());

const badToken = { status: 400, body: '{"reason":"BadDeviceToken"}' };
const tokenOf = (i: number) => i.toString(16).padStart(64, '0');

async function tenantWithDevices(count: number): Promise<Tenant> {
  return world.tenant({
    users: Array.from({ length: count }, (_, i) => ({
      email: `u${i}@x.test`,
      addresses: [
        { name: 'push', value: JSON.stringify({ platform: 'ios', app: 'com.acme.shop', token: tokenOf(i) }) },
      ],
    })),
    channels: [
      {
        slug: 'phones',
        name: 'Phones',
        type: 'push',
        providers: [
          {
            use: 'apns',
            team_id: 'A1B2C3D4E5',
            key_id: 'F6G7H8I9J0',
            private_key: appleKey,
            bundle_id: 'com.acme.shop',
            endpoint: world.peer.url,
          },
        ],
      },
    ],
    notifications: [{ channels: ['phones'] }],
  });
}

/** Answers requests for devices, and leaves all others to the previous reply. */
function answerDevices(answer: (token: string) => object): void {
  const before = world.peer.reply;
  world.peer.reply = seen => {
    const [, token] = /^\/3\/device\/([0-9a-f]+)$/.exec(seen.path) ?? [];
    if (token) return answer(token);
    return typeof before === 'function' ? before(seen) : before;
  };
}

const disabledOf = (tenant: Tenant) =>
  tenant.sql('select value from addresses where organization_id = $1 and disabled_at is not null', tenant.id);

test('a channel that reaches no device is paused with the reason, and sends everything once it is fixed', {
  tags: ['sweep'],
}, async () => {
  const tenant = await tenantWithDevices(15);
  const receiver = await openReceiver(tenant, ['channel.unhealthy', 'channel.recovered']);
  let isWrong = true;
  answerDevices(() => (isWrong ? badToken : { status: 200 }));
  const id = await tenant.trigger();
  const [unhealthy] = await receiver.until('channel.unhealthy', 1);
  const reason = expect.stringMatching(
    /^10 addresses in a row .*BadDeviceToken: check that environment .*resume the channel/,
  );
  expect(unhealthy!.data).toMatchObject({ channel: 'phones', provider: 'apns', reason });
  const { body: pauses } = await tenant.ask({ path: `/api/o/${tenant.slug}/pauses/` });
  expect(pauses).toMatchObject([{ kind: 'channel', path: 'phones', scope: 'all', reason }]);
  await eventually(async () => {
    await tenant.hurry();
    const states = (await tenant.deliveries(id)).map(({ status, reason }) => `${status} ${reason}`);
    expect(new Set(states)).toEqual(new Set(['pending channel.paused']));
  }, 20_000);
  expect(await disabledOf(tenant)).toEqual([]);

  isWrong = false;
  expect((await tenant.post(`/api/o/${tenant.slug}/c/phones/resume/`)).status).toBe(200);
  const outcomes = await tenant.outcomes(id);
  expect(outcomes.filter(one => !one.endsWith(' sent'))).toEqual([]);
  await receiver.until('channel.recovered', 1);
  await receiver.close();
});

test('a device is disabled once another one was reached with the same settings', async () => {
  const tenant = await tenantWithDevices(3);
  const dead = tokenOf(1);
  let isFirst = true;
  answerDevices(token => (token === dead ? badToken : isFirst ? { status: 500 } : { status: 200 }));
  const id = await tenant.trigger();
  await eventually(async () => expect(await tenant.deliveries(id)).toMatchObject([{}, { detail: /environment/ }, {}]));
  expect(await disabledOf(tenant)).toEqual([]);
  isFirst = false;
  await eventually(async () => {
    await tenant.hurry();
    expect((await disabledOf(tenant)).map(({ value }) => JSON.parse(String(value)).token)).toEqual([dead]);
  }, 20_000);
});
