/** Web push for a user's browsers: the key a page needs to subscribe, and storing the subscription as an address. */
import { type BrowserSubscription, browserAddressName, writeSubscription } from '../../core/audience/device.ts';
import { AppError } from '../../core/errors.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';
import type { Deps } from '../deps.ts';
import { addDeviceAddress } from './devices.ts';

interface PushChannel {
  channel: PlannedChannel;
  /** Index of its provider. */
  provider: number;
  publicKey: string;
}

/** Finds the organization's first enabled web push channel, whose key browsers subscribe with. */
export async function findPushChannel(
  { plans }: Pick<Deps, 'plans'>,
  organizationId: number,
): Promise<PushChannel | undefined> {
  for (const channel of await plans.listChannels(organizationId)) {
    if (channel.type !== 'webpush' || !channel.enabled || channel.projectId !== null) continue;
    const provider = channel.providers.findIndex(one => one.provider.name === 'vapid');
    const { public_key: publicKey } = (channel.providers.at(provider)?.settings ?? {}) as { public_key?: string };
    if (provider >= 0 && publicKey !== undefined) return { channel, provider, publicKey };
  }
  return undefined;
}

export async function getPushKey(deps: Deps, organizationId: number): Promise<string> {
  return (await findPushChannel(deps, organizationId))?.publicKey ?? refusePush();
}

export function refusePush(): never {
  throw new AppError('push.unavailable', 'the organization has no enabled web push channel: create one');
}

/** Registering the same subscription again changes nothing. */
export async function registerPush(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  subscription: BrowserSubscription,
): Promise<void> {
  const value = writeSubscription(subscription);
  await addDeviceAddress(deps, organizationId, user, { name: browserAddressName, value });
}
