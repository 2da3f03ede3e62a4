/** What the first start of an embedded database is given to try: a document like any other, applied. */
import type { Document } from '../core/configuration/document.ts';
import { everything } from '../core/permissions.ts';
import { listOrganizationsAcrossTenants } from '../db/organizations.ts';
import { createAccount } from './accounts.ts';
import { applyConfiguration } from './declarative.ts';
import type { Deps } from './deps.ts';
import { createKey } from './keys.ts';
import { createRecipientToken } from './recipient-links.ts';
import { findUser } from './users.ts';

const demo: Document = {
  organizations: [
    {
      slug: 'demo',
      name: 'Demo',
      channels: [
        { slug: 'mail', name: 'Sandbox mail', type: 'email', providers: [{ use: 'sandbox' }] },
        { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] },
      ],
      users: [
        { email: 'ada@demo.test', first_name: 'Ada', last_name: 'Lovelace', custom_fields: { tier: 'gold' } },
        { email: 'alan@demo.test', first_name: 'Alan', last_name: 'Turing' },
        { email: 'grace@demo.test', first_name: 'Grace', last_name: 'Hopper' },
      ],
      projects: [
        {
          slug: 'shop',
          name: 'Shop',
          distribution_lists: [{ name: 'Customers', members: ['ada@demo.test', 'alan@demo.test', 'grace@demo.test'] }],
          applications: [
            {
              slug: 'web',
              name: 'Web shop',
              events: [
                {
                  slug: 'order-paid',
                  name: 'Order paid',
                  notifications: [
                    {
                      name: 'receipt',
                      recipients: { list: 'Customers' },
                      channels: ['mail', 'app'],
                      message: {
                        subject: 'Order {{ order }} is paid',
                        body: 'Hello {{ user.first_name }},\n\nwe got **{{ amount }}** for order {{ order }}. Thank you!',
                        actions: [{ name: 'view', label: 'View order', url: '/inbox-demo#{{ order }}' }],
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

/** Of the person whose inbox the demo shows. */
const demoUser = 'ada@demo.test';
const tokenLifeMs = 15 * 60_000;

export interface Demo {
  key: string;
  /** For the console. */
  signIn: { email: string; password: string };
  triggerPath: string;
  /** JSON without a quote that a shell would take for its own. */
  body: string;
}

/** For the browser of somebody who looks at the demo; undefined where it is not, or no longer. */
export async function createDemoToken(
  deps: Deps,
  now: number,
): Promise<{ token: string; expires_at: string } | undefined> {
  const place = await deps.tenantCache.findPlace({ org: 'demo' });
  const user = place && (await findUser(deps, place.organization.id, demoUser));
  return user && createRecipientToken(deps, place.organization.id, user, tokenLifeMs, now);
}

/** Undefined when the database holds something already. */
export async function createDemo(deps: Deps): Promise<Demo | undefined> {
  if ((await listOrganizationsAcrossTenants(deps.db)).length > 0) return undefined;
  await applyConfiguration(deps, demo, { prune: false });
  const { key } = await createKey(deps, 'demo', { name: 'demo', permissions: [everything] });
  const email = 'admin@demo.test';
  const membership = { organization: 'demo', role: 'owner' } as const;
  const { password } = await createAccount(deps, { email, name: 'Admin', admin: true, membership });
  return {
    key,
    signIn: { email, password },
    triggerPath: '/api/o/demo/p/shop/a/web/e/order-paid/trigger/',
    body: JSON.stringify({ context: { order: 'A-1', amount: '12 EUR' } }),
  };
}
