/** What receives push messages: the device token of an app, stored as an address named `push`, or a browser, named `webpush`. */
import { isObject } from '../json.ts';

export const platforms = ['ios', 'android', 'web'] as const;

export interface Device {
  platform: (typeof platforms)[number];
  /** The bundle ID or package name. */
  app: string;
  token: string;
}

export const deviceAddressName = 'push';

/** Returns the value of the address, the same for the same device. */
export function writeDevice({ platform, app, token }: Device): string {
  return JSON.stringify({ platform, app, token });
}

export const browserAddressName = 'webpush';

/** A browser's push subscription, as `PushSubscription.toJSON()` returns it. */
export interface BrowserSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

/** Returns the value of the address, the same for the same browser. */
export function writeSubscription({ endpoint, keys: { p256dh, auth } }: BrowserSubscription): string {
  return JSON.stringify({ endpoint, keys: { p256dh, auth } });
}

/** Returns undefined for an address that is not a device, such as a topic of ntfy. */
export function readDevice(address: string): Device | undefined {
  try {
    const value: unknown = JSON.parse(address);
    if (!isObject(value)) return undefined;
    const { platform, app, token } = value;
    const isDevice = platforms.includes(platform as Device['platform']) && typeof app === 'string';
    return isDevice && typeof token === 'string' && token !== '' ? (value as unknown as Device) : undefined;
  } catch {
    return undefined;
  }
}
