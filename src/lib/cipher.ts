/** AES-256-GCM under a key derived from a passphrase. A sealed value is a version byte, 12 of nonce, 16 of tag, text. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const version = 1;
const nonceLength = 12;
const tagLength = 16;

export interface Cipher {
  seal(text: string, purpose: string): Buffer;
  /** Throws when the key or the purpose is another one, or a bit has changed. */
  open(sealed: Buffer, purpose: string): string;
}

/** The purpose is authenticated: what was sealed for one place cannot be moved to another. */
export function createCipher(passphrase: string): Cipher {
  const key = Buffer.from(hkdfSync('sha256', passphrase, '', 'belfry credentials', 32));
  return {
    seal(text, purpose) {
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, purpose) {
      if (sealed[0] !== version) throw new Error('sealed by another version');
      const nonce = sealed.subarray(1, 1 + nonceLength);
      const tag = sealed.subarray(1 + nonceLength, 1 + nonceLength + tagLength);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(tag);
      const body = sealed.subarray(1 + nonceLength + tagLength);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
  };
}
