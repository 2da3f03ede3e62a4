/** Who gets what: from a trigger to what a real peer receives and the ledger records. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, hooks, joinWorld, sandbox, type Tenant } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let world: EngineWorld;
let smtp: SmtpPeer;

beforeAll(async () => {
  [world, smtp] = await Promise.all([joinWorld(), openSmtpPeer({ starttls: false })]);
});
afterEach(() => world.checkLedger());
afterAll(async () => {
  await world.close();
  await smtp.close();
});

const people = ['ann@x.test', 'ben@x.test', 'cid@x.test'];
const toOf = (tenant: Tenant) =>
  tenant
    .received()
    .map(one => one.to)
    .sort();

describe('recipients', () => {
  test('a trigger to a list reaches every active member once', async () => {
    const tenant = await world.tenant({
      users: [...people, 'off@x.test', 'out@x.test'],
      members: [...people, 'off@x.test'],
    });
    await tenant.sql(
      `update members set active = false where organization_id = $1 and address_id in
      (select id from addresses where organization_id = $1 and value = 'off@x.test')`,
      tenant.id,
    );
    const id = await tenant.trigger({}, { n: 7 });
    expect(await tenant.outcomes(id)).toEqual([
      'ann@x.test sent',
      'ben@x.test sent',
      'cid@x.test sent',
      'off@x.test suppressed: member.inactive',
    ]);
    expect(toOf(tenant)).toEqual(people);
    expect(tenant.received()[0]!.text).toBe('Hello 7');
    const occurrence = await tenant.occurrence(id);
    expect(occurrence).toMatchObject({ reason: null, counts: { sent: 3, suppressed: 1, failed: 0 } });
    expect(await tenant.stats()).toEqual({ sent: 3, suppressed: 1 });
  });

  test('an expression over users and their custom fields picks recipients', async () => {
    const gold = { custom_fields: { tier: 'gold', score: 3 } };
    const tenant = await world.tenant({
      users: [{ email: people[0]!, ...gold }, { email: people[1]!, custom_fields: { tier: 'tin' } }, people[2]!],
      notifications: [{ recipients: { users: "custom_fields.tier == 'gold' && email != 'none'" } }],
    });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test sent']);
  });

  test('an expression that fails on some users picks the others', async () => {
    const tenant = await world.tenant({
      users: [{ email: people[0]!, custom_fields: { tags: ['a'] } }, people[1]!],
      notifications: [{ recipients: { users: 'length(custom_fields.tags) > `0`' } }],
    });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test sent']);
  });

  test('recipients named by the trigger are reached, and unknown addresses become users', async () => {
    const tenant = await world.tenant({ users: people, notifications: [{ recipients: { trigger: true } }] });
    const id = await tenant.trigger({ recipients: ['New@X.test', 'ann@x.test', 'ANN@x.test', 'new@x.test'] });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent', 'new@x.test sent']);
    const users = await tenant.sql('select username from users where organization_id = $1 order by 1', tenant.id);
    expect(users.map(user => user.username)).toEqual([...people, 'new@x.test']);
  });

  test('list, expression and trigger together reach each recipient once', async () => {
    const tenant = await world.tenant({
      users: people,
      members: people.slice(0, 2),
      notifications: [
        { recipients: { list: 'All', users: "starts_with(email, 'b') || starts_with(email, 'c')", trigger: true } },
      ],
    });
    const id = await tenant.trigger({ recipients: ['ann@x.test', 'dan@x.test'] });
    expect(await tenant.outcomes(id)).toEqual([...people, 'dan@x.test'].map(email => `${email} sent`));
    expect(toOf(tenant)).toEqual([...people, 'dan@x.test']);
  });

  test('several pages of recipients are each reached once', { tags: ['sweep'] }, async () => {
    const many = Array.from({ length: 2_300 }, (_, i) => `p${i}@x.test`);
    const tenant = await world.tenant({
      users: many,
      channels: [sandbox],
      notifications: [
        { channels: ['sandbox'] },
        { channels: ['sandbox'], recipients: { users: "email == 'p7@x.test'" } },
      ],
    });
    const id = await tenant.trigger();
    await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed' }), 20_000);
    expect(await tenant.occurrence(id)).toMatchObject({ counts: { sent: 2_301, pending: 0 } });
    const [row] = await tenant.sql(
      'select count(distinct address)::int as people from deliveries where occurrence_id = $1',
      id,
    );
    expect(row).toEqual({ people: 2_300 });
  });

  test('an occurrence without recipients completes with the reason', async () => {
    const tenant = await world.tenant({ users: [], members: [] });
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual([]);
    expect(await tenant.occurrence(id)).toMatchObject({ reason: 'no_recipients', counts: { sent: 0, suppressed: 0 } });
  });
});

describe('channels', () => {
  test('channels are chosen by slug and by type, each once, the project’s before the organization’s', async () => {
    const url = (name: string) => `${world.peer.url}/${name}`;
    const tenant = await world.tenant({
      users: ['ann@x.test'],
      channels: [sandbox, hooks(`${world.peer.url}/none/org`), { ...sandbox, slug: 'other' }],
      projectChannels: [hooks(url('none/project'))],
      notifications: [{ channels: ['hooks'] }, { channels: ['email', 'sandbox'] }],
    });
    const id = await tenant.trigger();
    await tenant.outcomes(id);
    const used = (await tenant.deliveries(id)).map(one => `${one.notification} ${one.channel}`).sort();
    expect(used).toEqual(['n1 hooks', 'n2 other', 'n2 sandbox']);
    const paths = world.peer.seen.map(seen => seen.path).filter(path => path.startsWith('/none/'));
    expect(paths).toEqual(['/none/project']);
  });

  test('email is sent by SMTP with the same content', async () => {
    const provider = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'Shop <shop@x.test>' };
    const tenant = await world.tenant({
      users: ['ann@x.test'],
      channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
      notifications: [{ channels: ['mail'] }],
    });
    expect(await tenant.outcomes(await tenant.trigger({}, { n: 'there' }))).toEqual(['ann@x.test sent']);
    expect(smtp.mails).toHaveLength(1);
    expect(smtp.mails[0]).toMatchObject({ to: ['ann@x.test'], headers: { subject: 'ann@x.test' } });
  });

  test('a channel that is missing, disabled or without a provider sends nothing', async () => {
    const tenant = await world.tenant({
      users: ['ann@x.test'],
      channels: [
        { ...sandbox, slug: 'off', enabled: false },
        { ...sandbox, slug: 'empty', providers: [] },
      ],
      notifications: [{ channels: ['off', 'empty'] }],
    });
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual([
      'ann@x.test suppressed: channel.disabled',
      'ann@x.test suppressed: channel.unusable',
    ]);
    await tenant.sql('delete from channels where organization_id = $1', tenant.id);
    const second = await eventually(async () => {
      const next = await tenant.trigger();
      await tenant.outcomes(next);
      expect(await tenant.occurrence(next)).toMatchObject({ reason: 'channel.missing' });
      return next;
    });
    expect(await tenant.deliveries(second)).toEqual([]);
  });
});

describe('suppressed and excluded recipients', () => {
  test('locked users and users without an address are suppressed', async () => {
    const tenant = await world.tenant({
      users: [
        { email: 'ann@x.test', locked: true },
        { email: 'ben@x.test', addresses: [{ name: 'phone', value: '+15555550100' }] },
        'cid@x.test',
      ],
      channels: [
        {
          slug: 'sms',
          name: 'Texts',
          type: 'webhook',
          providers: hooks('').providers && [
            { use: 'standard-webhooks', secret: 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5' },
          ],
        },
      ],
      notifications: [{ channels: ['sms'] }],
    });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual([
      'ann@x.test suppressed: user.locked',
      'ben@x.test suppressed: address.missing',
      'cid@x.test suppressed: address.missing',
    ]);
  });

  test('a filter that does not match or fails, another environment and an inactive notification exclude recipients', async () => {
    const tenant = await world.tenant({
      users: ['ann@x.test'],
      notifications: [{ filter: 'amount > `10`' }],
    });
    const none = await tenant.trigger({}, { amount: 3 });
    expect(await tenant.outcomes(none)).toEqual([]);
    expect(await tenant.occurrence(none)).toMatchObject({ reason: 'filter.no_match' });
    expect(await tenant.outcomes(await tenant.trigger({}, { amount: 11 }))).toEqual(['ann@x.test sent']);

    const failing = await world.tenant({ users: ['ann@x.test'], notifications: [{ filter: 'length(amount) > `1`' }] });
    const failed = await failing.trigger({}, { amount: 3 });
    await failing.outcomes(failed);
    expect(await failing.occurrence(failed)).toMatchObject({ reason: 'filter.failed' });

    const elsewhere = await world.tenant({
      users: ['ann@x.test'],
      notifications: [{ environs: ['live'] }, { active: false }],
    });
    const test = await elsewhere.trigger({ environs: ['test'] });
    await elsewhere.outcomes(test);
    expect(await elsewhere.occurrence(test)).toMatchObject({ reason: 'notification.environ' });
    expect(await elsewhere.outcomes(await elsewhere.trigger({ environs: ['live'] }))).toEqual(['ann@x.test sent']);
  });

  test('the options channels, limit_to and dry_run apply', async () => {
    const tenant = await world.tenant({
      users: people,
      channels: [{ slug: 'hooks' }, sandbox],
      notifications: [{ channels: ['hooks', 'sandbox'] }],
    });
    const id = await tenant.trigger({ channels: ['webhook'], limit_to: ['BEN@x.test'] });
    // Recipients excluded by the trigger itself are not in the ledger.
    expect(await tenant.outcomes(id)).toEqual(['ben@x.test sent']);
    const dry = await tenant.trigger({ dry_run: true, channels: ['hooks'], limit_to: ['ann@x.test'] });
    expect(await tenant.outcomes(dry)).toContain('ann@x.test suppressed: dry_run');
    expect(toOf(tenant)).toEqual(['ben@x.test']);
  });
});
