/**
 * Two complete tenants with the same slugs below the organization. This reveals leaks between them: a path is correct for
 * both, and only the tenant is wrong.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { openRuntime, type Service } from '../../src/app.ts';
import { generateWebhookSecret } from '../../src/core/configuration/webhooks.ts';
import { generateKey } from '../../src/core/identity/keys.ts';
import { type KeyPermission, permissions } from '../../src/core/identity/permissions.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import type { Db } from '../../src/db/connection/pool.ts';
import { sealCalendar } from '../../src/services/audience/on-call/calendars/secrets.ts';
import { sealSource, sealWatch } from '../../src/services/configuration/source-secrets.ts';
import { sealWebhookSecrets } from '../../src/services/configuration/webhook-secrets.ts';
import type { Deps } from '../../src/services/deps.ts';
import { linkUploads, uploadAttachment } from '../../src/services/history/attachments.ts';
import { createKey, type KeyInput } from '../../src/services/identity/keys.ts';
import { createTestDatabase, silent, testConfig, testService } from './database.ts';

export interface Tenant {
  id: number;
  slug: string;
  projectId: number;
  otherProjectId: number;
  applicationId: number;
  eventId: number;
  /** List `Customers` of the project `shop`, with two members. */
  listId: number;
  /** List `Staff` of the project `depot`. */
  otherListId: number;
  /** Notification `receipt` of the event `order-paid`, disabled, with one version of its message. */
  notificationId: number;
  /** Notification of the event `order-shipped`. */
  otherNotificationId: number;
  /** Layouts `Frame` of the organization, of the project `shop`, and of `depot`. */
  layoutIds: { organization: number; project: number; otherProject: number };
  /** One message each of the webhooks `ops` and `spare`. */
  webhookMessageIds: number[];
  /** A silence that matches nothing. */
  silenceId: string;
  overrideIds: number[];
  swapIds: number[];
  /** One absence each of Jane and of another user. */
  absenceIds: number[];
  /** One absence calendar each of Jane and of another user. */
  absenceCalendarIds: number[];
  /** One payload each of the sources `prometheus` and `spare`. */
  payloadIds: string[];
  /** Username of Jane: jane@<slug>.test. */
  username: string;
  /** Two completed occurrences, each with a delivery to Jane. */
  occurrences: { id: string; deliveryId: number }[];
  /** A file of the first occurrence, and one of the second. */
  attachmentIds: string[];
  /** Inbox messages of Jane and of Joe. */
  messageIds: number[];
  /** A viewer, and the only owner. */
  accountIds: [number, number];
  inviteIds: number[];
  /** Email addresses of Jane and of Joe. */
  addressIds: number[];
  /** An address of Jane that is in no list. */
  spareAddressId: number;
  /** Jane and Joe in `Customers`, Jane in `Staff`. */
  memberIds: number[];
  /** The address fax@<slug>.test, which no user has. */
  suppressionId: number;
  keys: TenantKeys;
}

export interface TenantKeys {
  all: string;
  /** Keys with only this permission. */
  only: Record<KeyPermission, string>;
  /** Keys with every permission except this one. */
  without: Record<KeyPermission, string>;
  onProject: string;
  onOtherProject: string;
  onApplication: string;
  onOtherApplication: string;
  onOtherProjectsApplication: string;
}

export interface BadKey {
  what: string;
  /** The whole Authorization header; undefined for none. */
  authorization: string | undefined;
  code: string;
}

/** Returns the id part of a key. */
export function keyIdOf(key: string): string {
  return key.split('_')[1]!;
}

export interface Tenants {
  acme: Tenant;
  rival: Tenant;
  badKeys: BadKey[];
  /** Invalid keys of acme. */
  revokedKeyId: string;
}

let template: Promise<{ name: string; tenants: Tenants }> | undefined;

/** Starts the API on a new database with the tenants. They are built once per process: that takes as long as a start. */
export async function testTenants(env: Record<string, string> = {}): Promise<{ service: Service; tenants: Tenants }> {
  template ??= buildTemplate();
  const { name, tenants } = await template;
  const service = await testService({ BELFRY_ROLE: 'api', ...env }, name);
  return { service, tenants: structuredClone(tenants) };
}

