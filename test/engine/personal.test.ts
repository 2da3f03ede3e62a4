/** Notifications and steps with the channel `personal`: each recipient is reached by their own rules. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: 'https://belfry.test' });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const sandboxOf = (type: string) => ({ slug: `by-${type}`, name: type, type, providers: [{ use: 'sandbox' }] });
/** Unlike the sandbox, these need addresses. */
const account = { account_sid: `AC${'0'.repeat(32)}`, auth_token: 'none', from: '+15555550100' };
const twilio = { slug: 'by-sms', name: 'sms', type: 'sms', providers: [{ use: 'twilio', ...account }] };
const voice = { slug: 'by-voice', name: 'voice', type: 'voice', providers: [{ use: 'twilio-voice', ...account }] };
const channels = [sandboxOf('email'), sandboxOf('sms'), sandboxOf('voice'), { slug: 'hooks' }];
const addresses = [
  { name: 'sms', value: '+4915112345678' },
  { name: 'voice', value: '+4915187654321' },
];
const rules = {
  normal: [{ by: 'email' }, { by: 'sms', after: '5m' }],
  important: [{ by: 'sms' }, { by: 'email', after: '1m' }, { by: 'voice', after: '3m', repeat: 3 }],
};
const ann = { email: 'ann@x.test', addresses, reach: rules };
const bob = { email: 'bob@x.test', addresses };

const personalSteps = [
  { channels: ['personal'] },
  { after: '10m', unless: 'acknowledged', channels: ['personal'], recipients: { list: 'Managers' } },
];

const tenantOf = (more: TenantInput = {}) =>
  world.tenant({
    users: [ann, bob],
    members: ['ann@x.test'],
    lists: { Managers: ['bob@x.test'] },
    channels,
    notifications: [{ channels: ['personal'] }],
    ...more,
  });

/** What was sent, or is to be sent: run, recipient, channel, state and minutes after it was decided. */
async function plan(tenant: Tenant, id: string): Promise<string[]> {
  const deliveries = await tenant.deliveries(id);
  const due = await tenant.sql<{ id: number; minutes: number }>(
    `select id::int, round(extract(epoch from due_at - created_at) / 60)::int as minutes from deliveries
     where organization_id = $1 and occurrence_id = $2`,
    tenant.id,
    id,
  );
  const minutes = new Map(due.map(row => [row.id, row.minutes]));
  return deliveries.map(one => {
    const reason = one.reason ? `: ${one.reason}` : '';
    const at = one.status === 'pending' ? ` in ${minutes.get(one.id)}m` : '';
    return `${one.step} ${one.user} ${one.channel} ${one.status}${reason}${at}`;
  });
}

const decided = (tenant: Tenant, id: string, count: number) =>
  eventually(async () => {
    const found = await plan(tenant, id);
    expect(found.length).toBe(count);
    expect(found.filter(line => /sending|retrying|pending in/.test(line))).toEqual([]);
    return found;
  }, 8_000);

/** Lets this many minutes pass for everything that waits. */
async function passMinutes(tenant: Tenant, minutes: number): Promise<void> {
  for (const table of ['deliveries', 'steps']) {
    const open = table === 'steps' ? `status = 'waiting'` : `status = 'pending' and due_at < 'infinity'`;
    await tenant.sql(
      `update ${table} set due_at = due_at - $2 * interval '1 minute' where organization_id = $1 and ${open}`,
      tenant.id,
      minutes,
    );
  }
  await tenant.sql('notify belfry_work');
}

