/** Categories and preferences, from the API to what is sent and what is suppressed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../support/api.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

const news = { slug: 'news', name: 'Newsletter', kind: 'promotional' };
const input = (category: Record<string, unknown> = {}) => ({
  users: ['a@x.test', 'b@x.test'],
  organization: { categories: [{ ...news, ...category }] },
  event: { category: 'news' },
});
const path = (tenant: Tenant, user = 'a@x.test') => `/api/o/${tenant.slug}/u/${user}/preferences/`;

async function choose(tenant: Tenant, ...preferences: Record<string, unknown>[]) {
  const answer = await tenant.ask({ method: 'PATCH', path: path(tenant), body: { preferences } });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.preferences;
}

const outcome = async (tenant: Tenant) => tenant.outcomes(await tenant.trigger());

test('a user who opted out gets nothing and the reason is explained; all others get the message', async () => {
  const tenant = await world.tenant(input());
  await choose(tenant, { category: 'news', channel_type: 'webhook', enabled: false });
  const occurrence = await tenant.trigger();
  expect(await tenant.outcomes(occurrence)).toEqual(['a@x.test suppressed: preference.off', 'b@x.test sent']);
  expect(tenant.received().map(one => one.to)).toEqual(['b@x.test']);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${occurrence}/why/?user=a@x.test` });
  expect(why.body.answers[0]).toMatchObject({ outcome: 'suppressed', reason: 'preference.off' });
  expect(why.body.answers[0].explanation).toMatch(/\(category news via webhook, api on 20\d\d-\d\d-\d\d\)\.$/);
  const simulated = await tenant.post(`${tenant.event}simulate/`, {});
  expect(simulated.body.notifications[0]).toMatchObject({ deliveries: 1, suppressed: { 'preference.off': 1 } });
  expect(simulated.body.deliveries.find((one: { user: string }) => one.user === 'a@x.test')).toMatchObject({
    reason: 'preference.off',
    detail: expect.stringContaining('category news via webhook'),
  });
});

test('a preference set between decision and sending takes effect', async () => {
  const tenant = await world.tenant(input());
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/pause/`);
  const occurrence = await tenant.trigger();
  await tenant.until(occurrence, 'pending');
  await choose(tenant, { enabled: false });
  await tenant.post(`/api/o/${tenant.slug}/c/hooks/resume/`);
  expect(await tenant.outcomes(occurrence)).toEqual(['a@x.test suppressed: preference.off', 'b@x.test sent']);
});

test('a required category overrides preferences, until it is no longer required', async () => {
  const tenant = await world.tenant(input({ kind: 'required' }));
  await choose(tenant, { enabled: false }, { category: 'news', enabled: false });
  expect(await outcome(tenant)).toEqual(['a@x.test sent', 'b@x.test sent']);
  const category = `/api/o/${tenant.slug}/categories/news/`;
  const patched = await tenant.ask({ method: 'PATCH', path: category, body: { kind: 'transactional' } });
  expect(patched.body).toMatchObject({ slug: 'news', kind: 'transactional', default: true, channels: null });
  expect(await outcome(tenant)).toEqual(['a@x.test suppressed: preference.off', 'b@x.test sent']);
});

test('a channel type that is off by default is used only after the user opts in', async () => {
  const tenant = await world.tenant(input({ channel_defaults: { webhook: false } }));
  await choose(tenant, { category: 'news', enabled: true });
  expect(await outcome(tenant)).toEqual(['a@x.test sent', 'b@x.test suppressed: preference.off']);
});

test('changes are merged: narrow preferences stay, null removes one, and the history lists all changes', async () => {
  const tenant = await world.tenant(input());
  await choose(
    tenant,
    { event: 'shop/web/go', enabled: true },
    { category: 'news', channel_type: 'email', enabled: false },
  );
  const all = await choose(tenant, { enabled: false });
  expect(all).toEqual([
    { category: null, event: null, channel_type: null, enabled: false, source: 'api', changed_at: expect.any(String) },
    expect.objectContaining({ category: 'news', channel_type: 'email', enabled: false }),
    expect.objectContaining({ event: 'shop/web/go', enabled: true }),
  ]);
  expect(await outcome(tenant)).toEqual(['a@x.test sent', 'b@x.test sent']);
  await choose(tenant, { event: 'shop/web/go', enabled: null });
  expect(await outcome(tenant)).toEqual(['a@x.test suppressed: preference.off', 'b@x.test sent']);
  const effective = await tenant.ask({ path: `${path(tenant)}effective/?event=shop/web/go` });
  expect(effective.body).toEqual({
    event: 'shop/web/go',
    category: { slug: 'news', name: 'Newsletter', kind: 'promotional' },
    channels: [
      {
        type: 'webhook',
        enabled: false,
        offered: false,
        decided_by: 'preference',
        preference: expect.objectContaining(all[0]),
      },
    ],
  });
  const other = await tenant.ask({ path: `${path(tenant, 'b@x.test')}effective/?category=general` });
  expect(other.body.channels).toEqual([
    { type: 'webhook', enabled: true, offered: false, decided_by: 'default', preference: null },
  ]);
  const history = await tenant.ask({ path: `${path(tenant)}history/` });
  expect(history.body.map((one: { enabled: boolean | null }) => one.enabled)).toEqual([null, false, true, false]);
  expect(history.body[0]).toMatchObject({ event: 'shop/web/go', source: 'api', changed_by: 'test' });
});

test('effective preferences are listed for every category, with what the preference page offers', async () => {
  const tenant = await world.tenant({
    ...input(),
    organization: {
      categories: [
        { ...news, channels: ['sms'], channel_defaults: { email: false } },
        { slug: 'security', name: 'Security', kind: 'required' },
      ],
    },
    channels: ['email', 'sms'].map(type => ({ slug: type, name: type, type, providers: [{ use: 'sandbox' }] })),
    notifications: [{ channels: ['email'] }],
  });
  await choose(tenant, { channel_type: 'sms', enabled: false });
  const all = async () => (await tenant.ask({ path: `${path(tenant)}effective/categories/` })).body;
  const summary = (await all()).map(
    ({ category, channels }: { category: { slug: string }; channels: Record<string, unknown>[] }) => [
      category.slug,
      ...channels.map(({ type, enabled, offered, decided_by }) => `${type} ${enabled} ${offered} ${decided_by}`),
    ],
  );
  expect(summary).toEqual([
    ['news', 'email false false category', 'sms false true preference'],
    ['security', 'email true false required', 'sms true false required'],
  ]);
  // The general category is listed once an event has no category.
  await tenant.ask({ method: 'PATCH', path: tenant.event, body: { category: null } });
  expect((await all()).map((one: { category: { slug: string } }) => one.category.slug)).toContain('general');
});

test('the events of a category are listed with their paths, those without one as general', async () => {
  const tenant = await world.tenant(input());
  const add = { slug: 'other', name: 'Other', active: false };
  await tenant.post(`${tenant.application}e/`, add);
  const events = async (query: string) => (await tenant.ask({ path: `/api/o/${tenant.slug}/event/${query}` })).body;
  const go = { path: 'shop/web/go', name: expect.any(String), active: true, category: 'news' };
  const other = { path: 'shop/web/other', name: 'Other', active: false, category: 'general' };
  expect(await events('')).toEqual([go, other]);
  expect(await events('?category=news')).toEqual([go]);
  expect(await events('?category=general')).toEqual([other]);
  expect(await events('?category=nope')).toEqual([]);
  await tenant.post(`/api/o/${tenant.slug}/categories/`, { slug: 'general', name: 'All the rest' });
  await tenant.ask({ method: 'PATCH', path: tenant.event, body: { category: 'general' } });
  expect(await events('?category=general')).toEqual([{ ...go, category: 'general' }, other]);
});

test('a preference link opens the page until the links of the user are revoked', async () => {
  const tenant = await world.tenant(input());
  const made = await tenant.post(`${path(tenant)}link/`);
  expect(made.status, made.text).toBe(201);
  const url = new URL(made.body.url);
  expect(url.origin).toBe(world.service.address);
  const open = async () => (await fetch(url)).status;
  expect(await open()).toBe(200);
  await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/u/a@x.test/token/` });
  expect(await open()).toBe(404);
});

test('the preference page can be previewed with another colour and logo without storing them', async () => {
  const tenant = await world.tenant(input());
  const preview = (body: object) => tenant.post(`/api/o/${tenant.slug}/preference-page/preview/`, body);
  const { html } = (await preview({ brand_color: '#a1b2c3', logo_url: 'https://x.test/logo.png', locale: 'de' })).body;
  expect(html).toContain('--brand:#a1b2c3');
  expect(html).toContain('src="https://x.test/logo.png"');
  expect(html).toContain('<html lang="de">');
  expect(html).not.toContain('<link');
  expect((await preview({})).body.html).not.toContain('#a1b2c3');
  expectProblem(await preview({ brand_color: 'red' }), 400, 'request.invalid', ['brand_color']);
});

test('concurrent changes of preferences are all kept', async () => {
  const tenant = await world.tenant(input());
  const types = ['email', 'sms', 'voice', 'whatsapp', 'telegram', 'slack', 'teams', 'discord'];
  await Promise.all(types.map(channel_type => choose(tenant, { channel_type, enabled: false })));
  const [row] = await tenant.sql<{ keys: string[] }>(
    `select array(select json_object_keys(chosen) order by 1) as keys from users where organization_id = $1 and email = 'a@x.test'`,
    tenant.id,
  );
  expect(row!.keys).toEqual(types.map(type => `everything ${type}`).sort());
});

test('invalid preferences are refused with the field named', async () => {
  const tenant = await world.tenant(input());
  const refused = async (fields: string[], ...preferences: unknown[]) =>
    expectProblem(
      await tenant.ask({ method: 'PATCH', path: path(tenant), body: { preferences } }),
      400,
      'request.invalid',
      fields,
    );
  await refused(['preferences/0/category'], { category: 'nope', enabled: false });
  await refused(['preferences/0/event'], { event: 'shop/web/nope', enabled: false });
  await refused(['preferences/0/event'], { category: 'news', event: 'shop/web/go', enabled: false });
  await refused(['preferences/0/channel_type'], { channel_type: 'pigeon', enabled: false });
  await refused(['preferences/1'], { enabled: false }, { enabled: true });
  await refused(['preferences/0/enabled'], { category: 'news' });
  expectProblem(await tenant.ask({ path: `${path(tenant)}effective/` }), 400, 'request.invalid', ['event']);
  expectProblem(await tenant.ask({ path: `${path(tenant)}effective/?event=a/b/c` }), 404, 'event.not_found');
});

test('a category with events cannot be deleted by the API or by a declarative file', async () => {
  const tenant = await world.tenant(input());
  const category = `/api/o/${tenant.slug}/categories/news/`;
  const refused = await tenant.ask({ method: 'DELETE', path: category });
  expect(refused.body).toMatchObject({ status: 409, code: 'resource.in_use', uses: { events: ['shop/web/go'] } });
  await expect(tenant.apply({ organization: { categories: [] }, event: { category: 'news' } }, true)).rejects.toThrow(
    'there is no category "news" (use one of general)',
  );
  const bare = await tenant.ask({ method: 'PATCH', path: tenant.event, body: { category: null } });
  expect(bare.body).toMatchObject({ category: 'general' });
  expect((await tenant.ask({ method: 'DELETE', path: category })).body).toEqual({ deleted: { categories: 1 } });
});

test('changing a notification does not change the category of its event', async () => {
  const tenant = await world.tenant(input());
  const [notification] = (await tenant.ask({ path: `${tenant.event}n/` })).body;
  await tenant.ask({ method: 'PATCH', path: `${tenant.event}n/${notification.id}/`, body: { priority: 'bulk' } });
  expect((await tenant.ask({ path: tenant.event })).body).toMatchObject({ category: 'news' });
});

test('opt-outs of an imported file take effect before anything is sent', async () => {
  const tenant = await world.tenant(input());
  const [list] = (await tenant.ask({ path: `/api/o/${tenant.slug}/p/shop/d/` })).body;
  const send = (body: string, query = '') =>
    tenant.ask({
      method: 'POST',
      path: `/api/o/${tenant.slug}/p/shop/d/${list.id}/import/${query}`,
      headers: { 'content-type': 'text/csv' },
      body,
    });
  const answer = await send('email,opt_out\nc@x.test,all\nd@x.test,news general\ne@x.test,no\n');
  expect(answer.body).toMatchObject({ added: 3, opt_outs: 3 });
  expect(await outcome(tenant)).toEqual([
    'a@x.test sent',
    'b@x.test sent',
    'c@x.test suppressed: preference.off',
    'd@x.test suppressed: preference.off',
    'e@x.test sent',
  ]);
  const chosen = await tenant.ask({ path: path(tenant, 'c@x.test') });
  expect(chosen.body.preferences).toEqual([
    expect.objectContaining({ category: null, enabled: false, source: 'import' }),
  ]);
  expectProblem(await send('email,opt_out\nf@x.test,nope\n'), 400, 'request.invalid', ['row 2/opt_out']);
  const skipped = await send('email,opt_out\nf@x.test,nope\ng@x.test,\n', '?on_error=skip');
  expect(skipped.body).toMatchObject({ added: 1, errors_total: 1 });
});
