/**
 * Where a link of a message may lead: http, https, mailto and tel. A value inside an address can only be what its place
 * allows, a name or a piece of a path, so that it never leads to another site; a value that is the whole address has to
 * be a whole and allowed one. What comes out holds no space, quote, bracket or control character.
 */
import { type Part, PreparedText, rawText, type Values } from './template-slots.ts';

/** Where in an address the next piece of it comes to stand. */
type Spot = 'start' | 'host' | 'path' | 'elsewhere';

/** Undefined when it leads nowhere that is allowed. */
export function resolveLink(href: readonly Part[], values: Values): string | undefined {
  let url = '';
  let spot: Spot = 'start';
  for (const part of href) {
    const piece = typeof part === 'string' ? part : encodeAt(spot, values[part]);
    url += piece;
    spot = spotAfter(spot, piece, url);
  }
  return allowedUrl(url);
}

/** No name of a host is as long. */
const longestBeginning = 2_000;

/** The whole is only read while it is short: to read it for each of 4,000 values took as long as their square. */
function spotAfter(spot: Spot, piece: string, url: string): Spot {
  if (spot === 'elsewhere') return spot;
  if (spot === 'path') return /[?#]/.test(piece) ? 'elsewhere' : 'path';
  if (url.length > longestBeginning + piece.length) return 'elsewhere';
  if (url.trim() === '') return 'start';
  if (/^https?:\/\/[^/?#]+$/i.test(url)) return 'host';
  return /^https?:\/\/[^/?#]+\/[^?#]*$/i.test(url) ? 'path' : 'elsewhere';
}

export function allowedUrl(text: string): string | undefined {
  const url = text.trim().toWellFormed();
  if (!/^(?:https?:\/\/[^/?#]|mailto:[^?]|tel:[\d+])/i.test(url)) return undefined;
  return url.replace(/[^A-Za-z0-9\-._~:/?#@!$&+,;=%]/gu, character =>
    encodeURIComponent(character).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  );
}

function encodeAt(spot: Spot, value: unknown): string {
  if (value instanceof PreparedText && value.kind === 'url') return value.text;
  const text = rawText(value).toWellFormed();
  if (spot === 'start') return text;
  const encoded = encodeURIComponent(text);
  if (spot !== 'path' && !(spot === 'host' && text.startsWith('/'))) return encoded;
  // Dots alone would climb out of the author's path.
  return encoded.replaceAll('%2F', '/').replace(/(^|\/)\.{1,2}(?=\/|$)/g, '$1');
}
