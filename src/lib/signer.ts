/** HMAC-SHA-256 under a key derived from a passphrase: proves that a text was made by this installation. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { createKeyring, type Keyring } from './keyring.ts';

export interface Signer {
  sign(text: string, purpose: string): string;
  /** Also accepts previous keys: links that were sent keep working after a key rotation. */
  isSigned(signature: string, text: string, purpose: string): boolean;
}

export function createSigner(keys: Keyring | string): Signer {
  const keyring = typeof keys === 'string' ? createKeyring(keys) : keys;
  const derived = new Map<string, Buffer>();
  const derive = (passphrase: string): Buffer => {
    const key = derived.get(passphrase) ?? Buffer.from(hkdfSync('sha256', passphrase, '', 'belfry signatures', 32));
    derived.set(passphrase, key);
    return key;
  };
  const signWith = (passphrase: string, text: string, purpose: string) =>
    createHmac('sha256', derive(passphrase)).update(`${purpose}\n${text}`).digest('base64url');
  const isSignedByAny = (signature: string, text: string, purpose: string) =>
    keyring.passphrases().some(passphrase => {
      const [actual, expected] = [Buffer.from(signature), Buffer.from(signWith(passphrase, text, purpose))];
      return actual.length === expected.length && timingSafeEqual(actual, expected);
    });
  return {
    sign: (text, purpose) => signWith(keyring.passphrases()[0], text, purpose),
    isSigned(signature, text, purpose) {
      if (isSignedByAny(signature, text, purpose)) return true;
      // Another process may have signed it with a key that was just generated.
      if (!keyring.file) return false;
      keyring.refresh();
      return isSignedByAny(signature, text, purpose);
    },
  };
}
