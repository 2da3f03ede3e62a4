/** Runs the declarative commands as on a terminal, and provides an example like that of the documentation. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { apply } from '../../src/cli/apply.ts';
import { exportCommand } from '../../src/cli/export.ts';
import { formatError } from '../../src/cli/format.ts';
import { plan } from '../../src/cli/plan.ts';
import { loadConfig } from '../../src/config.ts';
import type { ChannelEntry, Document, OrganizationDocument } from '../../src/core/configuration/document.ts';
import type { Deps } from '../../src/services/deps.ts';

const commands = { apply, plan, export: exportCommand };
const example = new URL('acme.yaml', import.meta.url);

export const webhookSecret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';

export async function exampleText(): Promise<string> {
  return readFile(example, 'utf8');
}

/** Returns a fresh copy of the example's organization, with this slug. */
export async function exampleOrganization(slug = 'acme'): Promise<OrganizationDocument> {
  const [organization] = (parse(await exampleText()) as Document).organizations;
  return { ...organization!, slug };
}

/** Returns an organization with every field set to a value other than its default. */
export function everything(slug: string): OrganizationDocument {
  return {
    slug,
    name: 'Everything',
    retention_days: 365,
    brand_color: '#ffcc00',
    logo_url: 'https://acme.test/logo.png',
    timezone: 'Europe/Berlin',
    quiet_hours: { from: '22:00', to: '07:00', weekdays: ['mon', 'fri'] },
    max_per_day: 20,
    service_levels: { taken_in: '99.95%', first_page: { within: '15s', share: '99%' } },
    guard: { audience: 20_000, first_audience: 'off', expires: '12h', four_eyes: true },
    channels: [
      {
        slug: 'mail',
        name: 'Mail',
        type: 'email',
        enabled: false,
        on_unknown: 'hold',
        rate_per_second: 14,
        concurrency: 3,
        retry: { for: '4h' },
        providers: [
          {
            use: 'smtp',
            host: 'a.test',
            port: 465,
            secure: true,
            user: 'u',
            password: 'hunter2hunter2',
            from: 'a@b.test',
          },
          { use: 'sandbox' },
        ],
      },
    ],
    layouts: [{ name: 'Default', body: '<p>{{ content }}</p>\n' }],
    categories: [
      {
        slug: 'news',
        name: 'News',
        description: 'Once a month.',
        kind: 'promotional',
        default: false,
        channel_defaults: { email: true, sms: false },
        channels: ['email', 'sms'],
        track: true,
        locales: { de: { name: 'Neues', description: 'Einmal im Monat.' } },
      },
      { slug: 'security', name: 'Security', kind: 'required', quiet_hours: 'ignore' },
    ],
    webhooks: [
      {
        slug: 'ops',
        name: 'Operations',
        url: 'https://ops.acme.test/hook?team=1',
        types: ['delivery.failed', 'occurrence.completed'],
        enabled: false,
      },
    ],
    users: [
      {
        email: 'Zoë@acme.test',
        first_name: 'Zoë',
        last_name: 'O’Neil',
        locked: true,
        locale: 'pt-BR',
        timezone: 'America/Sao_Paulo',
        reach: { normal: [{ by: 'email' }], important: [{ by: 'sms' }, { by: 'voice', after: '3m', repeat: 3 }] },
        custom_fields: { deep: { list: [1, null, 'x'], 'odd/key': 1.5 }, empty: {} },
        addresses: [
          { name: 'phone', value: '+15555550100' },
          { name: 'email-work', value: 'zoe@work.test' },
          { name: 'slack', value: 'U123', verified: true },
        ],
      },
    ],
    projects: [
      {
        slug: 'shop',
        name: 'Shop',
        channels: [{ slug: 'texts', name: 'Texts', type: 'sms', providers: [{ use: 'sandbox' }] }],
        layouts: [
          { name: 'default', body: '<b>{{ content }}</b>' },
          { name: 'Plain / bare', body: '{{ content }}' },
        ],
        distribution_lists: [
          { name: 'All of them / really', members: ['zoë@acme.test'] },
          { name: 'None', members: [] },
        ],
        schedules: [
          {
            slug: 'primary',
            name: 'Primary',
            timezone: 'Europe/Berlin',
            layers: [
              { name: 'week', every: '1w', from: '2027-01-04T09:00', users: ['zoë@acme.test'] },
              {
                name: 'nights',
                every: '12h',
                from: '2027-01-04T18:00',
                until: '2028-01-04T18:00',
                users: [['zoë@acme.test']],
                only: [{ days: ['mon', 'tue'], from: '18:00', until: '09:00' }],
              },
            ],
            combine: 'all',
            fallback: 'All of them / really',
            page: 'web/paid',
          },
        ],
        applications: [
          {
            slug: 'web',
            name: 'Web',
            events: [
              {
                slug: 'paid',
                name: 'Paid',
                active: false,
                category: 'news',
                guard: { audience: 'off' },
                context_schema: {
                  type: 'object',
                  required: ['order'],
                  properties: { order: { type: 'string', examples: ['A-1'] }, amount: { type: 'number', minimum: 0 } },
                  additionalProperties: true,
                },
                notifications: [
                  {
                    name: 'everyone',
                    active: false,
                    recipients: { list: 'All of them / really', users: "custom_fields.tier == 'gold'", trigger: true },
                    channels: ['mail', 'sms'],
                    filter: 'amount > `0`',
                    environs: ['production', 'staging'],
                    extra_context: { colour: 'red', n: 0 },
                    priority: 'bulk',
                    throttle: { max: 3, per: '1h', key: 'server', overflow: 'drop' },
                    digest: { every: '0 8 * * *', key: 'server', first: 'wait', max: 20 },
                    message: {
                      subject: 'S',
                      body: 'B\nC',
                      layout: 'Plain / bare',
                      strict: true,
                      avatar: 'https://img.test/{{ user.first_name }}.png',
                      actions: [
                        { name: 'approve', label: 'Approve', event: 'order-paid' },
                        { name: 'open', label: 'Open {{ order }}', url: '/orders/{{ order }}' },
                      ],
                      attachments: [
                        { url: 'https://x.test/{{ order }}.pdf', name: '{{ order }}.pdf', content_id: 'a' },
                      ],
                      locales: { pt: { subject: 'P', body: 'Q' }, 'pt-BR': { body: 'R' } },
                    },
                    overrides: {
                      texts: { body: 'short', locales: { de: { body: 'kurz' } } },
                      email: { subject: 'T' },
                    },
                  },
                  {
                    name: 'pager',
                    recipients: { schedule: 'primary' },
                    steps: [
                      { channels: ['texts'] },
                      { after: '10m', channels: ['texts'], recipients: { schedule: 'primary', offset: 1 } },
                    ],
                    message: { body: 'Wake up' },
                  },
                  {
                    name: 'plain',
                    recipients: { trigger: true },
                    channels: ['texts'],
                    canary: {
                      first: 50,
                      wait: '2h',
                      stop_at: { failed: '10%', bounced: '1.5%', complained: '0.1%' },
                      variants: {
                        winner_by: 'clicks',
                        b: {
                          message: { body: 'other', locales: { de: { body: 'anders' } } },
                          overrides: { texts: { body: 'o' } },
                        },
                      },
                    },
                    message: { body: '' },
                  },
                ],
              },
              { slug: 'idle', name: 'Idle', notifications: [] },
            ],
            sources: [
              {
                slug: 'prometheus',
                name: 'Prometheus',
                use: 'alertmanager',
                mapping: { title: 'annotations.headline' },
                routes: [{ when: "labels.severity == 'page'", event: 'paid' }, { event: 'paid' }],
                group_by: ['labels.cluster', 'labels.alertname'],
              },
            ],
            heartbeats: [
              {
                slug: 'backup',
                name: 'Backup',
                every: '0 3 * * *',
                timezone: 'Europe/Berlin',
                grace: '1h',
                event: 'paid',
                severity: 'critical',
                context: { runbook: 'wiki' },
                enabled: false,
              },
            ],
            watches: [{ slug: 'outside', event: 'paid', every: '5m', enabled: false }],
          },
        ],
      },
    ],
  };
}

