/** The suppression list: the addresses, and whole email domains, to which an organization sends nothing. */
import { addressKind, fold, isEmail, readAddress } from '../text/text.ts';

export const suppressionReasons = ['bounced', 'complained', 'unsubscribed', 'manual'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** Longest texts, in characters. */
export const suppressionLimits = { source: 100, detail: 500 } as const;

/** The entry of the list that an address matches. */
export interface Suppression {
  /** The address as it is compared, or `@` and its domain. */
  target: string;
  reason: SuppressionReason;
  /** What added the entry: `manual`, `import` or the name of a provider. */
  source: string;
  /** The note of the entry. */
  detail?: string | null;
  since: Date;
  /** Ids of the projects whose channels send nothing to it; null or absent: no channel does. */
  projects?: readonly number[] | null;
}

/** Returns whether a channel sends nothing because of the entry. What a project's channel reported stops only that project's channels. */
export function stopsChannel({ projects }: Suppression, { projectId }: { projectId?: number | null }): boolean {
  return !projects || projects.includes(projectId ?? 0);
}

/** Returns the target of an entry as it is stored and compared, or why it is not valid for the type of channel. */
export function readTarget(channelType: string, text: string): { value: string } | { mistake: string } {
  const isEmailType = channelType === 'email';
  if (isEmailType && text.startsWith('@')) {
    return isEmail(`x${text}`) ? { value: fold(text) } : { mistake: 'is not a domain such as @example.com' };
  }
  const read = readAddress(channelType, text);
  if ('mistake' in read) return isEmailType ? { mistake: `${read.mistake}, nor a domain such as @example.com` } : read;
  return { value: normalize(channelType, read.value) };
}

/** Returns the targets that suppress an address. A domain does not include its subdomains. */
export function targetsOf({ name, value }: { name: string; value: string }): { channelType: string; target: string }[] {
  const channelType = addressKind(name);
  const target = normalize(channelType, value);
  if (channelType !== 'email') return [{ channelType, target }];
  const domain = target.slice(target.lastIndexOf('@'));
  return [
    { channelType, target },
    { channelType, target: domain },
  ];
}

/** Emails are compared without case. Identifiers of other services may depend on it; phone numbers are stored as E.164. */
function normalize(channelType: string, address: string): string {
  return channelType === 'email' ? fold(address) : address;
}

/** Describes the entry for the detail of a delivery, such as `bounced, source mailgun, since 2026-01-31T09:00:00.000Z`, with its note. */
export function describeSuppression({ target, reason, source, since, detail }: Suppression): string {
  const domain = target.startsWith('@') ? `the domain ${target}: ` : '';
  return `${domain}${reason}, source ${source}, since ${since.toISOString()}${detail ? ` (${detail})` : ''}`;
}
