/** The rules for names, slugs, emails and phone numbers, one place each. */
import { parsePhoneNumberWithError } from 'libphonenumber-js/min';

export const limits = {
  name: 255,
  slug: 100,
  email: 254,
  address: 512,
  /** Of an address whose name begins with `webpush`: a subscription in JSON. Edge's alone has some 600 characters. */
  subscription: 2_048,
  key: 255,
  locale: 85,
} as const;

/** Name and value of an address stand together in an index of PostgreSQL, which takes a third of a page. */
const mostAddressBytes = 2_600;

/** The name of an address is one line: it comes back in headers of files and in logs. */
export const addressName = { pattern: '^[^\\r\\n]+$', patternHint: 'must be one line, without CR and LF' } as const;

/** Lower-case letters, digits, and single dashes or underscores between them. */
export const slugPattern = '^[a-z0-9]+([_-][a-z0-9]+)*$';

const local = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const label = /^[\p{L}\p{N}]([\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?$/u;

/** An address that mail can be sent to: one @, a dotted domain, no quoting, no spaces. */
export function isEmail(text: string): boolean {
  if (text.length > limits.email) return false;
  const at = text.lastIndexOf('@');
  if (at < 1 || at > 64 || !local.test(text.slice(0, at))) return false;
  const labels = text.slice(at + 1).split('.');
  return labels.length > 1 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1)!);
}

/** Upper and lower case are the same person, the same list, the same name. */
export function fold(text: string): string {
  return text.toLowerCase().normalize('NFC');
}

/** E.164, or undefined when it is no phone number. */
export function normalizePhone(text: string): string | undefined {
  try {
    const phone = parsePhoneNumberWithError(text);
    return phone.isPossible() ? phone.number : undefined;
  } catch {
    return undefined;
  }
}

/** The medium that an address of this name belongs to: `email-work` is email, `phone` and `sms2` are sms. */
export function addressKind(name: string): string {
  const folded = fold(name);
  if (folded.startsWith('email')) return 'email';
  if (folded.startsWith('phone') || folded.startsWith('sms')) return 'sms';
  return folded;
}

/** The value of an address as it is kept, or why it cannot be an address of its kind. */
export function readAddress(name: string, value: string): { value: string } | { mistake: string } {
  switch (addressKind(name)) {
    case 'email':
      return isEmail(value) ? { value } : { mistake: 'is not a valid email address' };
    case 'sms': {
      const phone = normalizePhone(value);
      if (phone !== undefined) return { value: phone };
      return { mistake: 'is not a phone number in international form, such as +15555550100' };
    }
    default: {
      const most = fold(name).startsWith('webpush') ? limits.subscription : limits.address;
      if (value.length > most) return { mistake: `is longer than ${most} characters` };
      if (Buffer.byteLength(name + value) > mostAddressBytes) return { mistake: 'is too long together with its name' };
      return { value };
    }
  }
}

export const notALocale = 'is not a language such as en or pt-BR';

/** A language tag as it is usually written (`pt-br` is `pt-BR`), or undefined when it is none. */
export function normalizeLocale(text: string): string | undefined {
  if (text.length > limits.locale) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}
