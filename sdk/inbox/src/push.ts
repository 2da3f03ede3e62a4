/** Web push: asks for permission and registers this browser's subscription as an address of the user. */
import type { Connection } from './connection.ts';

export type PushStatus = 'unsupported' | 'off' | 'on' | 'denied';

export interface PushOptions {
  /** Path of the service worker on the page's origin; it must be or import Belfry's /inbox-sw.js. */
  serviceWorker?: string;
}

const defaultWorker = '/inbox-sw.js';

export async function pushStatus({ serviceWorker = defaultWorker }: PushOptions = {}): Promise<PushStatus> {
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis) || !('Notification' in globalThis)) {
    return 'unsupported';
  }
  if (Notification.permission === 'denied') return 'denied';
  const registration = await navigator.serviceWorker.getRegistration(serviceWorker);
  const subscription = await registration?.pushManager.getSubscription();
  return subscription && Notification.permission === 'granted' ? 'on' : 'off';
}

/** Call it in response to a user action: otherwise browsers do not show the permission prompt. */
export async function enablePush(
  connection: Connection,
  { serviceWorker = defaultWorker }: PushOptions = {},
): Promise<PushStatus> {
  if ((await pushStatus({ serviceWorker })) === 'unsupported') return 'unsupported';
  if ((await Notification.requestPermission()) !== 'granted') return pushStatus({ serviceWorker });
  const { body } = await connection.get<{ public_key: string }>('inbox/push/');
  const registration = await navigator.serviceWorker.register(serviceWorker);
  await navigator.serviceWorker.ready;
  const applicationServerKey = fromBase64url(body.public_key);
  const old = await registration.pushManager.getSubscription();
  // A subscription for another key no longer receives anything.
  if (old && !isSame(old.options.applicationServerKey, applicationServerKey)) await old.unsubscribe();
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  const { endpoint, keys } = subscription.toJSON();
  await connection.post('inbox/push/', { endpoint, keys });
  return 'on';
}

function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), character => character.charCodeAt(0));
}

function isSame(one: ArrayBuffer | null, other: Uint8Array): boolean {
  const bytes = new Uint8Array(one ?? []);
  return bytes.length === other.length && bytes.every((byte, i) => byte === other[i]);
}
