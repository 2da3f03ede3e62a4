/** The token in the address of a source, which is also its integration key for clients of PagerDuty and Opsgenie. */
import { randomInt } from 'node:crypto';
import { sha256 } from '../identity/tokens.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Some clients of PagerDuty check that a key has 32 characters. */
const length = 32;

/** Tokens of other systems are accepted as well, so that their senders need not be changed. */
export const sourceToken = {
  pattern: '^[A-Za-z0-9_-]{20,100}$',
  patternHint: 'must be 20 to 100 letters, digits, dashes and underscores',
} as const;

export function generateSourceToken(): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** Returns undefined if the text cannot be a token. */
export function sourceTokenHash(text: string): Buffer | undefined {
  return new RegExp(sourceToken.pattern).test(text) ? sha256(text) : undefined;
}
