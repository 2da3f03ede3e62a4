/** Groups failed deliveries by what caused them. */
import { createHash } from 'node:crypto';

/** What a group is formed by: the channel, the state, the reason and the provider's error. */
export interface FailureFacts {
  channel_id: number;
  status: string;
  reason: string | null;
  detail: string | null;
}

/** Addresses, and words of six or more characters with a digit: ids, phone numbers, timestamps. */
const variable = /[^\s<>"'(),;:[\]]+@[^\s<>"'(),;:[\]]+|\+?(?=[\w-]*\d)[\w-]{6,}/g;
/** Later parts of an error are often a log or a stack trace, which differ every time. */
const maxCompared = 200;

/** Returns the part of a provider's error that two messages failing for the same cause share. */
export function commonError(detail: string | null): string {
  return (detail ?? '')
    .slice(0, 4 * maxCompared)
    .replace(variable, '…')
    .replace(/\s+/g, ' ')
    .slice(0, maxCompared);
}

/** Returns the id of a cause: the same for deliveries that failed alike. */
export function causeId({ channel_id, status, reason, detail }: FailureFacts): string {
  const facts = JSON.stringify([channel_id, status, reason, commonError(detail)]);
  return createHash('sha256').update(facts).digest('hex').slice(0, 16);
}
