/** Gives a new demo something to look at: more channels and events, and occurrences with all kinds of outcomes. */
import type { Document } from '../../../core/configuration/document.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { TriggerOptions } from '../../../core/trigger.ts';
import { findRow } from '../../../db/configuration/rows.ts';
import { findSource } from '../../../db/history/sources/sources.ts';
import { applyConfiguration } from '../../configuration/declarative/declarative.ts';
import { resolveEventPath } from '../../configuration/events.ts';
import type { Deps } from '../../deps.ts';
import { SignedDocuments } from '../../history/feedback/requests.ts';
import { receive } from '../../history/sources/ingress.ts';
import { triggerEvent } from '../../history/triggers.ts';
import { demo } from './demo.ts';
import { demoBrand, demoLayout } from './layout.ts';
import { demoTurns } from './occurrences.ts';

const sandbox = [{ use: 'sandbox' }];
const [before] = demo.organizations as [Document['organizations'][number]];
type DocumentUser = NonNullable<(typeof before)['users']>[number];

/** More people, who receive the newsletter and the messages about their orders. */
const names = [
  ['Barbara', 'McClintock'],
  ['Edsger', 'Dijkstra'],
  ['Frances', 'Allen'],
  ['Hedy', 'Lamarr'],
  ['John', 'Backus'],
  ['Katherine', 'Johnson'],
  ['Margaret', 'Hamilton'],
  ['Radia', 'Perlman'],
  ['Tim', 'Berners-Lee'],
] as const;

/** Those of the people who are on call. */
const verifiedAddresses = (email: string, i: number) => [
  { name: 'email', value: email, verified: true },
  ...['sms', 'voice'].map(name => ({ name, value: `+491525555010${i}`, verified: true })),
];
const reach: NonNullable<DocumentUser['reach']> = {
  normal: [{ by: 'sms' }],
  important: [{ by: 'sms' }, { by: 'voice', after: '3m', repeat: 3 }],
};

