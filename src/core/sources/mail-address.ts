/**
 * The mail address of a source: its local part is signed, so that the listener knows it without looking anything up. It has the beginning
 * of the token's hash, and so changes with the token. In lower case, because servers may change the case.
 */
import { sourceTokenHash } from './token.ts';

const purpose = 'mail to source';
const pattern = /^(s-([0-9a-z]{1,10})-([0-9a-z]{1,10})-([0-9a-f]{10}))-([0-9a-z]{16})@/;

export interface MailedSource {
  organizationId: number;
  sourceId: number;
  /** The beginning of the hash of its token. */
  tokenMark: string;
}

type SignShort = (text: string, purpose: string) => string;
type IsSignedShort = (signature: string, text: string, purpose: string) => boolean;

export function tokenMarkOf(token: string): string | undefined {
  return sourceTokenHash(token)?.toString('hex').slice(0, 10);
}

/** Returns what precedes the @. */
export function mailNameOf({ organizationId, sourceId, tokenMark }: MailedSource, sign: SignShort): string {
  const text = `s-${organizationId.toString(36)}-${sourceId.toString(36)}-${tokenMark}`;
  return `${text}-${sign(text, purpose)}`;
}

/** Returns the source of an address, or undefined if this installation did not create it. */
export function readMailAddress(address: string, isSigned: IsSignedShort): MailedSource | undefined {
  const [, text, organization, source, tokenMark, signature] = pattern.exec(address.toLowerCase()) ?? [];
  if (!text || !isSigned(signature!, text, purpose)) return undefined;
  return {
    organizationId: Number.parseInt(organization!, 36),
    sourceId: Number.parseInt(source!, 36),
    tokenMark: tokenMark!,
  };
}
