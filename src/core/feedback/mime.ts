/**
 * Splits a mail into its header and leaf parts, with a bound on everything: it takes milliseconds whatever the mail
 * contains. (postal-mime took seconds for 256 KB of short lines.) Bytes are kept as Latin-1 text and decoded
 * only where a part is read.
 */

export type Headers = ReadonlyMap<string, string>;

export interface Part {
  /** Lower case, without parameters. */
  type: string;
  headers: Headers;
  /** Decodes the content. */
  text(): string;
}

export interface Mail {
  headers: Headers;
  /** The leaf parts in their order. A returned message is one part. */
  parts: Part[];
}

/** A report precedes the message that it returns, so whatever is further down is not needed. */
const maxBytes = 1024 * 1024;
const maxHeaderChars = 64 * 1024;
const maxPartChars = 256 * 1024;
const maxParts = 100;
const maxDepth = 8;

export function parseMail(bytes: Buffer): Mail {
  const raw = bytes.toString('latin1', 0, maxBytes).replaceAll('\r\n', '\n');
  // A mailbox file starts with a line that is no header.
  const start = /^\n*(?:From [^\n]*\n)?/.exec(raw)![0].length;
  const { headers, body } = split(raw, start);
  const parts: Part[] = [];
  collect(headers, body, 0, parts);
  return { headers, parts };
}

/** Parses a block of header fields. Of repeated fields, the first counts. */
export function parseHeaders(block: string): Headers {
  const headers = new Map<string, string>();
  for (const line of block.replace(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 1 || colon > 100) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    if (!headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

function split(raw: string, start = 0): { headers: Headers; body: string } {
  if (raw.startsWith('\n', start)) return { headers: new Map(), body: raw.slice(start + 1) };
  const found = raw.indexOf('\n\n', start);
  const end = found < 0 ? raw.length : found;
  return { headers: parseHeaders(raw.slice(start, Math.min(end, start + maxHeaderChars))), body: raw.slice(end + 2) };
}

function collect(headers: Headers, body: string, depth: number, parts: Part[]): void {
  const contentType = headers.get('content-type') ?? 'text/plain';
  const type = /^[^\s;]*/.exec(contentType)![0].toLowerCase();
  const boundary = parameter(contentType, 'boundary');
  if (type.startsWith('multipart/') && boundary && depth < maxDepth) {
    const inner = splitParts(body, boundary);
    for (const part of inner) {
      if (parts.length >= maxParts) return;
      const { headers: own, body: content } = split(part);
      collect(own, content, depth + 1, parts);
    }
    if (inner.length > 0) return;
  }
  const text = () => decode(body.slice(0, maxPartChars), headers, contentType);
  parts.push({ type: type.startsWith('multipart/') ? 'text/plain' : type, headers, text });
}

function splitParts(body: string, boundary: string): string[] {
  const parts: string[] = [];
  const [, ...pieces] = `\n${body}`.split(`\n--${boundary}`, maxParts + 1);
  for (const piece of pieces) {
    if (piece.startsWith('--')) break;
    const lineEnd = piece.indexOf('\n');
    if (lineEnd >= 0 && piece.slice(0, lineEnd).trim() === '') parts.push(piece.slice(lineEnd + 1));
  }
  return parts;
}

function parameter(value: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`[;\\s]${name}=(?:"([^"]{1,200})"|([^\\s;"]{1,200}))`, 'i').exec(value) ?? [];
  return quoted ?? plain;
}

function decode(body: string, headers: Headers, contentType: string): string {
  const encoding = (headers.get('content-transfer-encoding') ?? '').toLowerCase();
  const bytes =
    encoding === 'base64'
      ? Buffer.from(body, 'base64')
      : encoding === 'quoted-printable'
        ? fromQuotedPrintable(body)
        : Buffer.from(body, 'latin1');
  return toText(bytes, parameter(contentType, 'charset'));
}

/** Ten times faster than replacing each sequence in the text. */
function fromQuotedPrintable(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    const isLineEnd = bytes[i + 1] === 0x0a;
    const code = hexValue(bytes[i + 1]) * 16 + hexValue(bytes[i + 2]);
    if (byte !== 0x3d || (!isLineEnd && Number.isNaN(code))) bytes[length++] = byte;
    else if (isLineEnd) i += 1;
    else {
      bytes[length++] = code;
      i += 2;
    }
  }
  return bytes.subarray(0, length);
}

function hexValue(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const upper = byte & ~0x20;
  return upper >= 0x41 && upper <= 0x46 ? upper - 0x37 : Number.NaN;
}

function toText(bytes: Buffer, charset: string | undefined): string {
  // Reports in Japanese often do not declare their charset; its escape sequences are unmistakable.
  const label = bytes.includes('\x1b$') ? 'iso-2022-jp' : (charset ?? 'utf-8');
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Decodes `=?charset?B?…?=` and `=?charset?Q?…?=` in a header. */
export function decodeWords(value: string): string {
  return value
    .slice(0, 2_000)
    .replace(/=\?([\w-]{1,40})\?([bq])\?([^?\s]{0,400})\?=\s?/gi, (_, charset: string, form: string, word: string) =>
      toText(
        form.toLowerCase() === 'b' ? Buffer.from(word, 'base64') : fromQuotedPrintable(word.replaceAll('_', ' ')),
        charset,
      ),
    );
}
