/** A message is shown as it was sent, whatever was changed or deleted afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(() => world.close());

const ann = {
  email: 'ann@x.test',
  first_name: 'Ann',
  last_name: 'Lee',
  locale: 'de',
  custom_fields: { tier: 'gold', tags: ['a', 'b'] },
};
const all =
  '{{ user.first_name }} {{ user.last_name }} {{ user.locale }} {{ user.locked }} {{ user.custom_fields.tier }} ' +
  '{% for tag in user.custom_fields.tags %}{{ tag }}{% endfor %} {{ colour }} {{ event.name }} {{ application.name }} ' +
  '{{ project.name }} {{ organization.name }} {{ channel.slug }} {{ n }} {{ membership.plan }}';
const words = (body: string) => ({
  subject: '{{ colour }} {{ organization.name }}',
  body: `${body} en`,
  locales: { de: { body: `${body} de` } },
});
const layouts = (body: string) => [{ name: 'default', body }];

async function tenantWith(body = all): Promise<Tenant> {
  const notification = { channels: ['sandbox', 'hooks'], extra_context: { colour: 'red' }, message: words(body) };
  const tenant = await world.tenant({
    users: [ann],
    channels: [sandbox, { slug: 'hooks' }],
    notifications: [notification],
  });
  await tenant.sql(
    `insert into layouts (organization_id, name, name_key, body) values ($1, 'default', 'default', $2)`,
    tenant.id,
    layouts('<p>{{ user.first_name }}</p>{{ content }}<i>{{ project.name }}</i>')[0]!.body,
  );
  await tenant.post(`${tenant.application}register/`, { username: 'ann@x.test', custom_fields: { plan: 'pro' } });
  // Waits until every process has received the change.
  await eventually(async () => {
    const answer = await tenant.post(`${tenant.event}simulate/`, { context: {} });
    expect(answer.text).toContain('<i>Shop</i>');
  });
  return tenant;
}

async function views(tenant: Tenant, occurrence: string): Promise<Record<string, unknown>[]> {
  const deliveries = await tenant.deliveries(occurrence);
  return Promise.all(
    deliveries.map(async ({ id }) => (await tenant.ask({ path: pathOf(tenant, occurrence, id) })).body),
  );
}

const pathOf = (tenant: Tenant, occurrence: string, id: number) =>
  `/api/o/${tenant.slug}/occurrence/${occurrence}/deliveries/${id}/message/`;

/** Returns the messages that would be sent now, in the same order. */
async function simulated(tenant: Tenant): Promise<Record<string, unknown>[]> {
  const { body } = await tenant.post(`${tenant.event}simulate/`, { context: { n: 7 } });
  return body.deliveries.map((one: { message: unknown }) => one.message);
}

async function sent(tenant: Tenant): Promise<string> {
  const occurrence = await tenant.trigger({}, { n: 7 });
  expect(await tenant.outcomes(occurrence)).toEqual(['ann@x.test sent', 'ann@x.test sent']);
  return occurrence;
}

/** Statements that each change something that a template can use. */
const changes: [what: string, text: string][] = [
  ['the layout', `update layouts set body = 'other {{ content }}' where organization_id = $1`],
  ['the layout, by deleting it', 'delete from layouts where organization_id = $1'],
  ['a name', `update users set first_name = 'Bea' where organization_id = $1`],
  ['custom fields', `update users set custom_fields = '{"tier": "tin"}' where organization_id = $1`],
  ['the locale', `update users set locale = 'en' where organization_id = $1`],
  ['the lock', 'update users set locked = true where organization_id = $1'],
  ['a registration', `update registrations set custom_fields = '{"plan": "free"}' where organization_id = $1`],
  ['a registration, by deleting it', 'delete from registrations where organization_id = $1'],
  ['extra context', `update notifications set extra_context = '{"colour": "blue"}' where organization_id = $1`],
  ['the event', `update events set name = 'Other' where organization_id = $1`],
  ['the application', `update applications set name = 'Other' where organization_id = $1`],
  ['the project', `update projects set name = 'Other' where organization_id = $1`],
  ['the organization', `update organizations set name = 'Other' where id = $1`],
  ['the channels', `update channels set slug = slug || '2', name = 'Other' where organization_id = $1`],
  ['the medium', `update channels set type = 'sms' where organization_id = $1`],
];

