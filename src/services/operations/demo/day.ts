/** Gives a new demo something to look at: more channels and events, and occurrences with all kinds of outcomes. */
import type { Document } from '../../../core/configuration/document.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { TriggerOptions } from '../../../core/trigger.ts';
import { applyConfiguration } from '../../configuration/declarative/declarative.ts';
import { resolveEventPath } from '../../configuration/events.ts';
import type { Deps } from '../../deps.ts';
import { triggerEvent } from '../../history/triggers.ts';
import { demo } from './demo.ts';
import { demoBrand, demoLayout } from './layout.ts';

const sandbox = [{ use: 'sandbox' }];
const [before] = demo.organizations as [Document['organizations'][number]];

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

const day: Document = {
  organizations: [
    {
      slug: 'demo',
      name: 'Demo',
      channels: [
        ...(before.channels ?? []),
        { slug: 'texts', name: 'Sandbox texts', type: 'sms', providers: sandbox },
        { slug: 'ops-chat', name: 'Sandbox chat', type: 'slack', providers: sandbox },
      ],
      brand_color: demoBrand,
      layouts: [{ name: 'default', body: demoLayout }],
      categories: [{ slug: 'news', name: 'Newsletter', kind: 'promotional', default: true }],
      users: [
        ...(before.users ?? []),
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
              events: [
                {
                  slug: 'checkout-down',
                  name: 'Checkout is down',
                  notifications: [
                    {
                      name: 'page',
                      recipients: { list: 'On call' },
                      steps: [
                        { channels: ['ops-chat', 'app'] },
                        { after: '15m', unless: 'acknowledged', channels: ['texts'], repeat: 3 },
                      ],
                      message: { subject: 'Checkout is down', body: '{{ failures }} payments failed in a minute.' },
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
  ['monitoring/checkout-down', { failures: 12 }, { dedup_key: 'checkout' }],
];

export async function configureDemoDay(deps: Deps): Promise<void> {
  await applyConfiguration(deps, day, { prune: false });
}

export async function triggerDemoDay(deps: Deps): Promise<void> {
  for (const [event, context, options = {}] of triggers) {
    const [app, evt] = event.split('/') as [string, string];
    const path = await resolveEventPath(deps, { org: 'demo', prj: 'shop', app, evt });
    await triggerEvent(deps, path, { context, options });
  }
}