const day: Document = {
  organizations: [
    {
      slug: 'demo',
      name: 'Demo',
      channels: [
        ...(before.channels ?? []),
        { slug: 'texts', name: 'Sandbox texts', type: 'sms', providers: sandbox },
        { slug: 'ops-chat', name: 'Sandbox chat', type: 'slack', providers: sandbox },
        { slug: 'calls', name: 'Sandbox calls', type: 'voice', providers: sandbox },
      ],
      brand_color: demoBrand,
      layouts: [{ name: 'default', body: demoLayout }],
      categories: [{ slug: 'news', name: 'Newsletter', kind: 'promotional', default: true }],
      users: [
        ...(before.users ?? []).map((user, i) => ({ ...user, addresses: verifiedAddresses(user.email, i), reach })),
        { email: 'linus@demo.test', first_name: 'Linus', last_name: 'Pauling', locked: true },
        // The sandbox refuses messages to such an address.
        { email: 'bounce@demo.test', first_name: 'Barbara', last_name: 'Liskov' },
        ...names.map(([first_name, last_name]) => ({
          email: `${first_name.toLowerCase()}@demo.test`,
          first_name,
          last_name,
        })),
      ],
      projects: [
        {
          slug: 'shop',
          name: 'Shop',
          distribution_lists: [
            {
              name: 'Subscribers',
              members: [
                ...['ada', 'alan', 'grace', 'linus', 'bounce'],
                ...names.map(([firstName]) => firstName.toLowerCase()),
              ].map(name => `${name}@demo.test`),
            },
            { name: 'On call', members: ['grace@demo.test'] },
          ],
          schedules: [
            { slug: 'checkout', name: 'Checkout', fallback: 'On call', page: 'monitoring/checkout-down', ...demoTurns },
          ],
          applications: [
            {
              slug: 'web',
              name: 'Web shop',
              events: [
                {
                  slug: 'newsletter',
                  name: 'Newsletter',
                  category: 'news',
                  notifications: [
                    {
                      name: 'issue',
                      recipients: { list: 'Subscribers' },
                      channels: ['mail'],
                      message: { subject: '{{ title }}', body: 'Hello {{ user.first_name }},\n\n{{ title }} is here.' },
                    },
                  ],
                },
                {
                  slug: 'order-shipped',
                  name: 'Order shipped',
                  notifications: [
                    {
                      name: 'on-its-way',
                      recipients: { trigger: true },
                      channels: ['mail', 'app'],
                      message: {
                        subject: 'Order {{ order }} is on its way',
                        body: '# On its way\n\nHello {{ user.first_name }},\n\nwe handed order **{{ order }}** to {{ carrier }}. It should arrive in two days.\n\n**[Track the parcel](https://shop.example/orders/{{ order }})**',
                      },
                    },
                  ],
                },
                {
                  slug: 'sign-in-code',
                  name: 'Sign-in code',
                  notifications: [
                    {
                      name: 'code',
                      recipients: { trigger: true },
                      channels: ['texts'],
                      priority: 'urgent',
                      message: { subject: 'Sign in', body: 'Your code is {{ code }}.' },
                    },
                  ],
                },
                {
                  slug: 'review-added',
                  name: 'Review added',
                  notifications: [
                    {
                      name: 'summary',
                      recipients: { list: 'On call' },
                      channels: ['mail'],
                      digest: { every: '1h' },
                      message: {
                        subject: '{{ count }} new reviews',
                        body: '{% for item in items %}- {{ item.context.text }}\n{% endfor %}',
                      },
                    },
                  ],
                },
              ],
            },
            {
              slug: 'monitoring',
              name: 'Monitoring',
              sources: [
                {
                  ...{ slug: 'prometheus', name: 'Prometheus', use: 'alertmanager' },
                  ...{ routes: [{ event: 'alert' }], group_by: ['labels.alertname'] },
                },
              ],
              events: [
                {
                  slug: 'alert',
                  name: 'Alert',
                  notifications: [
                    {
                      name: 'chat',
                      recipients: { list: 'On call' },
                      channels: ['ops-chat'],
                      message: { subject: '{{ title }}', body: '{{ severity }}: {{ title }}' },
                    },
                  ],
                },
                {
                  slug: 'checkout-down',
                  name: 'Checkout is down',
                  notifications: [
                    {
                      name: 'page',
                      recipients: { schedule: 'checkout' },
                      steps: [
                        { channels: ['ops-chat', 'app'] },
                        { after: '15m', unless: 'acknowledged', channels: ['personal'], repeat: 3 },
                        {
                          ...{ after: '15m', unless: 'acknowledged', channels: ['personal'] },
                          recipients: { schedule: 'checkout', offset: 1 },
                        },
                      ],
                      message: {
                        subject: '{{ title | default: "Checkout is down" }}',
                        body: '{% if failures %}{{ failures }} payments failed in a minute.{% else %}{{ message | default: title }}{% endif %}',
                      },
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  ],
};

const triggers: [event: string, context: JsonObject, options?: TriggerOptions][] = [
  ...[1, 2, 3, 4, 5].map((n): [string, JsonObject] => [
    'web/order-paid',
    { order: `A-${1000 + n}`, amount: `${(n * 17.35).toFixed(2)} EUR` },
  ]),
  ['web/newsletter', { title: 'Spring sale' }],
  ['web/newsletter', { title: 'Next week’s news' }, { delay: '3h' }],
  ['web/sign-in-code', { code: '481516' }, { recipients: ['ada@demo.test'] }],
  ['web/sign-in-code', { code: '234200' }, { recipients: ['linus@demo.test'] }],
  ['web/review-added', { text: 'Works as described.' }],
  ['web/review-added', { text: 'A little loud.' }],
  ['monitoring/checkout-down', { title: 'Checkout is down', failures: 12 }, { dedup_key: 'checkout' }],
];

const alert = (alertname: string, severity: string, instance: string, summary: string, status = 'firing') => ({
  ...{ status, labels: { alertname, severity, instance }, annotations: { summary } },
  fingerprint: `${alertname}-${instance}`,
});
const cartSlow = ['warning', 'cart-1', 'The cart takes 3 s'] as const;

/** What the source of the demo receives: a group, an alert that ends, and one that cannot be used. */
const payloads: object[][] = [
  [
    alert('PaymentErrors', 'critical', 'pay-1', '12 % of the payments fail'),
    alert('PaymentErrors', 'critical', 'pay-2', '9 % of the payments fail'),
    alert('CartSlow', ...cartSlow),
  ],
  [alert('DiskFilling', 'warning', 'db-1', 'The disk of db-1 is full in 4 hours')],
  [
    alert('CartSlow', ...cartSlow, 'resolved'),
    alert('PaymentErrors', 'critical', 'pay-1', '14 % of the payments fail'),
    { status: 'pending', labels: { alertname: 'Odd' } },
  ],
];

async function receiveDemoPayloads(deps: Deps): Promise<void> {
  const path = await resolveEventPath(deps, { org: 'demo', prj: 'shop', app: 'monitoring', evt: 'alert' });
  const row = await findRow(deps.db, path.organization.id, 'source', {
    parent: path.application.id,
    slug: 'prometheus',
  });
  const source = row && (await findSource(deps.db, path.organization.id, row.id));
  if (!source) return;
  const documents = new SignedDocuments(deps.outbound);
  for (const alerts of payloads) {
    const bytes = Buffer.from(JSON.stringify({ version: '4', alerts }));
    const request = { method: 'POST', url: '/in/', headers: {}, contentType: 'application/json', bytes };
    await receive(deps, source, request, { documents });
  }
}

export async function configureDemoDay(deps: Deps): Promise<void> {
  await applyConfiguration(deps, day, { prune: false });
}

export async function triggerDemoDay(deps: Deps): Promise<void> {
  for (const [event, context, options = {}] of triggers) {
    const [app, evt] = event.split('/') as [string, string];
    const path = await resolveEventPath(deps, { org: 'demo', prj: 'shop', app, evt });
    await triggerEvent(deps, path, { context, options });
  }
  await receiveDemoPayloads(deps);
}
