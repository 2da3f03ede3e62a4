/**
 * AES-256-GCM under a key derived from a passphrase. A sealed value consists of a version byte, an 8-byte key id, a
 * 12-byte nonce, a 16-byte tag and the ciphertext. Version 1 has no key id, so every key is tried.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { createKeyring, type Keyring } from './keyring.ts';

const withoutKeyId = 1;
const withKeyId = 2;
const idLength = 8;
const nonceLength = 12;
const tagLength = 16;

export interface Cipher {
  seal(text: string, purpose: string): Buffer;
  /** Throws if no key fits, the purpose differs, or the value was changed. */
  open(sealed: Buffer, purpose: string): string;
  /** Returns whether the value is sealed under the current key and in the current format. */
  isCurrent(sealed: Buffer): boolean;
}

interface DerivedKey {
  id: Buffer;
  key: Buffer;
}

/** The purpose is authenticated: a value sealed for one field cannot be moved to another. */
export function createCipher(keys: Keyring | string): Cipher {
  const keyring = typeof keys === 'string' ? createKeyring(keys) : keys;
  const derived = new Map<string, DerivedKey>();
  const derive = (passphrase: string): DerivedKey => {
    const cached = derived.get(passphrase);
    if (cached) return cached;
    const part = (info: string, length: number) => Buffer.from(hkdfSync('sha256', passphrase, '', info, length));
    const key = { id: part('belfry key id', idLength), key: part('belfry credentials', 32) };
    derived.set(passphrase, key);
    return key;
  };
  const current = () => derive(keyring.passphrases()[0]);
  const openWithAny = (sealed: Buffer, purpose: string): string | undefined => {
    const version = sealed[0];
    if (version !== withoutKeyId && version !== withKeyId) throw new Error('sealed by another version');
    const begin = version === withKeyId ? 1 + idLength : 1;
    const candidates = keyring.passphrases().map(derive);
    for (const { id, key } of candidates) {
      if (version === withKeyId && !sealed.subarray(1, begin).equals(id)) continue;
      const text = decrypt(sealed.subarray(begin), key, purpose);
      if (text !== undefined) return text;
    }
    return undefined;
  };

  return {
    seal(text, purpose) {
      keyring.refresh();
      const { id, key } = current();
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(withKeyId), id, nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, purpose) {
      let text = openWithAny(sealed, purpose);
      if (text === undefined) {
        keyring.refresh();
        text = openWithAny(sealed, purpose);
      }
      if (text === undefined) throw new Error('sealed under another key, for another purpose, or damaged');
      return text;
    },
    isCurrent: sealed => sealed[0] === withKeyId && sealed.subarray(1, 1 + idLength).equals(current().id),
  };
}

function decrypt(sealed: Buffer, key: Buffer, purpose: string): string | undefined {
  const nonce = sealed.subarray(0, nonceLength);
  const tag = sealed.subarray(nonceLength, nonceLength + tagLength);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed.subarray(nonceLength + tagLength)), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    return undefined;
  }
}
