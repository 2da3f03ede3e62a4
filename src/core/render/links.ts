/**
 * Where a link of a message may lead: http, https, mailto and tel. A value inside a URL is encoded for its position, so
 * that it can never lead to another site; a value that is the whole URL must be a complete and allowed one. The result
 * contains no space, quote, bracket or control character.
 */
import { type Part, PreparedText, rawText, type Values } from './template/slots.ts';

/** The position of the next piece in a URL. */
type UrlPosition = 'start' | 'host' | 'path' | 'elsewhere';

/** Returns the URL of a link, or undefined if it is not an allowed one. */
export function resolveLink(href: readonly Part[], values: Values): string | undefined {
  let url = '';
  let position: UrlPosition = 'start';
  for (const part of href) {
    const piece = typeof part === 'string' ? part : encodeAt(position, values[part]);
    url += piece;
    position = positionAfter(position, piece, url);
  }
  return allowedUrl(url);
}

/** Returns the URL of an image: as for a link, or `cid:` and the content id of an attachment, written by the author. */
export function resolveImage(href: readonly Part[], values: Values): string | undefined {
  const [only] = href;
  if (href.length === 1 && typeof only === 'string' && /^cid:[\w.-]{1,64}$/.test(only)) return only;
  return resolveLink(href, values);
}

/** No scheme and host name together are this long. */
const maxPrefixLength = 2_000;

/** Reads the whole URL only while it is short: reading it again for each of 4,000 values would be quadratic. */
function positionAfter(position: UrlPosition, piece: string, url: string): UrlPosition {
  if (position === 'elsewhere') return position;
  if (position === 'path') return /[?#]/.test(piece) ? 'elsewhere' : 'path';
  if (url.length > maxPrefixLength + piece.length) return 'elsewhere';
  if (url.trim() === '') return 'start';
  if (/^https?:\/\/[^/?#]+$/i.test(url)) return 'host';
  return /^https?:\/\/[^/?#]+\/[^?#]*$/i.test(url) ? 'path' : 'elsewhere';
}

export function allowedUrl(text: string): string | undefined {
  const url = text.trim().toWellFormed();
  if (!/^(?:https?:\/\/[^/?#]|mailto:[^?]|tel:[\d+])/i.test(url)) return undefined;
  return url.replace(/[^A-Za-z0-9\-._~:/?#@!$&+,;=%]/gu, character =>
    encodeURIComponent(character).replace(
      /[!'()*]/g,
      reserved => `%${reserved.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  );
}

function encodeAt(position: UrlPosition, value: unknown): string {
  if (value instanceof PreparedText && value.kind === 'url') return value.text;
  const text = rawText(value).toWellFormed();
  if (position === 'start') return text;
  const encoded = encodeURIComponent(text);
  if (position !== 'path' && !(position === 'host' && text.startsWith('/'))) return encoded;
  // Dot segments would escape the author's path.
  return encoded.replaceAll('%2F', '/').replace(/(^|\/)\.{1,2}(?=\/|$)/g, '$1');
}
