/** Notices of a person's browsers: what a page needs to subscribe, and the subscription as an address of the person. */
import { AppError } from '../core/errors.ts';
import { listAddresses } from '../db/addresses.ts';
import type { Deps } from './deps.ts';
import { addAddress } from './users.ts';

/** What a push service and a browser agreed on. */
export interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

const addressName = 'webpush';
/** Browsers of one person; those that are gone are switched off by what push services answer. */
const mostBrowsers = 20;

/** Of the organization's first web push channel that is switched on. */
export async function getPushKey({ plans }: Deps, organizationId: number): Promise<string> {
  const channels = await plans.listChannels(organizationId);
  const own = channels.filter(({ type, enabled, projectId }) => type === 'webpush' && enabled && projectId === null);
  const settings = own
    .flatMap(({ providers }) => providers)
    .find(({ provider }) => provider.name === 'vapid')?.settings;
  const key = (settings as { public_key?: string } | undefined)?.public_key;
  if (key === undefined) {
    throw new AppError('push.unavailable', 'the organization has no web push channel that is switched on: create one');
  }
  return key;
}

/** The same one again changes nothing. */
export async function registerPush(
  deps: Deps,
  organizationId: number,
  user: { id: number; username: string },
  { endpoint, keys }: Subscription,
): Promise<void> {
  const value = JSON.stringify({ endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } });
  const known = (await listAddresses(deps.db, organizationId, user.id, { after: 0, limit: 1_000 })).filter(
    address => address.name === addressName,
  );
  if (known.some(address => address.value === value)) return;
  if (known.length >= mostBrowsers) {
    throw new AppError('push.limit', `a person may have ${mostBrowsers} browsers: delete a webpush address of theirs`);
  }
  await addAddress(deps, organizationId, user, { name: addressName, value });
}
