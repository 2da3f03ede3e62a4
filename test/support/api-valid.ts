/** Valid bodies generated from a route's schema, into which a hostile value can be inserted at any path. */
import type { Route } from '../../src/http/server/route.ts';
import { everything } from './declarative.ts';
import { keyIdOf, type Tenants } from './tenants.ts';

interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  minimum?: number;
  pattern?: string;
  format?: string;
}

let count = 0;

/** Values by field name, for fields that need more than their schema says. */
const byName: Record<string, () => unknown> = {
  slug: () => `sample-${++count}`,
  name: () => `sample-${++count}`,
  username: () => `sample-${++count}@acme.test`,
  email: () => `sample-${++count}@acme.test`,
  user: () => 'jane@acme.test',
  recipients: () => ['jane@acme.test'],
  channels: () => ['mail'],
  channel: () => 'mail',
  list: () => 'Customers',
  distribution_list: () => 'Customers',
  layout: () => 'Frame',
  category: () => 'news',
  project: () => 'shop',
  application: () => 'web',
  channel_type: () => 'email',
  target: () => `sample-${++count}@acme.test`,
  locale: () => 'en',
  timezone: () => 'Europe/Berlin',
  brand_color: () => '#ffcc00',
  logo_url: () => 'https://acme.test/logo.png',
  avatar: () => 'https://acme.test/logo.png',
  url: () => 'https://hooks.acme.test/in',
  endpoint: () => 'https://push.acme.test/1',
  filter: () => 'amount > `1`',
  unless: () => 'acknowledged',
  users: () => "custom_fields.tier == 'gold'",
  key: () => 'order',
  every: () => '1h',
  password: () => 'correct horse battery',
  environs: () => ['live'],
  permissions: () => ['system:ping'],
  allowed_networks: () => ['203.0.113.0/24'],
  types: () => ['delivery.failed'],
  limit_to: () => ['jane@acme.test'],
  context_schema: () => ({ type: 'object', properties: { order: { type: 'string' } } }),
  context: () => ({ order: 'A-1', tags: ['a'], nested: { deep: 1 } }),
  extra_context: () => ({ order: 'A-1' }),
  custom_fields: () => ({ tier: 'gold', tags: ['a'] }),
  providers: () => [{ use: 'sandbox' }],
  channel_defaults: () => ({ email: false }),
  overrides: () => ({ mail: { subject: 'Hello', body: 'Hello' } }),
  locales: () => ({ de: {} }),
  secret: () => 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5',
};

const options = {
  channels: ['mail'],
  limit_to: ['jane@acme.test'],
  recipients: ['jane@acme.test'],
  environs: ['live'],
  delay: '10m',
  expires_at: '2100-01-31T09:00:00Z',
  priority: 'urgent',
};
const message = {
  subject: 'Order {{ order }}',
  body: 'Thank **you** for {{ order }}.',
  layout: 'Frame',
  strict: false,
  avatar: 'https://acme.test/a.png',
  actions: [
    { name: 'open', label: 'Open {{ order }}', url: 'https://acme.test/{{ order }}' },
    { name: 'ship', label: 'Ship', event: 'order-shipped' },
  ],
  attachments: [{ url: 'https://acme.test/{{ order }}.pdf', name: '{{ order }}.pdf', content_id: 'a' }],
  locales: { de: { subject: 'Bestellung {{ order }}', body: 'Danke.' } },
};
const overrides = { mail: { subject: 'Order', body: 'Thanks.', locales: { de: { body: 'Danke.' } } } };
const notification = {
  active: false,
  recipients: {
    list: 'Customers',
    users: "custom_fields.tier == 'gold'",
    schedule: 'primary',
    offset: 1,
    trigger: true,
  },
  filter: 'amount > `1`',
  environs: ['live'],
  extra_context: { order: 'A-1' },
};
const steps = [
  { channels: ['mail'] },
  { after: '10m', unless: 'acknowledged', channels: ['mail'], recipients: { list: 'Customers' }, repeat: 2 },
];

