/** Paging the users on call, or one person, by hand: by API and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../src/services/identity/keys.ts';
import { ask } from '../support/api.ts';
import { command } from '../support/command.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

/** Ann has been on call ever since. */
const layer = { name: 'always', every: '1d', from: '2026-01-01T00:00', users: ['ann@x.test'] };
const primary = { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [layer], page: 'web/go' };
const notification = {
  recipients: { schedule: 'primary' },
  message: { subject: '{{ title }}', body: '{{ message }} ({{ paged_by }}, {{ schedule }})' },
};

const tenantOf = () =>
  world.tenant({
    users: ['ann@x.test', 'bob@x.test', { email: 'max@x.test', locked: true }],
    members: ['ann@x.test'],
    schedules: [primary],
    notifications: [notification],
  });

const pathOf = (tenant: Tenant, slug = 'primary') => `/api/o/${tenant.slug}/p/shop/schedules/${slug}/`;
const page = (tenant: Tenant, body: object, slug?: string) => tenant.post(`${pathOf(tenant, slug)}page/`, body);

async function messageOf(tenant: Tenant, id: string) {
  const delivery = (await tenant.deliveries(id))[0]!.id;
  return (await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery}/message/` })).body;
}

describe('a page', () => {
  test('goes to the users on call, says who pages, and is in the audit log once', async () => {
    const tenant = await tenantOf();
    const body = { message: 'The website is down\nfor everyone', idempotency_key: 'one' };
    const paged = await page(tenant, body);
    expect(paged.status, paged.text).toBe(201);
    const { occurrence } = paged.body;
    expect(await tenant.outcomes(occurrence)).toEqual(['ann@x.test sent']);
    expect(await messageOf(tenant, occurrence)).toMatchObject({
      title: 'The website is down',
      text: expect.stringMatching(/^The website is down\s+for everyone \(API key .*, primary\)$/),
    });
    expect(await tenant.occurrence(occurrence)).toMatchObject({
      context: { title: 'The website is down', message: body.message, schedule: 'primary' },
      options: { priority: 'urgent' },
    });
    expect((await page(tenant, body)).body).toEqual({ occurrence });
    expect((await page(tenant, { ...body, message: 'Other' })).body.code).toBe('idempotency.conflict');
    const { body: audit } = await tenant.ask({ path: `/api/o/${tenant.slug}/audit/?action=page` });
    expect(audit).toMatchObject([
      { noun: 'schedule', path: 'shop/primary', after: { occurrence, urgent: true, message: body.message } },
    ]);
    expect(audit).toHaveLength(1);
  });

  test('of a person reaches only this person, by the rules for important messages if it is urgent', async () => {
    const reach = { important: [{ by: 'sms' }], normal: [{ by: 'email' }] };
    const sandboxOf = (type: string) => ({ slug: `by-${type}`, name: type, type, providers: [{ use: 'sandbox' }] });
    const tenant = await world.tenant({
      users: ['ann@x.test', { email: 'bob@x.test', reach }],
      schedules: [primary],
      channels: [sandboxOf('email'), sandboxOf('sms')],
      notifications: [{ ...notification, channels: ['personal'] }],
    });
    const sentBy = async (more: object) => {
      const { occurrence } = (await page(tenant, { user: 'Bob@x.test', message: 'Call me', ...more })).body;
      return (await tenant.until(occurrence, 'sent')).map(({ user, channel }) => `${user} ${channel}`);
    };
    expect(await sentBy({})).toEqual(['bob@x.test by-sms']);
    expect(await sentBy({ urgent: false })).toEqual(['bob@x.test by-email']);
  });

  test.each([
    ['without an event', [notification], { page: undefined }, {}, /names? an event with `page`/],
    [
      'with an event that goes elsewhere',
      [{ recipients: { list: 'Managers' } }],
      {},
      {},
      /goes to the schedule primary/,
    ],
    [
      'of a person with an event that adds no one',
      [{ message: notification.message, steps: [{ channels: ['hooks'], recipients: { schedule: 'primary' } }] }],
      {},
      { user: 'bob@x.test' },
      /goes to recipients that the trigger names/,
    ],
  ])('%s is refused', async (_, notifications, more, body, message) => {
    const tenant = await world.tenant({
      users: ['ann@x.test', 'bob@x.test'],
      lists: { Managers: ['ann@x.test'] },
      schedules: [{ ...primary, ...more }],
      notifications: notifications,
    });
    const refused = await page(tenant, { message: 'x', ...body });
    expect(refused.status, refused.text).toBe(409);
    expect(refused.body).toMatchObject({ code: 'schedule.not_pageable', detail: expect.stringMatching(message) });
  });

  test('of someone who would not get it, or without a message, is refused with the field', async () => {
    const tenant = await tenantOf();
    expect((await page(tenant, { user: 'no@x.test', message: 'x' })).body.errors).toEqual({
      user: ['there is no user "no@x.test"'],
    });
    expect((await page(tenant, { user: 'max@x.test', message: 'x' })).body.errors).toEqual({
      user: ['is locked, and would not be notified'],
    });
    expect((await page(tenant, { message: ' ' })).body.errors).toHaveProperty('message');
  });

  test('needs its own permission', async () => {
    const tenant = await tenantOf();
    const { deps } = world.service.runtime;
    const post = async (permission: string) => {
      const { key } = await createKey(deps, tenant.slug, { name: permission, permissions: [permission] });
      const path = `${pathOf(tenant)}page/`;
      return (await ask(world.service.address, { key, method: 'POST', path, body: { message: 'x' } })).status;
    };
    expect(await post('schedule:override')).toBe(403);
    expect(await post('schedule:page')).toBe(201);
  });

  test.each([true, false])('is triggered on the command line, with a server: %s', async remote => {
    const tenant = await tenantOf();
    const { deps, url } = world.service.runtime;
    const { key } = await createKey(deps, tenant.slug, { name: 'cli', permissions: ['schedule:page'] });
    const local = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
    const args = ['page', `${tenant.slug}/shop/primary`, '--user', 'bob@x.test', 'Call me'];
    const done = await command(args, remote ? { BELFRY_URL: world.service.address, BELFRY_KEY: key } : local);
    expect(done.code, done.stderr).toBe(0);
    expect(await tenant.outcomes(done.stdout.trim())).toEqual(['bob@x.test sent']);
  });
});

test.each([
  ['web', 'page', 'must be the slugs of an application of the project and its event: application/event'],
  ['web/none', 'page', 'there is no event "none" in the application web'],
  ['none/go', 'page', 'there is no event "go" in the application none'],
])('an event %s of a page is refused with the field', async (event, field, message) => {
  const tenant = await tenantOf();
  const body = { ...primary, slug: 'other', page: event };
  const refused = await tenant.post(`/api/o/${tenant.slug}/p/shop/schedules/`, body);
  expect(refused.status, refused.text).toBe(400);
  expect(refused.body.errors[field][0]).toContain(message);
});
