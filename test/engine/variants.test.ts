/** The sample of a canary compares two variants of a message, and the others get the better one. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
/** The API of a mail service. */
let api: HttpPeer;

beforeAll(async () => {
  world = await joinWorld();
  let count = 0;
  api = await openHttpPeer(() => ({ body: JSON.stringify({ MessageID: `variant-${++count}` }) }));
});
afterEach(() => world.checkLedger());
afterAll(async () => {
  await world.close();
  await api.close();
});

const users = Array.from({ length: 30 }, (_, i) => `u${String(i).padStart(2, '0')}@x.test`);
const first = 10;
const texts = { message: { body: 'B {{ n }}' } };
const canary = { first, variants: { winner_by: 'clicks', b: texts } };
const message = { subject: '{{ user.email }}', body: 'A {{ n }}' };
const compared = { canary, message };

const holdPath = ({ slug }: Tenant, id: string) => `/api/o/${slug}/occurrence/${id}/hold/`;
const holdOf = async (tenant: Tenant, id: string) => (await tenant.ask({ path: holdPath(tenant, id) })).body;
const variantsOf = async (tenant: Tenant, id: string) => Map.groupBy(await tenant.deliveries(id), one => one.variant);

async function endWait(tenant: Tenant) {
  await tenant.sql(
    `update occurrences set due_at = now() where organization_id = $1 and reason = 'canary.waiting'`,
    tenant.id,
  );
  await tenant.sql(`notify belfry_work`);
}

async function triggerSampled(tenant: Tenant) {
  const id = await tenant.trigger({}, { n: 7 });
  await eventually(async () => {
    expect(await tenant.occurrence(id)).toMatchObject({ reason: 'canary.waiting' });
    expect(await tenant.until(id, 'sent', 'failed')).toHaveLength(first);
  }, 8_000);
  return id;
}

/** Adds a tenant whose messages a mail service sends. */
function mailingTenant(input: TenantInput = {}): Promise<Tenant> {
  const providers = [{ use: 'postmark', server_token: 't', from: 'a@acme.test', endpoint: api.url }];
  const channels = [{ slug: 'out', name: 'Out', type: 'email', providers }];
  return world.tenant({ users, channels, notifications: [{ channels: ['out'], ...compared }], ...input });
}

/** Reports that a link in the message was clicked, as the service does. */
async function click(tenant: Tenant, id: string, delivery: { id: number; user: string | null }) {
  const { feedback } = (await tenant.ask({ path: `/api/o/${tenant.slug}/c/out/` })).body;
  const answer = await fetch(feedback.addresses[0].url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ RecordType: 'Click', MessageID: 'm', Recipient: delivery.user, ReceivedAt: new Date().toISOString() },
      Metadata: { belfry_id: `${id}.${delivery.id}` },
    }),
  });
  expect(answer.status).toBe(200);
}

test('each half of the sample gets a variant, and the others get the one with more clicks', async () => {
  const tenant = await mailingTenant();
  const id = await triggerSampled(tenant);
  const halves = await variantsOf(tenant, id);
  expect(halves.get('a')).toHaveLength(5);
  expect(halves.get('b')).toHaveLength(5);
  const [clicked, other] = halves.get('b')!;
  await click(tenant, id, clicked!);
  await click(tenant, id, clicked!);
  await click(tenant, id, other!);
  await click(tenant, id, halves.get('a')![0]!);
  await endWait(tenant);
  expect(await tenant.outcomes(id)).toEqual(users.map(user => `${user} sent`));
  const all = await variantsOf(tenant, id);
  expect([all.get('a')!.length, all.get('b')!.length]).toEqual([5, 25]);
  const bodies = api.seen.map(({ body }) => JSON.parse(body) as { To: string; TextBody: string });
  for (const [variant, deliveries] of all) {
    for (const { user } of deliveries) {
      const own = bodies.filter(({ To }) => To.includes(user!)).map(({ TextBody }) => TextBody.trim());
      expect(own).toEqual([expect.stringMatching(new RegExp(`^${variant!.toUpperCase()} 7`))]);
    }
  }
  const figures = {
    winner_by: 'clicks',
    variants: [
      { variant: 'a', messages: 5, attempted: 5, clicks: 1, acknowledgements: 0 },
      { variant: 'b', messages: 5, attempted: 5, clicks: 2, acknowledgements: 0 },
    ],
    winner: 'b',
  };
  expect(await holdOf(tenant, id)).toMatchObject({
    state: 'released',
    figures: [figures],
    explanation: [
      expect.stringContaining('1 of 5 with variant a (20%), 2 of 5 with variant b (40%). The others get variant b.'),
    ],
  });
  const why = async (user: string | null) =>
    (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=${user}` })).body.answers[0]
      .explanation;
  expect(await why(halves.get('a')![0]!.user)).toContain('The message is variant a.');
  expect(await why(clicked!.user)).toContain('The message is variant b.');
  const [sent] = all.get('b')!;
  const shown = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${sent!.id}/message/` });
  expect(shown.body.text).toContain('B 7');
});

