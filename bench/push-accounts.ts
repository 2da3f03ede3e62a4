/** Credentials of the push services of the benchmark, and the messages that are sent with them. */
import { generateKeyPairSync } from 'node:crypto';

/** What the services know of their customers. */
export interface PushAccounts {
  projectId: string;
  teamId: string;
  keyId: string;
  bundleId: string;
  applePublicKey: string;
}

export const accessToken = 'ya29.bench';

export function createAccounts() {
  const apple = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const google = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const accounts: PushAccounts = {
    projectId: 'bench',
    teamId: 'A1B2C3D4E5',
    keyId: 'F6G7H8I9J0',
    bundleId: 'com.acme.shop',
    applePublicKey: apple.publicKey,
  };
  return { accounts, applePrivateKey: apple.privateKey, googlePrivateKey: google.privateKey };
}

/** The token of a device, by its number: of APNs or of FCM. */
export function tokenOf(service: 'apns' | 'fcm', n: number): string {
  return service === 'apns' ? String(n).padStart(64, '0') : `fcm:device-${n}`;
}
