/** What the first start of an embedded database is given to try: a document like any other, applied. */
import type { Document } from '../core/configuration/document.ts';
import { everything } from '../core/permissions.ts';
import { listOrganizationsAcrossTenants } from '../db/organizations.ts';
import { createAccount } from './accounts.ts';
import { applyConfiguration } from './declarative.ts';
import type { Deps } from './deps.ts';
import { createKey } from './keys.ts';

const demo: Document = {
  organizations: [
    {
      slug: 'demo',
      name: 'Demo',
      channels: [{ slug: 'mail', name: 'Sandbox mail', type: 'email', providers: [{ use: 'sandbox' }] }],
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
                      channels: ['mail'],
                      message: {
                        subject: 'Order {{ order }} is paid',
                        body: 'Hello {{ user.first_name }},\n\nwe got **{{ amount }}** for order {{ order }}. Thank you!',
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

export interface Demo {
  key: string;
  /** For the console. */
  signIn: { email: string; password: string };
  triggerPath: string;
  /** JSON without a quote that a shell would take for its own. */
  body: string;
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