describe('what was sent', () => {
  test.each(changes)('is shown as it was after a change of %s', async (_what, text) => {
    const tenant = await tenantWith();
    const occurrence = await sent(tenant);
    const before = await views(tenant, occurrence);
    expect(before.map(view => view.text)).toContain(tenant.received()[0]!.text);
    expect(tenant.received()[0]!.text).toContain(' 7 pro');
    expect(before).toEqual(await simulated(tenant));
    await tenant.sql(text, tenant.id);
    // Once the change has been received, new messages are different.
    await eventually(async () => expect(await simulated(tenant)).not.toEqual(before));
    expect(await views(tenant, occurrence)).toEqual(before);
  });

  test('is shown as it was after all of these changes together', async () => {
    const tenant = await tenantWith();
    const first = await sent(tenant);
    const before = await views(tenant, first);
    await tenant.sql(`update users set first_name = 'Bea' where organization_id = $1`, tenant.id);
    const second = await sent(tenant);
    const between = await views(tenant, second);
    expect(between[0]!.text).toMatch(/^Bea /);
    for (const [, text] of changes) await tenant.sql(text, tenant.id);
    expect(await views(tenant, first)).toEqual(before);
    expect(await views(tenant, second)).toEqual(between);
  });

  test('is shown when its event and its channel have been deleted', async () => {
    const tenant = await tenantWith();
    const occurrence = await sent(tenant);
    const before = await views(tenant, occurrence);
    await tenant.sql('delete from events where organization_id = $1', tenant.id);
    await tenant.sql('delete from channels where organization_id = $1', tenant.id);
    expect(await views(tenant, occurrence)).toEqual(before);
  });

  test('is shown as it was sent when the worker had missed a change', async () => {
    const tenant = await tenantWith();
    await sent(tenant);
    await tenant.sql('alter table notifications disable trigger announce_change');
    await tenant.sql(
      `update notifications set extra_context = '{"colour": "blue"}' where organization_id = $1`,
      tenant.id,
    );
    await tenant.sql('alter table notifications enable trigger announce_change');
    const occurrence = await sent(tenant);
    const [, received] = tenant.received();
    expect(received!.text).toContain('red');
    expect((await views(tenant, occurrence)).map(view => view.text)).toContain(received!.text);
  });

  test('is no longer available after its user has been deleted, together with the history of the user', async () => {
    const tenant = await tenantWith();
    const occurrence = await sent(tenant);
    await tenant.sql(`update users set first_name = 'Bea' where organization_id = $1`, tenant.id);
    const { id } = (await tenant.deliveries(occurrence))[0]!;
    await tenant.sql('delete from users where organization_id = $1', tenant.id);
    const answer = await tenant.ask({ path: pathOf(tenant, occurrence, id) });
    expectProblem(answer, 404, 'message.not_found');
    expect(answer.body.detail).toContain('the user has been deleted');
    expect(await tenant.sql('select from user_history where organization_id = $1', tenant.id)).toEqual([]);
  });

  test('is shown as rendered for the last attempt', async () => {
    const tenant = await tenantWith();
    tenant.answer({ status: 503 });
    const occurrence = await tenant.trigger({ channels: ['hooks'] }, { n: 7 });
    await tenant.until(occurrence, 'retrying', 'suppressed');
    await tenant.sql(`update users set first_name = 'Bea' where organization_id = $1`, tenant.id);
    tenant.answer({});
    await tenant.hurry();
    await tenant.outcomes(occurrence);
    const shown = (await views(tenant, occurrence)).map(view => view.text);
    expect(tenant.received().map(one => one.text.slice(0, 3))).toEqual(['Ann', 'Bea']);
    expect(shown).toContain(tenant.received()[1]!.text);
  });
});

