/**
 * The user that a signed-in account is: the one whose username is the account's email. Whatever an account does here concerns
 * this user only, so that it needs no permission.
 */
import { type BrowserSubscription, browserAddressName, writeSubscription } from '../../core/audience/device.ts';
import { AppError } from '../../core/errors.ts';
import { testChannel } from '../configuration/try-out/test-sends.ts';
import type { Deps } from '../deps.ts';
import { listDeviceAddresses, moveDeviceAddress, removeDeviceAddress } from './devices.ts';
import { findPushChannel, refusePush } from './inbox-push.ts';
import { findUser } from './users.ts';

interface Organization {
  id: number;
  slug: string;
}

/** Returns who the account is. Without a web push channel, no browser can be registered. */
export async function getMe(deps: Deps, { id }: Organization, email: string) {
  const [user, push] = await Promise.all([findUser(deps, id, email), findPushChannel(deps, id)]);
  return { username: user?.username ?? null, locked: user?.locked ?? false, public_key: push?.publicKey ?? null };
}

export async function registerBrowser(
  deps: Deps,
  { id }: Organization,
  email: string,
  subscription: BrowserSubscription,
): Promise<void> {
  const user = await requireUser(deps, id, email);
  if (!(await findPushChannel(deps, id))) refusePush();
  await moveDeviceAddress(deps, id, user, toAddress(subscription));
}

export async function unregisterBrowser(
  deps: Deps,
  { id }: Organization,
  email: string,
  subscription: BrowserSubscription,
): Promise<void> {
  await removeDeviceAddress(deps, id, await requireUser(deps, id, email), toAddress(subscription));
}

/** Sends a message to a browser of the user at once. */
export async function testBrowser(
  deps: Deps,
  organization: Organization,
  email: string,
  subscription: BrowserSubscription,
) {
  const user = await requireUser(deps, organization.id, email);
  const { channel, provider } = (await findPushChannel(deps, organization.id)) ?? refusePush();
  const { name, value: to } = toAddress(subscription);
  const own = await listDeviceAddresses(deps, organization.id, user, name);
  if (!own.some(({ value, disabled_at }) => value === to && disabled_at === null))
    throw new AppError('address.not_found', 'the browser is not registered: register it first');
  const message = { subject: 'A test from Belfry', body: 'This device can wake you.' };
  return testChannel(deps, organization, { id: channel.id, path: channel.slug }, { to, provider, ...message });
}

const toAddress = (subscription: BrowserSubscription) => ({
  name: browserAddressName,
  value: writeSubscription(subscription),
});

async function requireUser(deps: Deps, organizationId: number, email: string) {
  const user = await findUser(deps, organizationId, email);
  if (!user) throw new AppError('account.no_user', `no user of the organization has the username ${email}`);
  return user;
}