async function buildTemplate() {
  const { name, url } = await createTestDatabase();
  const runtime = await openRuntime(testConfig(url), silent);
  const tenants = await buildTenants(runtime.deps);
  await runtime.close();
  return { name, tenants };
}

export async function buildTenants(deps: Deps): Promise<Tenants> {
  const acme = await buildTenant(deps, 'acme');
  const rival = await buildTenant(deps, 'rival');
  return { acme, rival, ...(await buildBadKeys(deps, acme)) };
}

let messages = 100;

async function buildTenant(deps: Deps, slug: string): Promise<Tenant> {
  const { db } = deps;
  const { id } = await insert(db, 'organizations', { slug, name: `The ${slug} company` });
  const own = { organization_id: id };
  const project = await insert(db, 'projects', { ...own, slug: 'shop', name: 'Shop' });
  const otherProject = await insert(db, 'projects', { ...own, slug: 'depot', name: 'Depot' });
  const inShop = { ...own, project_id: project.id };
  const inDepot = { ...own, project_id: otherProject.id };

  const application = await insert(db, 'applications', { ...inShop, slug: 'web', name: 'Web shop' });
  const otherApplication = await insert(db, 'applications', { ...inShop, slug: 'till', name: 'Till' });
  const farApplication = await insert(db, 'applications', { ...inDepot, slug: 'forklift', name: 'Forklift' });
  const inWeb = { ...own, application_id: application.id };
  const event = await insert(db, 'events', { ...inWeb, slug: 'order-paid', name: 'Order paid' });
  const otherEvent = await insert(db, 'events', { ...inWeb, slug: 'order-shipped', name: 'Order shipped' });
  await insert(db, 'events', { ...inWeb, slug: 'order-lost', name: 'Order lost', active: false });
  await insert(db, 'events', { ...own, application_id: otherApplication.id, slug: 'till-open', name: 'Till open' });
  await insert(db, 'events', { ...own, application_id: farApplication.id, slug: 'lift', name: 'Lift' });

  const mail = await insert(db, 'channels', { ...own, slug: 'mail', name: 'Mail', type: 'email' });
  await insert(db, 'channels', { ...own, slug: 'texts', name: 'Texts', type: 'sms', enabled: false });
  await insert(db, 'channels', { ...own, slug: 'relay', name: 'Relay', type: 'webhook', enabled: false });
  await insert(db, 'channels', { ...inShop, slug: 'relay', name: 'Shop relay', type: 'webhook', enabled: false });
  await insert(db, 'channels', { ...inDepot, slug: 'hooks', name: 'Hooks', type: 'webhook' });
  await insert(db, 'channels', { ...inShop, slug: 'old-mail', name: 'Old mail', type: 'email', enabled: false });
  await insert(db, 'channels', { ...inShop, slug: 'shop-mail', name: 'Shop mail', type: 'email' });

  const people: { id: number; email: string; address: number }[] = [];
  for (const name of ['jane', 'joe']) {
    const email = `${name}@${slug}.test`;
    const user = await insert(db, 'users', { ...own, username: email, email, first_name: name, last_name: 'Doe' });
    const address = await insert(db, 'addresses', { ...own, user_id: user.id, name: 'email', value: email });
    people.push({ id: user.id, email, address: address.id });
  }
  await insert(db, 'categories', { ...own, slug: 'news', name: 'News', kind: 'promotional' });
  const list = await insert(db, 'distribution_lists', { ...inShop, name: 'Customers', name_key: 'customers' });
  const otherList = await insert(db, 'distribution_lists', { ...inDepot, name: 'Staff', name_key: 'staff' });
  const memberIds: number[] = [];
  const join = async (list_id: number, address_id: number) =>
    void memberIds.push((await insert(db, 'members', { ...own, list_id, address_id })).id);
  for (const { address } of people) await join(list.id, address);
  await join(otherList.id, people[0]!.address);
  const spare = await insert(db, 'addresses', { ...own, user_id: people[0]!.id, name: 'fax', value: '12' });

  const suppressed = { channel_type: 'email', target: `fax@${slug}.test`, reason: 'manual', source: 'manual' };
  const suppression = await insert(db, 'suppressions', { ...own, ...suppressed });

  const notifications: number[] = [];
  for (const event_id of [event.id, otherEvent.id]) {
    const about = { event_id, name: 'receipt', active: false, recipients: '{"trigger":true}', channels: ['mail'] };
    const { id: notification_id } = await insert(db, 'notifications', { ...own, ...about });
    const content = '{"message":{"body":"Thank you."},"overrides":{}}';
    await insert(db, 'messages', { ...own, notification_id, version: 1, content }, 'version');
    notifications.push(notification_id);
  }

  const frame = { name: 'Frame', name_key: 'frame', body: '{{ content }}' };
  const layoutIds = {
    organization: (await insert(db, 'layouts', { ...own, ...frame })).id,
    project: (await insert(db, 'layouts', { ...inShop, ...frame })).id,
    otherProject: (await insert(db, 'layouts', { ...inDepot, ...frame })).id,
  };

  for (const layout_id of Object.values(layoutIds)) {
    await insert(db, 'layout_versions', { ...own, layout_id, version: 1, body: frame.body }, 'version');
  }

  const webhookMessageIds: number[] = [];
  for (const name of slug === 'acme' ? ['ops', 'spare'] : ['rivals', 'spare']) {
    const secrets = sealWebhookSecrets(deps.cipher, id, name, { secret: generateWebhookSecret() });
    const about = { slug: name, name, url: 'http://127.0.0.1:9/', types: ['delivery.sent'], secrets };
    const { id: webhook_id } = await insert(db, 'webhooks', { ...own, ...about });
    await insert(db, 'webhook_states', { ...own, webhook_id }, 'webhook_id');
    const told = { type: 'delivery.sent', data: '{}', status: 'sent' };
    webhookMessageIds.push((await insert(db, 'webhook_messages', { ...own, webhook_id, ...told })).id);
  }

  const payloadIds: string[] = [];
  for (const name of slug === 'acme' ? ['prometheus', 'spare'] : ['rivals', 'spare']) {
    const columns = sealSource(deps.cipher, id, application.id, name, {});
    const routes = JSON.stringify([{ event: 'order-paid' }]);
    const about = { slug: name, name, use: 'alertmanager', routes, ...columns };
    const { id: source_id } = await insert(db, 'sources', { ...inWeb, ...about });
    const payloadId = uuidv7(Date.now());
    const request = '{"method":"POST","url":"/in/…/","content_type":"application/json","headers":{}}';
    const received = { id: payloadId, state: 'taken', request, body: Buffer.from('{"alerts":[]}'), bytes: 13 };
    await insert(db, 'source_payloads', { ...own, source_id, ...received });
    payloadIds.push(payloadId);
  }

  for (const name of slug === 'acme' ? ['backup', 'spare'] : ['rivals', 'spare']) {
    const columns = sealSource(deps.cipher, id, application.id, name, {}, 'heartbeat');
    const about = { slug: name, name, every: '1d', timezone: 'UTC', grace: '1h', event: 'order-paid', enabled: true };
    const { id: heartbeat_id } = await insert(db, 'heartbeats', { ...inWeb, ...about, ...columns });
    await insert(db, 'heartbeat_states', { ...own, heartbeat_id }, 'heartbeat_id');
  }
  for (const name of slug === 'acme' ? ['outside', 'spare'] : ['rivals', 'spare']) {
    const secrets = sealWatch(deps.cipher, id, application.id, name, 'https://monitor.test/ping/1');
    await insert(db, 'watches', { ...inWeb, slug: name, event: 'order-paid', every: '1m', enabled: false, secrets });
  }
  const overrideIds: number[] = [];
  const swapIds: number[] = [];
  for (const name of slug === 'acme' ? ['primary', 'spare'] : ['rivals', 'spare']) {
    const layer = { name: 'week', every: '1w', from: '2026-01-05T09:00', users: [people[0]!.email] };
    const about = {
      slug: name,
      name,
      timezone: 'UTC',
      layers: JSON.stringify([layer]),
      combine: 'cover',
      page: 'web/order-paid',
    };
    const { id: schedule_id } = await insert(db, 'schedules', { ...inShop, ...about });
    const times = { starts_at: new Date(), ends_at: new Date(Date.now() + 86_400_000), created_by: 'ann' };
    const override = { ...own, schedule_id, user_id: people[0]!.id, ...times };
    overrideIds.push((await insert(db, 'schedule_overrides', override)).id);
    const swapped = { starts_at: times.ends_at, ends_at: new Date(times.ends_at.getTime() + 86_400_000) };
    swapIds.push((await insert(db, 'schedule_swaps', { ...override, ...swapped })).id);
  }
  const absenceIds: number[] = [];
  const absenceCalendarIds: number[] = [];
  for (const { id: user_id } of people.slice(0, 2)) {
    const times = { starts_at: new Date(), ends_at: new Date(Date.now() + 86_400_000), created_by: 'ann' };
    absenceIds.push((await insert(db, 'absences', { ...own, user_id, ...times })).id);
    const secrets = sealCalendar(deps.cipher, own.organization_id, user_id, 'https://calendar.acme.test/jane.ics');
    const calendar = {
      ...own,
      user_id,
      secrets,
      host: 'calendar.acme.test',
      due_at: new Date(Date.now() + 86_400_000),
      created_by: 'ann',
    };
    absenceCalendarIds.push((await insert(db, 'absence_calendars', calendar)).id);
  }
  const silenceId = uuidv7(Date.now());
  const [starts_at, ends_at] = [new Date(), new Date(Date.now() + 86_400_000)];
  const matchers = '[{"field":"labels.none","op":"=","value":"none"}]';
  const silence = { id: silenceId, matchers, reason: 'maintenance', starts_at, ends_at, created_by: 'ann' };
  await insert(db, 'silences', { ...own, ...silence });

  const occurrences: Tenant['occurrences'] = [];
  const attachmentIds: string[] = [];
  const [jane] = people;
  for (let i = 0; i < 2; i++) {
    const at = new Date();
    const occurrenceId = uuidv7(at.getTime());
    const past = { due_at: at, created_at: at, completed_at: at, status: 'completed' };
    const of = { ...inShop, application_id: application.id, event_id: event.id };
    await insert(db, 'occurrences', { ...of, ...past, id: occurrenceId, context: '{}', options: '{}' });
    const about = { occurrence_id: occurrenceId, notification_id: 1, version: 1, channel_id: mail.id };
    const sent = { user_id: jane!.id, address: jane!.email, status: 'sent', priority: 1, due_at: at };
    const delivery = await insert(db, 'deliveries', { ...own, ...about, ...sent });
    const decided = { kind: 'audience', event_id: event.id, state: 'approved', threshold: 1, expires_at: at };
    await insert(db, 'holds', { ...own, occurrence_id: occurrenceId, ...decided }, 'organization_id');
    occurrences.push({ id: occurrenceId, deliveryId: delivery.id });
    attachmentIds.push(await attach(deps, own.organization_id, occurrenceId));
  }
  const messageIds: number[] = [];
  for (const { id: user_id } of people) {
    const message = { occurrence_id: occurrences[0]!.id, title: 'Paid', body: 'Thank you.' };
    messageIds.push((await insert(db, 'inbox', { ...own, user_id, id: ++messages, ...message })).id);
  }

  const accountIds: number[] = [];
  for (const role of ['viewer', 'owner']) {
    const account = await insert(db, 'accounts', { email: `${role}@${slug}.test`, name: role });
    await db
      .insertInto('memberships')
      .values({ ...own, account_id: account.id, role })
      .execute();
    accountIds.push(account.id);
  }
  const expires_at = new Date(Date.now() + 86_400_000);
  const inviteIds: number[] = [];
  for (const name of ['ann', 'bob']) {
    const invite = { email: `${name}@${slug}.test`, role: 'viewer', invited_by: 'somebody', expires_at };
    inviteIds.push((await insert(db, 'invites', { ...own, ...invite, token_hash: randomBytes(32) })).id);
  }

  return {
    id,
    slug,
    projectId: project.id,
    otherProjectId: otherProject.id,
    applicationId: application.id,
    eventId: event.id,
    listId: list.id,
    otherListId: otherList.id,
    notificationId: notifications[0]!,
    otherNotificationId: notifications[1]!,
    layoutIds,
    webhookMessageIds,
    silenceId,
    overrideIds,
    swapIds,
    absenceIds,
    absenceCalendarIds,
    payloadIds,
    username: `jane@${slug}.test`,
    occurrences,
    attachmentIds,
    messageIds,
    accountIds: accountIds as [number, number],
    inviteIds,
    addressIds: people.map(({ address }) => address),
    spareAddressId: spare.id,
    memberIds,
    suppressionId: suppression.id,
    keys: await buildKeys(deps, slug),
  };
}