test('a waiting delivery is shown as it would be rendered now', async () => {
  const tenant = await tenantWith();
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`);
  const occurrence = await tenant.trigger({ channels: ['hooks'] }, { n: 7 });
  await tenant.until(occurrence, 'pending', 'suppressed');
  await tenant.sql(`update users set first_name = 'Bea' where organization_id = $1`, tenant.id);
  const waiting = (await tenant.deliveries(occurrence)).find(one => one.status === 'pending')!;
  expect((await tenant.ask({ path: pathOf(tenant, occurrence, waiting.id) })).body.text).toMatch(/^Bea /);
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/resume/`);
});

describe('the stored snapshot', () => {
  test('has no new version of a user when nothing changes that a template can use', async () => {
    const tenant = await tenantWith();
    const kept = () =>
      tenant.sql('select first_name, memberships, version from user_history where organization_id = $1', tenant.id);
    const registered = { first_name: 'Ann', memberships: null, version: 1 };
    expect(await kept()).toEqual([registered]);
    const path = `/api/o/${tenant.slug}/u/${ann.email}/`;
    await tenant.ask({
      method: 'PATCH',
      path,
      body: { first_name: 'Ann', custom_fields: ann.custom_fields, _mode: 'replace' },
    });
    await tenant.apply({ users: [ann], channels: [sandbox, { slug: 'hooks' }] });
    expect(await kept()).toEqual([registered]);
    await tenant.ask({ method: 'PATCH', path, body: { first_name: 'Bea' } });
    expect(await kept()).toEqual([registered, expect.objectContaining({ first_name: 'Ann', version: 2 })]);
  });

  test('is shared by many messages: template and layout are stored once, and the context once per channel', async () => {
    const tenant = await tenantWith();
    const [first, second] = [await sent(tenant), await sent(tenant)];
    const rows = await tenant.sql('select id from render_snapshots where organization_id = $1', tenant.id);
    expect(rows).toHaveLength(4);
    const used = await tenant.sql(
      'select distinct snapshot_id from deliveries where organization_id = $1 and occurrence_id in ($2, $3)',
      tenant.id,
      first,
      second,
    );
    expect(used).toHaveLength(2);
  });

  test('is kept while a delivery needs it, and deleted afterwards', { tags: ['sweep'] }, async () => {
    const tenant = await tenantWith();
    const occurrence = await sent(tenant);
    const before = await views(tenant, occurrence);
    for (const [, text] of changes) await tenant.sql(text, tenant.id);
    const { deps } = world.service.runtime;
    const count = async () => {
      const [row] = await tenant.sql(
        `select (select count(*)::int from render_snapshots where organization_id = $1) as render_snapshots,
          (select count(*)::int from user_history where organization_id = $1) as users`,
        tenant.id,
      );
      return row;
    };
    const kept = await count();
    // Makes all of it old, while the occurrence that needs it still exists.
    await tenant.sql(
      `update render_snapshots set used_at = now() - interval '9 days' where organization_id = $1`,
      tenant.id,
    );
    await tenant.sql(
      `update user_history set replaced_at = now() - interval '1 day' where organization_id = $1`,
      tenant.id,
    );
    await tenant.sql(
      `update occurrences set id = (lpad(to_hex(((extract(epoch from now()) - 10 * 86400) * 1000)::bigint), 12, '0') || substr(replace(id::text, '-', ''), 13))::uuid where id = $1`,
      occurrence,
    );
    await runMaintenance(deps, Date.now());
    expect(await count()).toEqual(kept);
    await tenant.sql('delete from occurrences where organization_id = $1', tenant.id);
    await runMaintenance(deps, Date.now());
    expect(await count()).toMatchObject({ render_snapshots: 0, users: kept!.users });
    await tenant.sql(
      `update user_history set replaced_at = now() - interval '3 days' where organization_id = $1`,
      tenant.id,
    );
    await runMaintenance(deps, Date.now());
    expect(await count()).toEqual({ render_snapshots: 0, users: 0 });
    expect(before).toHaveLength(2);
  });
});
