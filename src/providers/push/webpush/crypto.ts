/**
 * The cryptography of Web Push: encrypts for one browser (RFC 8291, with the format of RFC 8188), and signs for its push service (VAPID,
 * RFC 8292).
 */
import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

const curve = 'prime256v1';
/** Length of an uncompressed point. */
const pointBytes = 65;
const minSecretBytes = 16;
/** RFC 8188: larger than any message, so that it is a single record. */
const recordSize = 4096;
/** RFC 8292 allows a day. */
const lifetimeSeconds = 12 * 3600;

/** Encrypts a message with the keys of a subscription; returns undefined if they are not usable. */
export function encrypt(message: string, { p256dh, auth }: Record<string, unknown>): Buffer | undefined {
  if (typeof p256dh !== 'string' || typeof auth !== 'string') return undefined;
  const [browser, secret] = [Buffer.from(p256dh, 'base64url'), Buffer.from(auth, 'base64url')];
  if (browser.length !== pointBytes || secret.length < minSecretBytes) return undefined;
  const pair = createECDH(curve);
  const sender = pair.generateKeys();
  // Throws if the browser's key is not a point on the curve.
  const shared = pair.computeSecret(browser);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser, sender]);
  const input = Buffer.from(hkdfSync('sha256', shared, secret, info, 32));
  const salt = randomBytes(16);
  const key = Buffer.from(hkdfSync('sha256', input, salt, 'Content-Encoding: aes128gcm\0', 16));
  const nonce = Buffer.from(hkdfSync('sha256', input, salt, 'Content-Encoding: nonce\0', 12));
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  // The byte 2 ends the last record.
  const record = [cipher.update(message), cipher.update(Buffer.of(2)), cipher.final(), cipher.getAuthTag()];
  const size = Buffer.alloc(4);
  size.writeUInt32BE(recordSize);
  return Buffer.concat([salt, size, Buffer.of(sender.length), sender, ...record]);
}

export interface SigningKey {
  privateKey: KeyObject;
  publicKey: string;
}

/** Returns undefined if the keys are not a pair: with a wrong one, each push service would refuse every message with another error. */
export function readKeys(publicKey: string, privateKey: string): SigningKey | undefined {
  try {
    const pair = createECDH(curve);
    pair.setPrivateKey(privateKey, 'base64url');
    const point = pair.getPublicKey();
    if (point.toString('base64url') !== publicKey) return undefined;
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'));
    const jwk = { kty: 'EC', crv: 'P-256', x, y, d: privateKey };
    return { privateKey: createPrivateKey({ key: jwk, format: 'jwk' }), publicKey };
  } catch {
    return undefined;
  }
}

/** Generates a key pair in base64url. */
export function generateKeys(): { publicKey: string; privateKey: string } {
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: curve }).privateKey.export({ format: 'jwk' });
  const point = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return { publicKey: Buffer.concat(point).toString('base64url'), privateKey: d };
}

/** Returns the header that identifies the sender to a push service, and the secret in it. */
export function authorize({ privateKey, publicKey }: SigningKey, audience: string, subject: string) {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + lifetimeSeconds;
  const signed = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode({ aud: audience, exp, sub: subject })}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const token = `${signed}.${signature.toString('base64url')}`;
  return { authorization: `vapid t=${token}, k=${publicKey}`, token };
}