/** Bodies of routes whose fields depend on each other or on existing data. */
const byRoute: Record<string, (tenants: Tenants) => unknown> = {
  putUser: () => ({ first_name: 'Jane', locale: 'en', custom_fields: { tags: ['a'] }, _mode: 'MERGE', id: 1 }),
  updateUser: () => ({ last_name: 'Doe', locked: false, custom_fields: { tier: { level: 1 } }, _mode: 'REPLACE' }),
  triggerEvent: ({ acme }) => ({
    context: byName.context!(),
    options: {
      ...options,
      idempotency_key: `k-${++count}`,
      attachments: [{ id: acme.attachmentIds[0], name: 'b.txt', content_id: 'b' }],
    },
  }),
  simulateEvent: () => ({ context: byName.context!(), options: { ...options, dedup_key: 'order A-1' } }),
  createSilence: () => ({
    path: 'shop/web/order-paid',
    matchers: [{ field: 'labels.alertname', op: '~', value: 'Disk*' }],
    reason: 'maintenance',
    duration: '90m',
    recurrence: { timezone: 'Europe/Berlin', from: '22:00', to: '06:00', weekdays: ['sat'] },
  }),
  previewSilence: () => ({ path: 'shop', matchers: [{ field: 'labels.alertname', op: '!=', value: 'x' }] }),
  updateOrganization: () => {
    const { name, retention_days, brand_color, logo_url, timezone, quiet_hours, max_per_day, guard, service_levels } =
      everything('acme');
    return { name, retention_days, brand_color, logo_url, timezone, quiet_hours, max_per_day, guard, service_levels };
  },
  updateLimits: () => ({ triggers_per_second: 1_000_000, deliveries_per_trigger: null, users: null }),
  updateProject: () => ({ name: 'Shop' }),
  updateApplication: () => ({ name: 'Web' }),
  updateEvent: () => ({ name: 'Order paid', active: true, category: 'news', context_schema: null }),
  createSource: () => ({ ...source, slug: `sample-${++count}`, use: 'alertmanager' }),
  updateSource: () => ({ ...source, use: 'grafana', secret: 'sesame' }),
  previewSource: () => ({
    source: { slug: 'prometheus', use: 'alertmanager', routes: [{ event: 'order-paid' }] },
    request: { body: '{"alerts":[]}', content_type: 'application/json', method: 'POST', url: '/in/', headers: {} },
  }),
  createSchedule: () => ({ ...schedule, slug: `sample-${++count}` }),
  updateSchedule: () => ({ ...schedule, combine: 'all' }),
  previewShifts: () => ({ ...span, schedule: { ...schedule, slug: 'draft' } }),
  createAbsence: () => ({
    starts_at: new Date().toISOString(),
    ends_at: new Date(Date.now() + 86_400_000).toISOString(),
  }),
  // Nothing listens there.
  createAbsenceCalendar: () => ({ url: 'http://127.0.0.1:1/jane.ics', words: ['vacation'] }),
  previewAbsenceCalendar: () => ({ url: 'http://127.0.0.1:1/jane.ics', words: ['vacation'] }),
  updateAbsenceCalendar: () => ({ url: 'http://127.0.0.1:1/jane.ics', words: ['vacation'] }),
  createSwap: () => ({
    user: 'jane@acme.test',
    starts_at: new Date(Date.now() + 3_600_000).toISOString(),
    ends_at: new Date(Date.now() + 86_400_000).toISOString(),
  }),
  acceptSwap: () => ({ user: 'joe@acme.test' }),
  pageSchedule: () => ({
    ...{ user: 'jane@acme.test', message: 'Smoke\nin the server room', urgent: false },
    idempotency_key: `sample-${++count}`,
  }),
  createOverride: () => ({ user: 'jane@acme.test', duration: '2h', reason: 'holiday' }),
  createHeartbeat: () => ({ ...heartbeat, slug: `sample-${++count}` }),
  updateHeartbeat: () => ({ ...heartbeat, grace: '10m', enabled: false }),
  createWatch: () => ({ ...watch, slug: `sample-${++count}` }),
  updateWatch: () => ({ ...watch, every: '10m' }),
  createCategory: () => category(`sample-${++count}`),
  updateCategory: () => ({ ...category(undefined), kind: 'promotional' }),
  createNotification: () => ({ ...notification, name: `n-${++count}`, steps, give_up_after: '1d', message, overrides }),
  updateNotification: () => ({
    ...notification,
    channels: ['mail'],
    priority: 'normal',
    digest: { every: '1h', key: 'order', first: 'wait', max: 5 },
  }),
  writeMessage: () => ({ message, overrides }),
  testNotification: () => ({
    to: 'jane@acme.test',
    channel: 'mail',
    context: { order: 'A-1' },
    user: 'jane@acme.test',
  }),
  previewMessage: () => ({
    message,
    overrides,
    extra_context: { order: 'A-1' },
    context: { order: 'A-1' },
    filter: 'amount > `1`',
    users: "custom_fields.tier == 'gold'",
    user: 'jane@acme.test',
    locale: 'de',
    channels: ['mail'],
    digest: { items: [{ order: 'A-1' }], more: 2 },
    list: 'Customers',
    layout: '<p>{{ content }}</p>',
  }),
  createOrganizationLayout: () => ({ name: `l-${++count}`, body: '<p>{{ content }}</p>' }),
  updateOrganizationLayout: () => ({ body: '<p>{{ content }}</p>' }),
  createProjectLayout: () => ({ name: `l-${++count}`, body: '<p>{{ content }}</p>' }),
  updateProjectLayout: () => ({ body: '<p>{{ content }}</p>' }),
  updateOrganizationChannel: () => channel,
  updateProjectChannel: () => channel,
  testOrganizationChannel: () => ({ to: 'https://x.test/', subject: 'Test', body: 'Test' }),
  testProjectChannel: () => ({ to: 'https://x.test/', subject: 'Test', body: 'Test' }),
  updatePreferences: () => ({
    preferences: [
      { category: 'news', channel_type: 'email', enabled: true },
      { event: 'shop/web/order-paid', enabled: false },
    ],
    timezone: 'Europe/Berlin',
    quiet_hours: { from: '22:00', to: '07:00', weekdays: ['mon'] },
  }),
  cancelDeliveries: selection,
  retryDeliveries: selection,
  previewRetries: selection,
  retryCause: () => ({ cause: '0123456789abcdef' }),
  previewCause: () => ({ cause: '0123456789abcdef' }),
  updateWebhook: () => ({
    name: 'Operations',
    url: 'https://ops.acme.test/hook?team=1',
    secret: null,
    types: ['delivery.failed'],
  }),
  rotateWebhookSecret: () => ({ overlap: '24h' }),
  applyConfiguration: () => ({ organization: everything('acme') }),
  planConfiguration: () => ({ organization: everything('acme'), prune: true }),
  listPlannedGaps: () => ({ organization: everything('acme') }),
  revokeKey: ({ acme }) => ({ key: keyIdOf(acme.keys.onProject) }),
  rotateKey: () => ({ overlap: '24h' }),
  changePassword: () => ({ current: 'correct horse battery', password: 'correct horse battery' }),
  ...Object.fromEntries(
    ['Organization', 'Project', 'Application', 'Event', 'Key', 'OrganizationChannel', 'ProjectChannel'].map(name => [
      `resume${name}`,
      () => ({ per_second: 10, drop: false }),
    ]),
  ),
};