const act = (tenant: Tenant, id: string, what: string, body?: object) =>
  tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/${what}/`, body);

describe('a notification with the channel personal', () => {
  test('reaches a user by the rules for normal messages, one after the other', async () => {
    const tenant = await tenantOf();
    const id = await tenant.trigger();
    const later = '1 ann@x.test by-sms pending: reach.later in 5m';
    expect(await decided(tenant, id, 2)).toEqual(['1 ann@x.test by-email sent', later]);
    await passMinutes(tenant, 4);
    expect((await tenant.occurrence(id)).status).toBe('sending');
    await passMinutes(tenant, 1);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent', 'ann@x.test sent']);
  });

  test('reaches a user by the rules for important messages if it is urgent, and repeats them', async () => {
    const tenant = await tenantOf();
    const id = await tenant.trigger({ priority: 'urgent' });
    expect(await decided(tenant, id, 5)).toEqual([
      '1 ann@x.test by-sms sent',
      '1 ann@x.test by-email pending: reach.later in 1m',
      '1 ann@x.test by-voice pending: reach.later in 3m',
      '1 ann@x.test by-voice pending: reach.later in 6m',
      '1 ann@x.test by-voice pending: reach.later in 9m',
    ]);
    await passMinutes(tenant, 9);
    expect(await tenant.outcomes(id)).toEqual(Array(5).fill('ann@x.test sent'));
  });

  test('reaches a user without rules by all channels at once that the user has an address for', async () => {
    const tenant = await tenantOf({ members: ['bob@x.test'] });
    const id = await tenant.trigger();
    expect(await decided(tenant, id, 3)).toEqual([
      '1 bob@x.test by-email sent',
      '1 bob@x.test by-sms sent',
      '1 bob@x.test by-voice sent',
    ]);
  });

  test('reaches a user by all channels at once if none of the rules can', async () => {
    const eve = { email: 'eve@x.test', reach: { normal: [{ by: 'sms' }, { by: 'voice', after: '5m', repeat: 2 }] } };
    const tenant = await tenantOf({
      users: [eve],
      members: ['eve@x.test'],
      lists: {},
      channels: [sandboxOf('email'), twilio, voice],
    });
    const id = await tenant.trigger();
    expect(await decided(tenant, id, 3)).toEqual([
      '1 eve@x.test by-sms suppressed: address.missing',
      '1 eve@x.test by-voice suppressed: address.missing',
      '1 eve@x.test by-email sent',
    ]);
  });

  test('sends nothing more once it is acknowledged or resolved', async () => {
    const tenant = await tenantOf();
    for (const answer of ['acknowledge', 'resolve']) {
      const id = await tenant.trigger({ priority: 'urgent' });
      await decided(tenant, id, 5);
      expect((await act(tenant, id, answer)).status).toBe(200);
      await passMinutes(tenant, 10);
      const reason = `${answer}d`;
      expect((await decided(tenant, id, 5)).slice(1)).toEqual([
        `1 ann@x.test by-email cancelled: ${reason}`,
        ...Array(3).fill(`1 ann@x.test by-voice cancelled: ${reason}`),
      ]);
    }
  });

  test('begins again when the acknowledgement ends, and then repeats as often', async () => {
    const tenant = await tenantOf();
    const id = await tenant.trigger({ priority: 'urgent' });
    await decided(tenant, id, 5);
    expect((await act(tenant, id, 'acknowledge')).status).toBe(200);
    expect((await act(tenant, id, 'unacknowledge')).status).toBe(200);
    expect((await decided(tenant, id, 10)).filter(line => line.startsWith('2 '))).toEqual([
      '2 ann@x.test by-sms sent',
      '2 ann@x.test by-email pending: reach.later in 1m',
      '2 ann@x.test by-voice pending: reach.later in 3m',
      '2 ann@x.test by-voice pending: reach.later in 6m',
      '2 ann@x.test by-voice pending: reach.later in 9m',
    ]);
    await act(tenant, id, 'resolve');
  });

  test('does not send to what the user has removed meanwhile', async () => {
    const tenant = await tenantOf({ channels: [sandboxOf('email'), twilio, voice] });
    const id = await tenant.trigger();
    await decided(tenant, id, 2);
    await tenant.sql(`delete from addresses where organization_id = $1 and name = 'sms'`, tenant.id);
    await passMinutes(tenant, 5);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent', 'ann@x.test suppressed: address.removed']);
  });

  test('is simulated with the times of the rules', async () => {
    const tenant = await tenantOf({ notifications: [{ steps: [{ after: '10m', channels: ['personal'] }] }] });
    const simulated = await tenant.post(`${tenant.event}simulate/`, { options: { priority: 'urgent' } });
    expect(simulated.status, simulated.text).toBe(200);
    const minutes = (at: string) => Math.round((Date.parse(at) - Date.now()) / 60_000);
    const shown = simulated.body.deliveries.map(
      (one: { channel: string; due_at: string }) => `${one.channel} in ${minutes(one.due_at)}m`,
    );
    expect(shown).toEqual([
      'by-sms in 10m',
      'by-email in 11m',
      'by-voice in 13m',
      'by-voice in 16m',
      'by-voice in 19m',
    ]);
  });

  test('uses verified addresses only once the user can be reached at one, in simulation and explanation too', async () => {
    const eve = { email: 'eve@x.test', addresses: [{ ...addresses[0]!, verified: true }, addresses[1]!], reach: rules };
    const tenant = await tenantOf({ users: [eve], members: ['eve@x.test'], lists: {} });
    const simulated = await tenant.post(`${tenant.event}simulate/`, { options: { priority: 'urgent' } });
    expect(simulated.body.deliveries).toMatchObject([{ channel: 'by-sms', reason: null, due_at: null }]);
    expect(simulated.body.notifications[0].steps[0].suppressed).toEqual({ 'address.unverified': 2 });
    const id = await tenant.trigger({ priority: 'urgent' });
    expect((await decided(tenant, id, 3)).toSorted()).toEqual([
      '1 eve@x.test by-email suppressed: address.unverified',
      '1 eve@x.test by-sms sent',
      '1 eve@x.test by-voice suppressed: address.unverified',
    ]);
    const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=eve@x.test` });
    const explanation = 'the address is not verified, and the user can be reached at one that is';
    expect(why.text).toContain(`It was not sent to +4915187654321 via by-voice: ${explanation}.`);
  });

  test('is explained to a user whose next rule is not due', async () => {
    const tenant = await tenantOf();
    const id = await tenant.trigger();
    await decided(tenant, id, 2);
    const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ann@x.test` });
    expect(why.body.answers).toMatchObject([
      { channel: 'by-email', outcome: 'sent' },
      { channel: 'by-sms', outcome: 'pending', reason: 'reach.later' },
    ]);
  });
});

describe('steps with the channel personal', () => {
  test('go on while the rules of earlier recipients run', async () => {
    const tenant = await tenantOf({ notifications: [{ steps: personalSteps }] });
    const id = await tenant.trigger({ priority: 'urgent' });
    await decided(tenant, id, 5);
    await tenant.sql(`update steps set due_at = now() where organization_id = $1 and status = 'waiting'`, tenant.id);
    await tenant.sql('notify belfry_work');
    const after = await decided(tenant, id, 8);
    expect(after.filter(line => line.includes('pending'))).toHaveLength(4);
    expect(after.filter(line => line.startsWith('2 '))).toEqual([
      '2 bob@x.test by-email sent',
      '2 bob@x.test by-sms sent',
      '2 bob@x.test by-voice sent',
    ]);
    await act(tenant, id, 'acknowledge');
    expect((await decided(tenant, id, 8)).filter(line => line.includes('pending'))).toEqual([]);
  });

  test('skip recipients by what was sent to them in the round, however often', async () => {
    const tenant = await tenantOf({
      notifications: [
        {
          steps: [
            { channels: ['personal'] },
            { after: '10m', unless: 'length(deliveries) > `4`', channels: ['hooks'] },
          ],
        },
      ],
    });
    const id = await tenant.trigger({ priority: 'urgent' });
    await decided(tenant, id, 5);
    await passMinutes(tenant, 10);
    expect(await tenant.outcomes(id)).toEqual([
      ...Array(5).fill('ann@x.test sent'),
      'ann@x.test suppressed: unless.expression',
    ]);
  });
});
