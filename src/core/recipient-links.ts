/**
 * Tokens of links that recipients follow without an account. They are stateless: parts with dots between them, and a
 * signature over all of it, so that a part that was changed is a token that nobody gave. A purpose of its own keeps one
 * kind from being taken for another.
 */
export interface LinkHolder {
  organizationId: number;
  userId: number;
  /** Raised to revoke everything that was given before. */
  generation: number;
}

export interface UnsubscribeLink extends LinkHolder {
  category: string;
  channelType: string;
}

export interface AcknowledgeLink extends LinkHolder {
  /** User 0: whoever reads the room. */
  occurrenceId: string;
}

export interface RecipientToken extends LinkHolder {
  /** Seconds since 1970. */
  expiresAt: number;
}

export const purposes = {
  preferences: 'preferences link',
  unsubscribe: 'unsubscribe link',
  recipient: 'recipient token',
  acknowledge: 'acknowledge link',
} as const;

/** Told apart from an API key at first sight. */
export const recipientTokenPrefix = 'bfr.';
const longestToken = 400;
const numberPattern = /^[0-9a-z]{1,10}$/;

type Sign = (text: string, purpose: string) => string;
type IsSigned = (signature: string, text: string, purpose: string) => boolean;

const holderText = ({ organizationId, userId, generation }: LinkHolder) =>
  [organizationId, userId, generation].map(number => number.toString(36)).join('.');

export function writePreferencesToken(holder: LinkHolder, sign: Sign): string {
  return signed(holderText(holder), purposes.preferences, sign);
}

export function writeUnsubscribeToken(link: UnsubscribeLink, sign: Sign): string {
  return signed(`${holderText(link)}.${link.category}.${link.channelType}`, purposes.unsubscribe, sign);
}

export function writeAcknowledgeToken(link: AcknowledgeLink, sign: Sign): string {
  return signed(`${holderText(link)}.${link.occurrenceId}`, purposes.acknowledge, sign);
}

export function writeRecipientToken(token: RecipientToken, sign: Sign): string {
  const text = `${holderText(token)}.${token.expiresAt.toString(36)}`;
  return `${recipientTokenPrefix}${signed(text, purposes.recipient, sign)}`;
}

function signed(text: string, purpose: string, sign: Sign): string {
  return `${text}.${sign(text, purpose)}`;
}

/** Undefined for whatever was not given out as such. */
export function readPreferencesToken(token: string, isSigned: IsSigned): LinkHolder | undefined {
  const parts = read(token, purposes.preferences, isSigned);
  return parts?.length === 3 ? toHolder(parts) : undefined;
}

export function readUnsubscribeToken(token: string, isSigned: IsSigned): UnsubscribeLink | undefined {
  const parts = read(token, purposes.unsubscribe, isSigned);
  const holder = parts?.length === 5 && toHolder(parts);
  return holder ? { ...holder, category: parts![3]!, channelType: parts![4]! } : undefined;
}

export function readAcknowledgeToken(token: string, isSigned: IsSigned): AcknowledgeLink | undefined {
  const parts = read(token, purposes.acknowledge, isSigned);
  const holder = parts?.length === 4 && toHolder(parts);
  return holder ? { ...holder, occurrenceId: parts![3]! } : undefined;
}

export function readRecipientToken(token: string, isSigned: IsSigned): RecipientToken | undefined {
  if (!token.startsWith(recipientTokenPrefix)) return undefined;
  const parts = read(token.slice(recipientTokenPrefix.length), purposes.recipient, isSigned);
  const holder = parts?.length === 4 && toHolder(parts);
  return holder ? { ...holder, expiresAt: Number.parseInt(parts![3]!, 36) } : undefined;
}

function read(token: string, purpose: string, isSigned: IsSigned): string[] | undefined {
  if (token.length > longestToken) return undefined;
  const end = token.lastIndexOf('.');
  const text = token.slice(0, Math.max(0, end));
  return text !== '' && isSigned(token.slice(end + 1), text, purpose) ? text.split('.') : undefined;
}

function toHolder([organization = '', user = '', generation = '']: string[]): LinkHolder | undefined {
  if (![organization, user, generation].every(part => numberPattern.test(part))) return undefined;
  const [organizationId, userId, number] = [organization, user, generation].map(part => Number.parseInt(part, 36));
  return { organizationId: organizationId!, userId: userId!, generation: number! };
}

/** Enough to recognise one's own, too little for anybody else: j••••@a•••.test, +1••••••00. */
export function maskAddress(value: string): string {
  const at = value.lastIndexOf('@');
  if (at > 0) {
    const [, domain = '', end = ''] = /^(.*?)(\.[^.]*)?$/.exec(value.slice(at + 1)) ?? [];
    return `${value[0]}••••@${domain[0] ?? ''}•••${end}`;
  }
  return value.length > 6 ? `${value.slice(0, 2)}••••••${value.slice(-2)}` : '••••••';
}
