/**
 * The return path of a mail (VERP): its local part names the delivery and is signed, so that a bounce mail proves which
 * message it is about. At most 64 characters (RFC 5321, 4.5.3.1.1), in lower case, because servers may change the case.
 */
import { compactPattern, compactReference, readCompactReference, type TenantDelivery } from './identify.ts';

const purpose = 'return path';
const pattern = new RegExp(`^(b-${compactPattern})-([0-9a-z]{16})@`);

type SignShort = (text: string, purpose: string) => string;
type IsSignedShort = (signature: string, text: string, purpose: string) => boolean;

export function returnPathOf(delivery: TenantDelivery, sign: SignShort): string {
  const text = `b-${compactReference(delivery)}`;
  return `${text}-${sign(text, purpose)}`;
}

/** Returns the delivery of a return path, or undefined if this installation did not create it. */
export function readReturnPath(address: string, isSigned: IsSignedShort): TenantDelivery | undefined {
  const [, text, organization, uuid, id, signature] = pattern.exec(address.toLowerCase()) ?? [];
  if (!text || !isSigned(signature!, text, purpose)) return undefined;
  return readCompactReference(organization!, uuid!, id!);
}
