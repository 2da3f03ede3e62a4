/**
 * Where a link of a message may lead: http, https, mailto and tel. A value inside an address can only be what its place
 * allows, a name or a piece of a path, so that it never leads to another site; a value that is the whole address has to
 * be a whole and allowed one. What comes out holds no space, quote, bracket or control character.
 */
import { type Part, Ready, rawText, type Values } from './template-slots.ts';

/** Undefined when it leads nowhere that is allowed. */
export function resolveLink(href: readonly Part[], values: Values): string | undefined {
  let url = '';
  for (const part of href) {
    if (typeof part === 'string') url += part;
    else url += encodeAfter(url, values[part]);
  }
  return allowedUrl(url);
}

export function allowedUrl(text: string): string | undefined {
  const url = text.trim().toWellFormed();
  if (!/^(?:https?:\/\/[^/?#]|mailto:[^?]|tel:[\d+])/i.test(url)) return undefined;
  return url.replace(/[^A-Za-z0-9\-._~:/?#@!$&+,;=%]/gu, character =>
    encodeURIComponent(character).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  );
}

function encodeAfter(before: string, value: unknown): string {
  if (value instanceof Ready && value.kind === 'url') return value.text;
  const text = rawText(value).toWellFormed();
  if (before.trim() === '') return text;
  const isPath = /^https?:\/\/[^/?#]+\/[^?#]*$/i.test(before);
  const startsPath = /^https?:\/\/[^/?#]+$/i.test(before) && text.startsWith('/');
  const encoded = encodeURIComponent(text);
  if (!isPath && !startsPath) return encoded;
  // Dots alone would climb out of the author's path.
  return encoded.replaceAll('%2F', '/').replace(/(^|\/)\.{1,2}(?=\/|$)/g, '$1');
}
