/** The demo organization that the first start creates in an empty embedded database, from a declarative document. */
import type { Document } from '../../../core/configuration/document.ts';
import { AppError } from '../../../core/errors.ts';
import { allPermissions } from '../../../core/identity/permissions.ts';
import { findUserByName } from '../../../db/audience/users.ts';
import { listOrganizationsAcrossTenants } from '../../../db/configuration/organizations.ts';
import {
  deleteAccountAcrossTenants,
  findAccountAcrossTenants,
  listAccountsAcrossTenants,
} from '../../../db/identity/accounts.ts';
import { deleteOrganizationEntirely } from '../../../db/operations/organization-copy.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { createRecipientToken } from '../../audience/recipient-links.ts';
import { findUser } from '../../audience/users.ts';
import { applyConfiguration } from '../../configuration/declarative/declarative.ts';
import { resolveEventPath } from '../../configuration/events.ts';
import type { Deps } from '../../deps.ts';
import { triggerEvent } from '../../history/triggers.ts';
import { createAccount } from '../../identity/accounts.ts';
import { createKey } from '../../identity/keys.ts';

/** The organization, as a declarative document. */
export const demo: Document = {
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
                        body: `# Thank you for your order

Hello {{ user.first_name }},

we got **{{ amount }}** for order **{{ order }}**. We pack it now, and write again when it is on its way.

**[View order](https://shop.example/orders/{{ order }})**`,
                        actions: [{ name: 'view', label: 'View order', url: '/inbox-demo#{{ order }}' }],
                      },
                      overrides: {
                        app: {
                          body: 'Hello {{ user.first_name }},\n\nwe got **{{ amount }}** for order {{ order }}. Thank you!',
                        },
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

/** The recipient whose inbox the demo page shows. */
const demoUser = 'ada@demo.test';
/** The owner of the demo organization. */
const demoAccount = 'admin@demo.test';
const tokenLifeMs = 15 * 60_000;

export interface Demo {
  key: string;
  /** Credentials for the console. */
  signIn: { email: string; password: string };
  triggerPath: string;
  /** JSON without single quotes, so it can be quoted in a shell command. */
  body: string;
}

/** Creates a recipient token for a browser that opens the demo page; undefined if the demo does not exist. */
export async function createDemoToken(
  deps: Deps,
  now: number,
): Promise<{ token: string; expires_at: string } | undefined> {
  const path = await deps.tenantCache.resolvePath({ org: 'demo' });
  const user = path && (await findUser(deps, path.organization.id, demoUser));
  return user && createRecipientToken(deps, path.organization.id, user, tokenLifeMs, now);
}

/** Triggers the demo event for the inbox of the demo page, and for nothing else. */
export async function triggerDemo(deps: Deps): Promise<string> {
  const path = await resolveEventPath(deps, { org: 'demo', prj: 'shop', app: 'web', evt: 'order-paid' });
  const order = `A-${Math.floor(currentTime() / 1000) % 10_000}`;
  const options = { channels: ['app'], limit_to: [demoUser] };
  return triggerEvent(deps, path, { context: { order, amount: '12 EUR' }, options });
}

/** Returns undefined if the database already has organizations. */
export async function createDemo(deps: Deps): Promise<Demo | undefined> {
  if ((await listOrganizationsAcrossTenants(deps.db)).length > 0) return undefined;
  return createDemoOrganization(deps, { admin: true });
}

/** `admin`: whether its account administers the whole instance. */
async function createDemoOrganization(deps: Deps, { admin }: { admin: boolean }): Promise<Demo> {
  await applyConfiguration(deps, demo, { prune: false });
  const { key } = await createKey(deps, 'demo', { name: 'demo', permissions: [allPermissions] });
  const membership = { organization: 'demo', role: 'owner' } as const;
  const { password } = await createAccount(deps, { email: demoAccount, name: 'Admin', admin, membership });
  return {
    key,
    signIn: { email: demoAccount, password },
    triggerPath: '/api/o/demo/p/shop/a/web/e/order-paid/trigger/',
    body: JSON.stringify({ context: { order: 'A-1', amount: '12 EUR' } }),
  };
}

/** Creates the demo, if there is none, in a database that has other organizations. Returns undefined if there is one. */
export async function ensureDemo(deps: Deps): Promise<Demo | undefined> {
  if (await findDemo(deps)) return undefined;
  if (await findAccountAcrossTenants(deps.db, demoAccount)) {
    throw new AppError('resource.exists', `the account ${demoAccount} exists already: delete it first`);
  }
  return createDemoOrganization(deps, { admin: false });
}

/** Deletes the demo organization with everything in it, and its account. Returns whether there was one. */
export async function removeDemo(deps: Deps): Promise<{ removed: boolean; account: boolean }> {
  const organizationId = await findDemo(deps);
  if (organizationId === undefined) return { removed: false, account: false };
  await deleteOrganizationEntirely(deps.pool, organizationId);
  deps.tenantCache.invalidate(organizationId);
  const account = (await listAccountsAcrossTenants(deps.db)).find(({ email }) => email === demoAccount);
  // An account that is a member elsewhere has become someone's own.
  const isUnused = account !== undefined && account.roles.length === 0;
  if (isUnused) await deleteAccountAcrossTenants(deps.db, account.id);
  return { removed: true, account: isUnused };
}

/** Returns the id of the demo organization. Throws if an organization of that name is something else. */
async function findDemo(deps: Deps): Promise<number | undefined> {
  const path = await deps.tenantCache.resolvePath({ org: 'demo', prj: 'shop', app: 'web', evt: 'order-paid' });
  if (!path) return undefined;
  if (!path.event || !(await findUserByName(deps.db, path.organization.id, demoUser))) {
    throw new AppError('resource.exists', 'the organization demo is not the demo of Belfry: it is left unchanged');
  }
  return path.organization.id;
}
