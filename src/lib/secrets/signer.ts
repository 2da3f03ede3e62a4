/** HMAC-SHA-256 under a key derived from a passphrase: proves that a text was made by this installation. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { createKeyring, type Keyring } from './keyring.ts';

export interface Signer {
  sign(text: string, purpose: string): string;
  /** Also accepts previous keys: links that were sent keep working after a key rotation. */
  isSigned(signature: string, text: string, purpose: string): boolean;
  /** The first 80 bits as 16 lower-case letters and digits, for names that are short and whose case may change. */
  signShort(text: string, purpose: string): string;
  isSignedShort(signature: string, text: string, purpose: string): boolean;
}

export function createSigner(keys: Keyring | string): Signer {
  const keyring = typeof keys === 'string' ? createKeyring(keys) : keys;
  // Key objects: from bytes, Node would make one for each signature, which takes 25 µs instead of 4.
  const derived = new Map<string, KeyObject>();
  const derive = (passphrase: string): KeyObject => {
    const known = derived.get(passphrase);
    if (known) return known;
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', passphrase, '', 'belfry signatures', 32)));
    derived.set(passphrase, key);
    return key;
  };
  const signWith = (passphrase: string, text: string, purpose: string) =>
    createHmac('sha256', derive(passphrase)).update(`${purpose}\n${text}`).digest('base64url');
  const shortWith: typeof signWith = (passphrase, text, purpose) => {
    const bytes = Buffer.from(signWith(passphrase, text, purpose), 'base64url').subarray(0, 10);
    return BigInt(`0x${bytes.toString('hex')}`)
      .toString(36)
      .padStart(16, '0');
  };
  const isSignedByAny = (make: typeof signWith, signature: string, text: string, purpose: string) =>
    keyring.passphrases().some(passphrase => {
      const [actual, expected] = [Buffer.from(signature), Buffer.from(make(passphrase, text, purpose))];
      return actual.length === expected.length && timingSafeEqual(actual, expected);
    });
  const isSigned = (make: typeof signWith, signature: string, text: string, purpose: string) => {
    if (isSignedByAny(make, signature, text, purpose)) return true;
    // Another process may have signed it with a key that was just generated.
    if (!keyring.file) return false;
    keyring.refresh();
    return isSignedByAny(make, signature, text, purpose);
  };
  return {
    sign: (text, purpose) => signWith(keyring.passphrases()[0], text, purpose),
    isSigned: (signature, text, purpose) => isSigned(signWith, signature, text, purpose),
    signShort: (text, purpose) => shortWith(keyring.passphrases()[0], text, purpose),
    isSignedShort: (signature, text, purpose) => isSigned(shortWith, signature, text, purpose),
  };
}
