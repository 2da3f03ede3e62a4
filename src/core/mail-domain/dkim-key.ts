/** Reads private keys that can sign emails: RSA (RFC 6376, 8301) and Ed25519 (RFC 8463). */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

export type DkimKeyType = 'rsa' | 'ed25519';

/** RFC 8301: signers must not use shorter keys, and receivers need not verify longer ones. */
const minBits = 1_024;
const maxBits = 4_096;

const create = 'create one with `openssl genrsa -out dkim.pem 2048`';

/** Returns the key, or what is wrong with the text: the end of a sentence that begins with the name of the setting. */
export function readDkimKey(pem: string): { key: KeyObject; type: DkimKeyType } | { mistake: string } {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return { mistake: explainUnreadable(pem) };
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'ed25519') return { key, type };
  if (type !== 'rsa') {
    const name = [type?.toUpperCase(), details?.namedCurve].filter(Boolean).join(' ');
    return { mistake: `is a key of the kind ${name}, with which emails cannot be signed: use an RSA key; ${create}` };
  }
  const bits = details?.modulusLength ?? 0;
  if (bits < minBits) return { mistake: `has ${bits} bits, and receivers ignore less than ${minBits}: ${create}` };
  if (bits > maxBits) return { mistake: `has ${bits} bits, and many receivers verify at most ${maxBits}: ${create}` };
  return { key, type };
}

/** Returns whether signatures of the key can be verified. A damaged RSA key can often be read nevertheless. */
export function canSign(key: KeyObject): boolean {
  const text = Buffer.from('Belfry');
  const algorithm = key.asymmetricKeyType === 'rsa' ? 'sha256' : null;
  try {
    return verify(algorithm, text, createPublicKey(key), sign(algorithm, text, key));
  } catch {
    return false;
  }
}

export const damagedKey = `is damaged: its signatures cannot be verified; enter it again, or ${create}`;

function explainUnreadable(pem: string): string {
  if (/BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem))
    return 'is encrypted: remove the passphrase with `openssl pkey -in dkim.pem -out plain.pem`';
  if (/BEGIN [A-Z ]*PUBLIC KEY/.test(pem)) return 'is a public key: enter the private key';
  if (/BEGIN [A-Z ]*CERTIFICATE/.test(pem)) return 'is a certificate: enter its private key';
  if (/BEGIN OPENSSH/.test(pem)) return `is a key for SSH: ${create}`;
  return 'is not a valid PEM key: it may be cut off, or have lost its line breaks';
}
