/**
 * Signed, stateless tokens of the links that recipients follow without an account: parts separated by dots, followed by a
 * signature over all of them. Each kind is signed for its own purpose, so that one kind is never accepted as another.
 */
export interface LinkHolder {
  organizationId: number;
  userId: number;
  /** Incremented to revoke all tokens issued before. */
  generation: number;
}

interface UnsubscribeLink extends LinkHolder {
  category: string;
  channelType: string;
}

interface AcknowledgeLink extends LinkHolder {
  /** For user 0, the link belongs to every reader of a room. */
  occurrenceId: string;
}

/** What created a token: an API key, by its id, or a session, by the hash of its cookie. */
export type Issuer = { key: string } | { session: Buffer };

interface RecipientToken extends LinkHolder {
  /** Seconds since 1970. */
  expiresAt: number;
  /** The token ends with it. Absent for tokens of Belfry itself. */
  issuer?: Issuer;
}

/** A calendar of shifts, which programs fetch without an account. */
export interface CalendarFeed {
  organizationId: number;
  /** All shifts of a schedule, or those of a user. */
  of: 'schedule' | 'user';
  id: number;
  generation: number;
}

const purposes = {
  preferences: 'preferences link',
  unsubscribe: 'unsubscribe link',
  recipient: 'recipient token',
  acknowledge: 'acknowledge link',
  schedule: 'calendar of a schedule',
  user: 'calendar of a user',
} as const;

/** Distinguishes the token from an API key. */
export const recipientTokenPrefix = 'bfr.';
const maxTokenLength = 400;
const numberPattern = /^[0-9a-z]{1,10}$/;

type Sign = (text: string, purpose: string) => string;
type IsSigned = (signature: string, text: string, purpose: string) => boolean;

const holderText = ({ organizationId, userId, generation }: LinkHolder) =>
  [organizationId, userId, generation].map(number => number.toString(36)).join('.');

export function signPreferencesToken(holder: LinkHolder, sign: Sign): string {
  return appendSignature(holderText(holder), purposes.preferences, sign);
}

export function signUnsubscribeToken(link: UnsubscribeLink, sign: Sign): string {
  return appendSignature(`${holderText(link)}.${link.category}.${link.channelType}`, purposes.unsubscribe, sign);
}

export function signAcknowledgeToken(link: AcknowledgeLink, sign: Sign): string {
  return appendSignature(`${holderText(link)}.${link.occurrenceId}`, purposes.acknowledge, sign);
}

export function signRecipientToken(token: RecipientToken, sign: Sign): string {
  const { issuer, expiresAt } = token;
  const parts = [holderText(token), expiresAt.toString(36)];
  if (issuer) parts.push('key' in issuer ? `k${issuer.key}` : `s${issuer.session.toString('base64url')}`);
  const text = parts.join('.');
  return `${recipientTokenPrefix}${appendSignature(text, purposes.recipient, sign)}`;
}

export function signCalendarToken({ organizationId, of, id, generation }: CalendarFeed, sign: Sign): string {
  const text = `${of}.${holderText({ organizationId, userId: id, generation })}`;
  return appendSignature(text, purposes[of], sign);
}

function appendSignature(text: string, purpose: string, sign: Sign): string {
  return `${text}.${sign(text, purpose)}`;
}

/** Returns undefined unless the token was issued for this purpose. */
export function verifyPreferencesToken(token: string, isSigned: IsSigned): LinkHolder | undefined {
  const parts = verify(token, purposes.preferences, isSigned);
  return parts?.length === 3 ? toHolder(parts) : undefined;
}

export function verifyUnsubscribeToken(token: string, isSigned: IsSigned): UnsubscribeLink | undefined {
  const parts = verify(token, purposes.unsubscribe, isSigned);
  const holder = parts?.length === 5 && toHolder(parts);
  return holder ? { ...holder, category: parts![3]!, channelType: parts![4]! } : undefined;
}

export function verifyAcknowledgeToken(token: string, isSigned: IsSigned): AcknowledgeLink | undefined {
  const parts = verify(token, purposes.acknowledge, isSigned);
  const holder = parts?.length === 4 && toHolder(parts);
  return holder ? { ...holder, occurrenceId: parts![3]! } : undefined;
}

export function verifyRecipientToken(token: string, isSigned: IsSigned): RecipientToken | undefined {
  if (!token.startsWith(recipientTokenPrefix)) return undefined;
  const parts = verify(token.slice(recipientTokenPrefix.length), purposes.recipient, isSigned);
  const holder = (parts?.length === 4 || parts?.length === 5) && toHolder(parts);
  if (!holder) return undefined;
  const [, , , expiresAt = '', issuer] = parts;
  return { ...holder, expiresAt: Number.parseInt(expiresAt, 36), ...(issuer && { issuer: toIssuer(issuer) }) };
}

export function verifyCalendarToken(token: string, isSigned: IsSigned): CalendarFeed | undefined {
  const of = token.startsWith('user.') ? 'user' : 'schedule';
  const parts = verify(token, purposes[of], isSigned);
  const holder = parts?.length === 4 && parts[0] === of && toHolder(parts.slice(1));
  return holder ? { ...holder, of, id: holder.userId } : undefined;
}

function toIssuer(text: string): Issuer {
  const name = text.slice(1);
  return text.startsWith('k') ? { key: name } : { session: Buffer.from(name, 'base64url') };
}

function verify(token: string, purpose: string, isSigned: IsSigned): string[] | undefined {
  if (token.length > maxTokenLength) return undefined;
  const end = token.lastIndexOf('.');
  const text = token.slice(0, Math.max(0, end));
  return text !== '' && isSigned(token.slice(end + 1), text, purpose) ? text.split('.') : undefined;
}

function toHolder([organization = '', user = '', generation = '']: string[]): LinkHolder | undefined {
  if (![organization, user, generation].every(part => numberPattern.test(part))) return undefined;
  const [organizationId, userId, number] = [organization, user, generation].map(part => Number.parseInt(part, 36));
  return { organizationId: organizationId!, userId: userId!, generation: number! };
}

/** Masks an address so that only its owner recognises it: j••••@a•••.test, +1••••••00. */
export function maskAddress(value: string): string {
  const at = value.lastIndexOf('@');
  if (at > 0) {
    const [, domain = '', end = ''] = /^(.*?)(\.[^.]*)?$/.exec(value.slice(at + 1)) ?? [];
    return `${value[0]}••••@${domain[0] ?? ''}•••${end}`;
  }
  return value.length > 6 ? `${value.slice(0, 2)}••••••${value.slice(-2)}` : '••••••';
}
