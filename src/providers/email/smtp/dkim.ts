/**
 * Signs emails with DKIM (RFC 6376, 8301, 8463), relaxed/relaxed. An email is signed with every configured key, or not sent. The work
 * blocks the event loop for less than a millisecond at a time: the body is hashed in slices, and signatures are made by other threads.
 */
import { createHash, type Hash, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { type DkimKeyType, readDkimKey } from '../../../core/mail-domain/dkim-key.ts';
import { isHostName, readDomain } from '../../../core/mail-domain/lookups.ts';
import type { ComposedMail } from './compose.ts';
import { SmtpError } from './session.ts';

export interface DkimSettings {
  host: string;
  dkim_domain?: string;
  dkim_selector?: string;
  dkim_private_key?: string;
  dkim_ed25519_selector?: string;
  dkim_ed25519_private_key?: string;
}

/** Returns the beginning of the email with its signatures; `rest` stays as it is. Rejects if it cannot be signed. */
export type DkimSigner = (mail: Pick<ComposedMail, 'raw' | 'rest'>) => Promise<Buffer>;

interface SigningKey {
  key: KeyObject;
  type: DkimKeyType;
  selector: string;
}

/** Signed in this number plus one, so that a signature breaks if a second one is added, which a mail client might show. */
const oversigned = new Set(['from', 'reply-to', 'subject', 'to', 'cc']);
/**
 * RFC 8058 requires the signature of the two headers for one-click unsubscribe, and Google that of Feedback-ID. Headers that a
 * service behind the mail server reads and removes are not signed.
 */
const signedHeaders = [...oversigned, 'sender', 'date', 'message-id', 'in-reply-to', 'references', 'auto-submitted']
  .concat(['mime-version', 'content-type', 'content-transfer-encoding', 'feedback-id'])
  .concat(['id', 'unsubscribe', 'unsubscribe-post', 'help', 'owner', 'post', 'archive'].map(name => `list-${name}`));
/** Amazon SES replaces these. */
const replacedBySes = ['date', 'message-id'];

const signAsync = promisify(sign);

/** Returns undefined if the settings ask for no signature. */
export function createDkimSigner(settings: DkimSettings): DkimSigner | undefined {
  const { dkim_domain, dkim_selector, dkim_private_key, dkim_ed25519_selector, dkim_ed25519_private_key } = settings;
  if (!dkim_domain && !dkim_selector && !dkim_private_key && !dkim_ed25519_private_key) return undefined;
  const domain = readDomain(dkim_domain ?? '');
  const keys: SigningKey[] = [];
  let mistake = domain ? '' : 'dkim_domain is missing or not a domain';
  const add = (field: string, selector: string | undefined, pem: string | undefined) => {
    const read = pem === undefined ? { mistake: 'is missing' } : readDkimKey(pem);
    if (!selector || !isHostName(selector))
      mistake ||= `${field.replace('private_key', 'selector')} is missing or not a selector`;
    else if ('mistake' in read) mistake ||= `${field} ${read.mistake}`;
    else keys.push({ ...read, selector });
  };
  add('dkim_private_key', dkim_selector, dkim_private_key);
  if (dkim_ed25519_private_key) add('dkim_ed25519_private_key', dkim_ed25519_selector, dkim_ed25519_private_key);
  const isSes = /(^|\.)amazonaws\.com$/i.test(settings.host);
  const names = signedHeaders.filter(name => !(isSes && replacedBySes.includes(name)));

  return async ({ raw, rest = [] }) => {
    if (mistake) throw new SmtpError('ECONFIG', `the email cannot be signed, so it was not sent: ${mistake}`);
    const headEnd = raw.indexOf('\r\n\r\n');
    const bodyHash = await hashBody([raw.subarray(headEnd + 4), ...rest]);
    const head = readHead(raw.subarray(0, headEnd), names);
    try {
      const signatures = await Promise.all(keys.map(key => signatureOf(key, domain!, head, bodyHash)));
      return Buffer.concat([Buffer.from(signatures.join('')), raw]);
    } catch (error) {
      const reason = (error as Error).message;
      throw new SmtpError('ECONFIG', `the email cannot be signed, so it was not sent: ${reason}`);
    }
  };
}

interface SignedHead {
  /** For `h=`. */
  names: string[];
  /** Canonical header fields, one byte per character. */
  text: string;
}

/** Text is read as one byte per character, because signatures are of bytes. */
function readHead(head: Buffer, wanted: readonly string[]): SignedHead {
  const fields = new Map<string, string[]>();
  for (const field of head.toString('latin1').split(/\r\n(?![ \t])/)) {
    const colon = field.indexOf(':');
    const name = field.slice(0, colon).toLowerCase();
    const line = `${name}:${relaxValue(field.slice(colon + 1))}\r\n`;
    // Several headers of one name are signed from the last to the first.
    fields.set(name, [line, ...(fields.get(name) ?? [])]);
  }
  const names: string[] = [];
  let text = '';
  for (const name of wanted) {
    const own = fields.get(name) ?? [];
    for (const line of own) {
      names.push(name);
      text += line;
    }
    if (oversigned.has(name)) names.push(name);
  }
  return { names, text };
}

/** Not `\s` or `trim`: in UTF-8, their non-breaking space is a part of other characters. */
function relaxValue(value: string): string {
  return value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '');
}