async function buildKeys(deps: Deps, slug: string): Promise<TenantKeys> {
  const make = async (name: string, input: Partial<KeyInput> = {}) =>
    (await createKey(deps, slug, { name: `${slug} ${name}`, permissions: ['*'], ...input })).key;
  const each = async (what: string, granted: (one: KeyPermission) => KeyPermission[]) =>
    Object.fromEntries(
      await Promise.all(
        permissions.map(async one => [one, await make(`${what} ${one}`, { permissions: granted(one) })]),
      ),
    ) as Record<KeyPermission, string>;
  return {
    all: await make('all'),
    only: await each('only', one => [one]),
    without: await each('without', one => permissions.filter(other => other !== one)),
    onProject: await make('shop', { project: 'shop' }),
    onOtherProject: await make('depot', { project: 'depot' }),
    onApplication: await make('web', { project: 'shop', application: 'web' }),
    onOtherApplication: await make('till', { project: 'shop', application: 'till' }),
    onOtherProjectsApplication: await make('forklift', { project: 'depot', application: 'forklift' }),
  };
}

async function buildBadKeys(deps: Deps, { slug, keys }: Tenant) {
  const revoked = await createKey(deps, slug, { name: 'revoked', permissions: ['*'] });
  await deps.db.updateTable('keys').set({ revoked_at: new Date() }).where('id', '=', revoked.id).execute();
  const expired = await createKey(deps, slug, { name: 'expired', permissions: ['*'], expires_at: new Date(1) });
  const last = keys.all.at(-1) === 'a' ? 'b' : 'a';
  const keyId = keyIdOf(keys.all);
  const bad = (what: string, authorization: string | undefined, code = 'key.invalid') => ({
    what,
    authorization,
    code,
  });
  const badKeys: BadKey[] = [
    bad('no key', undefined, 'key.missing'),
    bad('an empty header', '', 'key.missing'),
    bad('a scheme without a key', 'Key'),
    bad('a key without a scheme', keys.all),
    bad('another scheme', `Basic ${keys.all}`),
    bad('two keys', `Key ${keys.all} ${keys.all}`),
    bad('a text that is no key', 'Key sesame'),
    bad('a key with a wrong checksum', `Key ${keys.all.slice(0, -1)}${last}`),
    bad('a well-formed key that was never given out', `Key ${generateKey().key}`),
    bad('the id of a real key with another secret', `Key ${forgeKey(keyId)}`),
    bad('a revoked key', `Key ${revoked.key}`, 'key.revoked'),
    bad('an expired key', `Key ${expired.key}`, 'key.expired'),
  ];
  return { badKeys, revokedKeyId: revoked.id };
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns the last six characters of a key: the CRC-32 of the characters before them, in base 62. */
export function keyChecksum(id: string, random: string): string {
  let rest = crc32(`${id}_${random}`);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = alphabet[rest % 62]! + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Returns a key with a correct checksum but another secret, for an existing id. */
export function forgeKey(id: string): string {
  const random = 'f'.repeat(32);
  return `bf_${id}_${random}${keyChecksum(id, random)}`;
}

type Table = Parameters<Db['insertInto']>[0];

/** Inserts a row; the database checks the names of tables and columns. */
async function insert(
  db: Db,
  table: string,
  values: Record<string, unknown>,
  returned = 'id',
): Promise<{ id: number }> {
  const row = await db
    .insertInto(table as Table & 'users')
    .values(values as never)
    .returning(returned as 'id')
    .executeTakeFirstOrThrow();
  return row;
}

async function attach(deps: Deps, organizationId: number, occurrenceId: string): Promise<string> {
  const upload = { name: 'a.txt', contentType: 'text/plain', content: Buffer.from('a file') };
  const { id } = await uploadAttachment(deps, organizationId, upload);
  await linkUploads(deps, organizationId, occurrenceId, [{ id }]);
  return id;
}
