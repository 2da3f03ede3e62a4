/**
 * The return path of a mail (VERP): its local part names the delivery and is signed, so that a bounce mail proves which
 * message it is about. At most 64 characters (RFC 5321, 4.5.3.1.1), in lower case, because servers may change the case.
 */
import { toUuid } from '../ids.ts';
import type { DeliveryReference } from './identify.ts';

export interface ReturnPath extends DeliveryReference {
  organizationId: number;
}

const purpose = 'return path';

type SignShort = (text: string, purpose: string) => string;
type IsSignedShort = (signature: string, text: string, purpose: string) => boolean;

export function returnPathOf({ organizationId, occurrence, id }: ReturnPath, sign: SignShort): string {
  const uuid = BigInt(`0x${occurrence.replaceAll('-', '')}`);
  const text = `b-${organizationId.toString(36)}-${uuid.toString(36)}-${id.toString(36)}`;
  return `${text}-${sign(text, purpose)}`;
}

/** Returns the delivery of a return path, or undefined if this installation did not create it. */
export function readReturnPath(address: string, isSigned: IsSignedShort): ReturnPath | undefined {
  const [, text, organization, uuid, id, signature] =
    /^(b-([0-9a-z]{1,10})-([0-9a-z]{1,25})-([0-9a-z]{1,10}))-([0-9a-z]{16})@/.exec(address.toLowerCase()) ?? [];
  if (!text || !isSigned(signature!, text, purpose)) return undefined;
  let value = 0n;
  for (const digit of uuid!) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return {
    organizationId: Number.parseInt(organization!, 36),
    occurrence: toUuid(value.toString(16).padStart(32, '0')),
    id: Number.parseInt(id!, 36),
  };
}