async function signatureOf(
  { key, type, selector }: SigningKey,
  domain: string,
  { names, text }: SignedHead,
  bodyHash: string,
): Promise<string> {
  const value = [
    ` v=1; a=${type}-sha256; c=relaxed/relaxed;`,
    ` d=${domain}; s=${selector};`,
    ` ${fold(`h=${names.join(':')};`)}`,
    ` bh=${bodyHash};`,
    ' b=',
  ].join('\r\n');
  const data = Buffer.from(`${text}dkim-signature:${relaxValue(value)}`, 'latin1');
  // RFC 8463: Ed25519 signs the hash.
  const signature = await (type === 'rsa'
    ? signAsync('sha256', data, key)
    : signAsync(null, createHash('sha256').update(data).digest(), key));
  return `DKIM-Signature:${value}${signature.toString('base64').replace(/.{1,70}(?=.)/g, '$&\r\n  ')}\r\n`;
}

/** Breaks the list of names after colons. */
function fold(list: string): string {
  return list.replace(/.{1,66}:(?=.)/g, '$&\r\n  ');
}

/** The hash of a slice takes a third of a millisecond. */
const sliceBytes = 65_536;

async function hashBody(parts: readonly Buffer[]): Promise<string> {
  const body = new RelaxedBody(createHash('sha256'));
  let total = 0;
  for (const part of parts) {
    for (let from = 0; from < part.length; from += sliceBytes) {
      if (total > 0) await new Promise(setImmediate);
      const slice = part.subarray(from, from + sliceBytes);
      body.add(slice.toString('latin1'));
      total += slice.length;
    }
  }
  return body.end();
}

/** The relaxed form of a body: spaces at the end of lines and empty lines at the end do not count, and others only once. */
class RelaxedBody {
  readonly #hash: Hash;
  /** What follows the last line end. A line of an email has at most 998 bytes. */
  #partialLine = '';
  /** Empty lines that belong to the body if another line follows. */
  #lineEnds = 0;
  #isEmpty = true;

  constructor(hash: Hash) {
    this.#hash = hash;
  }

  add(text: string): void {
    const all = this.#partialLine + text;
    const end = all.lastIndexOf('\r\n') + 1;
    this.#partialLine = all.slice(end === 0 ? 0 : end + 1);
    if (end > 0) this.#addLines(all.slice(0, end + 1));
  }

  end(): string {
    if (this.#partialLine) this.#addLines(`${this.#partialLine}\r\n`);
    if (!this.#isEmpty) this.#hash.update('\r\n');
    return this.#hash.digest('base64');
  }

  #addLines(lines: string): void {
    const relaxed = lines.replace(/[ \t]+/g, ' ').replaceAll(' \r\n', '\r\n');
    // Not a regular expression: it would need quadratic time for many empty lines.
    let end = relaxed.length;
    while (end >= 2 && relaxed.charCodeAt(end - 1) === 0x0a && relaxed.charCodeAt(end - 2) === 0x0d) end -= 2;
    const trailing = (relaxed.length - end) / 2;
    if (end === 0) {
      this.#lineEnds += trailing;
      return;
    }
    if (this.#lineEnds > 0) this.#hash.update('\r\n'.repeat(this.#lineEnds));
    this.#hash.update(relaxed.slice(0, end), 'latin1');
    this.#lineEnds = trailing;
    this.#isEmpty = false;
  }
}
