/** The rules for names, slugs, emails, phone numbers and locales. */
import { parsePhoneNumberWithError } from 'libphonenumber-js/min';
import { outside, toNfc } from '../json.ts';
import { isolate } from './bidi.ts';

export const limits = {
  name: 255,
  slug: 100,
  email: 254,
  address: 512,
  /** For addresses whose name begins with `webpush` or `push`: a subscription or device as JSON. Edge's has about 600 characters. */
  subscription: 2_048,
  key: 255,
  locale: 85,
  /** Why something is paused. */
  reason: 500,
} as const;

/** Name and value of an address share a PostgreSQL index entry, which is limited to a third of a page. */
const maxAddressBytes = 2_600;

/** Names of addresses appear in CSV headers and logs, reasons of pauses in sentences. */
export const singleLine = { pattern: '^[^\\r\\n]*$', patternHint: 'must be a single line, without CR or LF' } as const;

/** Lower-case letters, digits, and single dashes or underscores between them. */
export const slugPattern = '^[a-z0-9]+([_-][a-z0-9]+)*$';

const local = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const label = /^[\p{L}\p{N}]([\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?$/u;

/** Characters whose lower case would be ASCII: the Kelvin sign. */
const asciiInLowerCase = /(\u212a)/;
const nonAscii = /[^\0-\x7f]/gu;

/**
 * Returns whether mail can be sent to the address: one @, a dotted domain, no quoting, no spaces, and no character that mail
 * systems may turn into ASCII, such as a fullwidth letter, the Kelvin sign or a ligature. It would be another address here, but
 * reach the same mailbox.
 */
export function isEmail(text: string): boolean {
  if (text.length > limits.email || text.match(nonAscii)?.some(becomesAscii)) return false;
  const at = text.lastIndexOf('@');
  if (at < 1 || at > 64 || !local.test(text.slice(0, at))) return false;
  const labels = text.slice(at + 1).split('.');
  return labels.length > 1 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1)!);
}

/** Replaces each `{name}` by the value of that name, which does not change the direction of the text around it. */
export function fillText(text: string, values: Record<string, string>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : isolate(value);
  });
}

/** Whether lower-casing, or the compatibility forms that domain names use, turn the character into ASCII. */
function becomesAscii(character: string): boolean {
  return /[!-~]/.test(character.normalize('NFKC').toLowerCase());
}

/**
 * Normalizes text for case-insensitive comparison of users, accounts, lists and names: the only way to compare them, because
 * `lower()` of the database depends on its collation. Text that is not ASCII never becomes ASCII.
 */
export function fold(text: string): string {
  const lower = text.includes('\u212a')
    ? outside(asciiInLowerCase, text, part => part.toLowerCase())
    : text.toLowerCase();
  return toNfc(lower);
}

/** Returns the number in E.164 form, or undefined when the text is not a phone number. */
export function normalizePhone(text: string): string | undefined {
  try {
    const phone = parsePhoneNumberWithError(text);
    return phone.isPossible() ? phone.number : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the medium of an address with this name: `email-work` is email, `phone` and `sms2` are sms. */
export function addressKind(name: string): string {
  const folded = fold(name);
  if (folded.startsWith('email')) return 'email';
  if (folded.startsWith('phone') || folded.startsWith('sms')) return 'sms';
  return folded;
}

/** Returns the value of an address as it is stored, or why it is not valid for its medium. */
export function readAddress(name: string, value: string): { value: string } | { mistake: string } {
  switch (addressKind(name)) {
    case 'email':
      return isEmail(value) ? { value } : { mistake: 'is not a valid email address' };
    case 'sms': {
      const phone = normalizePhone(value);
      if (phone !== undefined) return { value: phone };
      return { mistake: 'is not a phone number in international format, such as +15555550100' };
    }
    default: {
      const max = /^(web)?push/.test(fold(name)) ? limits.subscription : limits.address;
      if (value.length > max) return { mistake: `is longer than ${max} characters` };
      if (Buffer.byteLength(name + value) > maxAddressBytes)
        return { mistake: 'is too long in combination with its name' };
      return { value };
    }
  }
}

export const notALocale = 'is not a language such as en or pt-BR';

/** Returns the canonical form of a language tag (`pt-br` becomes `pt-BR`), or undefined when it is not valid. */
export function normalizeLocale(text: string): string | undefined {
  if (text.length > limits.locale) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}

/** For text between HTML tags, for Slack's markup and Telegram's HTML: the latter support no other escapes. */
export function escapeAngles(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