export function hooksOf({ channels = [] }: OrganizationDocument): ChannelEntry {
  return channels.find(channel => channel.slug === 'hooks')!;
}

export async function writeTemporary(name: string, text: string): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'belfry-file-')), name);
  await writeFile(file, text);
  return file;
}

export interface Outcome {
  code: number;
  out: string;
  /** Standard error. */
  err: string;
}

/** Runs a command. Without deps it uses a server: BELFRY_URL and BELFRY_KEY must be in `env`. */
export async function run(
  deps: Deps | undefined,
  [name, ...args]: [keyof typeof commands, ...string[]],
  env: Record<string, string> = {},
  interactive = false,
): Promise<Outcome> {
  const outcome: Outcome = { code: 0, out: '', err: '' };
  try {
    const code = await commands[name].run(args, {
      env,
      config: loadConfig(env),
      print: text => {
        outcome.out += `${text}\n`;
      },
      warn: text => {
        outcome.err += `${text}\n`;
      },
      nameTarget: () => {},
      showProgress: () => {},
      interactive,
      withDeps: work => {
        if (!deps) throw new Error('there is no database here');
        return work(deps);
      },
      withDatabase: async () => {
        throw new Error('not in this test');
      },
      loadFeedbackReaders: async () => ({}),
      serve: async () => {},
    });
    outcome.code = code || 0;
  } catch (error) {
    outcome.code = 1;
    outcome.err += formatError(error);
  }
  return outcome;
}
