/** HMAC-SHA-256 under a key derived from a passphrase: texts that only this installation can have made. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

export interface Signer {
  sign(text: string, purpose: string): string;
  isSigned(signature: string, text: string, purpose: string): boolean;
}

export function createSigner(passphrase: string): Signer {
  const key = Buffer.from(hkdfSync('sha256', passphrase, '', 'belfry signatures', 32));
  const sign = (text: string, purpose: string) =>
    createHmac('sha256', key).update(`${purpose}\n${text}`).digest('base64url');
  return {
    sign,
    isSigned(signature, text, purpose) {
      const [given, right] = [Buffer.from(signature), Buffer.from(sign(text, purpose))];
      return given.length === right.length && timingSafeEqual(given, right);
    },
  };
}