test('without any click, the others get the first variant, and without a sample all do', async () => {
  const tenant = await world.tenant({ users, notifications: [compared] });
  const id = await triggerSampled(tenant);
  await endWait(tenant);
  await tenant.outcomes(id);
  const all = await variantsOf(tenant, id);
  expect([all.get('a')!.length, all.get('b')!.length]).toEqual([25, 5]);
  expect(tenant.received().filter(({ text }) => text === 'B 7')).toHaveLength(5);
  await tenant.outcomes(await tenant.trigger({ priority: 'urgent' }, { n: 8 }));
  expect(tenant.received().filter(({ text }) => text === 'A 8')).toHaveLength(30);
});

test('after a sample that stopped, the approver sees the better variant, and the others get it as it is now', async () => {
  const acknowledged = { ...canary, variants: { ...canary.variants, winner_by: 'acknowledgements' } };
  const tenant = await world.tenant({ users, notifications: [{ ...compared, canary: acknowledged }] });
  tenant.answer((_, nth) => (nth === first ? { status: 400 } : {}));
  const id = await triggerSampled(tenant);
  await tenant.sql(`update deliveries set acted_at = now() where organization_id = $1 and variant = 'b'`, tenant.id);
  await endWait(tenant);
  await eventually(async () => expect(await holdOf(tenant, id)).toMatchObject({ state: 'held' }), 8_000);
  const hold = await holdOf(tenant, id);
  expect(hold).toMatchObject({ recipients: 20, figures: [{ stopped_by: ['failed'], winner: 'b' }] });
  expect(hold.samples.map((one: { message: { text: string } }) => one.message.text)).toEqual(
    Array(10).fill(expect.stringContaining('B 7')),
  );
  const corrected = {
    ...acknowledged,
    variants: { ...acknowledged.variants, b: { message: { body: 'B corrected' } } },
  };
  await tenant.apply({ notifications: [{ ...compared, canary: corrected }] });
  expect((await tenant.post(`${holdPath(tenant, id)}approve/`, {})).status).toBe(200);
  await eventually(async () => expect(tenant.received()).toHaveLength(users.length), 8_000);
  expect(tenant.received().filter(({ text }) => text === 'B corrected')).toHaveLength(20);
});

test('actions that recipients take in an inbox are counted once for each message', async () => {
  const actions = [
    { name: 'yes', label: 'Yes', url: 'https://x.test/' },
    { name: 'no', label: 'No', url: 'https://y.test/' },
  ];
  const inbox = { slug: 'app', name: 'App', type: 'inbox', providers: [{ use: 'inbox' }] };
  const tenant = await world.tenant({
    users,
    channels: [inbox, sandbox],
    notifications: [
      {
        channels: ['app'],
        message: { ...message, actions },
        canary: { first, variants: { winner_by: 'acknowledgements', b: texts } },
      },
    ],
  });
  const id = await triggerSampled(tenant);
  const halves = await variantsOf(tenant, id);
  for (const { id: messageId, user } of halves.get('b')!.slice(0, 2)) {
    const act = (action: string) => tenant.post(`/api/o/${tenant.slug}/u/${user}/inbox/${messageId}/act/`, { action });
    expect((await act('yes')).status).toBe(200);
    expect((await act('yes')).status).toBe(200);
    expect((await act('no')).status).toBe(409);
  }
  await endWait(tenant);
  await tenant.outcomes(id);
  expect(await holdOf(tenant, id)).toMatchObject({
    figures: [
      {
        winner: 'b',
        variants: [
          { variant: 'a', acknowledgements: 0 },
          { variant: 'b', acknowledgements: 2 },
        ],
      },
    ],
  });
});
