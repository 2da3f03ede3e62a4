/** Web push for a user's browsers: the key a page needs to subscribe, and storing the subscription as an address. */
import { AppError } from '../../core/errors.ts';
import type { Deps } from '../deps.ts';
import { addDeviceAddress } from './devices.ts';

/** A browser's push subscription, as `PushSubscription.toJSON()` returns it. */
interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

const addressName = 'webpush';

/** Returns the public key of the organization's first enabled web push channel. */
export async function getPushKey({ plans }: Deps, organizationId: number): Promise<string> {
  const channels = await plans.listChannels(organizationId);
  const own = channels.filter(({ type, enabled, projectId }) => type === 'webpush' && enabled && projectId === null);
  const settings = own
    .flatMap(({ providers }) => providers)
    .find(({ provider }) => provider.name === 'vapid')?.settings;
  const key = (settings as { public_key?: string } | undefined)?.public_key;
  if (key === undefined) {
    throw new AppError('push.unavailable', 'the organization has no enabled web push channel: create one');
  }
  return key;
}

/** Registering the same subscription again changes nothing. */
export async function registerPush(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  { endpoint, keys }: Subscription,
): Promise<void> {
  const value = JSON.stringify({ endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } });
  await addDeviceAddress(deps, organizationId, user, { name: addressName, value });
}