const source = {
  name: 'Prometheus',
  mapping: { title: 'labels.alertname', resolve: "state == 'resolved'" },
  routes: [{ when: "labels.severity == 'page'", event: 'order-paid' }, { event: 'order-shipped' }],
  group_by: ['labels.cluster'],
};

const schedule = {
  page: 'web/order-paid',
  name: 'Primary',
  timezone: 'Europe/Berlin',
  layers: [
    {
      name: 'week',
      every: '1w',
      from: '2027-01-04T09:00',
      until: '2030-01-04T09:00',
      users: ['jane@acme.test', ['jane@acme.test']],
      only: [{ days: ['mon'], from: '09:00', until: '17:00' }],
    },
  ],
  combine: 'cover',
};
const span = { since: '2027-01-04T00:00:00Z', until: '2027-01-11T00:00:00Z' };

const watch = { event: 'order-paid', every: '5m', enabled: false, url: 'https://monitor.test/ping/1' };

const heartbeat = {
  name: 'Backup',
  every: '0 3 * * *',
  timezone: 'Europe/Berlin',
  event: 'order-paid',
  severity: 'critical',
  context: { runbook: 'wiki' },
};

const channel = {
  name: 'Relay',
  enabled: true,
  on_unknown: 'hold',
  rate_per_second: 5,
  providers: [{ use: 'sandbox' }],
};

function category(slug: string | undefined) {
  const locales = { de: { name: 'Neues', description: 'Einmal im Monat.' } };
  const choices = { kind: 'promotional', default: false, channel_defaults: { email: true }, channels: ['email'] };
  return { slug, name: 'News', description: 'Once a month.', ...choices, track: true, locales };
}

function selection({ acme }: Tenants) {
  return { deliveries: acme.occurrences.map(({ id, deliveryId }) => ({ occurrence: id, id: deliveryId })) };
}

/** Returns a new body at every call. */
export function validBody(route: Route, tenants: Tenants): unknown {
  return byRoute[route.id]?.(tenants) ?? sample(route.body as Schema, '');
}

function sample(schema: Schema, name: string): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (type === 'object' && schema.properties) {
    return Object.fromEntries(Object.entries(schema.properties).map(([key, inner]) => [key, sample(inner, key)]));
  }
  if (byName[name] && type !== 'boolean' && type !== 'integer') return byName[name]();
  if (schema.anyOf) return sample(schema.anyOf[0]!, name);
  if (type === 'array') return [sample(schema.items ?? {}, name)];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 1);
  if (type === 'object') return {};
  return sampleText(schema);
}

function sampleText({ format, pattern }: Schema): string {
  if (format === 'date-time') return '2040-01-31T09:00:00Z';
  if (format === 'uuid') return '00000000-0000-7000-8000-000000000000';
  if (format === 'email') return 'jane@acme.test';
  if (pattern?.includes('[smhd]')) return '10m';
  return 'sample';
}
