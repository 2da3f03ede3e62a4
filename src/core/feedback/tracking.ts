/**
 * Tracking of opens and clicks: links of an HTML mail lead through Belfry, and an invisible picture is loaded from it.
 * Their tokens name the delivery and contain the target, all of it signed: no token leads anywhere but where the message did.
 */
import { decodeHTMLAttribute } from 'entities/decode';
import { compactPattern, compactReference, readCompactReference, type TenantDelivery } from './identify.ts';

export interface TrackedUse extends TenantDelivery {
  /** The URL of the link; undefined if the message was opened. */
  target: string | undefined;
}

type SignShort = (text: string, purpose: string) => string;
type IsSignedShort = (signature: string, text: string, purpose: string) => boolean;

const purposes = { opened: 'tracked open', clicked: 'tracked click' } as const;

export const trackingLimits = {
  /** Characters of a URL: its token must fit into a path. Longer ones are not rewritten. */
  target: 1_600,
  /** Different links of a message; further ones are not rewritten. */
  links: 200,
  /** Characters of a document. Larger ones are not tracked: reading them would delay other messages. */
  document: 500_000,
} as const;

const tokenPattern = new RegExp(`^${compactPattern}(?:\\.([\\w-]{1,2200}))?\\.([0-9a-z]{16})$`);

export function signTrackingToken({ target, ...delivery }: TrackedUse, sign: SignShort): string {
  const name = compactReference(delivery);
  const text = target === undefined ? name : `${name}.${Buffer.from(target).toString('base64url')}`;
  return `${text}.${sign(text, target === undefined ? purposes.opened : purposes.clicked)}`;
}

/** Returns undefined unless this installation created the token. */
export function readTrackingToken(token: string, isSigned: IsSignedShort): TrackedUse | undefined {
  const [, organization, uuid, id, encoded, signature] = tokenPattern.exec(token) ?? [];
  if (signature === undefined) return undefined;
  const text = token.slice(0, -signature.length - 1);
  if (!isSigned(signature, text, encoded === undefined ? purposes.opened : purposes.clicked)) return undefined;
  const target = encoded === undefined ? undefined : Buffer.from(encoded, 'base64url').toString();
  // Only such targets are signed. The check costs nothing and keeps a redirect safe whatever is signed later.
  if (target !== undefined && !isTrackable(target)) return undefined;
  return { ...readCompactReference(organization!, uuid!, id!), target };
}

/** Whether a URL can be redirected to exactly as it is written. */
function isTrackable(url: string): boolean {
  return url.length <= trackingLimits.target && /^https?:\/\/[\x21-\x7e]+$/i.test(url) && URL.canParse(url);
}

interface Tracking {
  /** Returns the address that redirects to a link; undefined for links that are left as they are. */
  linkFor: (target: string) => string | undefined;
  pixelUrl: string;
}

/** Elements whose content is text, not elements. */
const rawElements = /^(?:style|script|title|textarea|xmp|noscript|iframe)$/;
const tagStart = /<(?:!--|(\/?[a-z][^\s/>]*))/gi;
const attribute = /[\s/]*([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?/y;
const tagEnd = /[\s/]*>/y;

/**
 * Rewrites the links of a document and adds the picture at the end of its body. Everything else keeps its bytes. Each
 * character is read once, whatever the document: what follows markup without an end is left as it is.
 */
export function trackHtml(html: string, { linkFor, pixelUrl }: Tracking): string {
  if (html.length > trackingLimits.document) return html;
  const rewritten = new Map<string, string | undefined>();
  let output = '';
  let copied = 0;
  let bodyEnd: number | undefined;
  const copyTo = (end: number) => {
    output += html.slice(copied, end);
    copied = end;
  };
  let position = 0;
  for (;;) {
    tagStart.lastIndex = position;
    const start = tagStart.exec(html);
    if (!start) break;
    const name = start[1]?.toLowerCase();
    if (name === undefined) {
      position = html.indexOf('-->', start.index + 2) + 3;
      if (position < 3) break;
      continue;
    }
    const tag = readTag(html, tagStart.lastIndex);
    if (!tag) break;
    position = tag.end;
    if (name === '/body') {
      copyTo(start.index);
      bodyEnd = output.length;
    } else if ((name === 'a' || name === 'area') && tag.href && !tag.isExcluded) {
      const url = rewrite(decodeHTMLAttribute(html.slice(tag.href.start, tag.href.end)).trim());
      if (url !== undefined) {
        copyTo(tag.href.start);
        output += url;
        copied = tag.href.end;
      }
    } else if (rawElements.test(name)) {
      const end = new RegExp(`</${name}[\\s/>]`, 'gi');
      end.lastIndex = position;
      const found = end.exec(html);
      if (!found) break;
      position = found.index;
    }
  }
  copyTo(html.length);
  const pixel = `<img src="${pixelUrl}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`;
  return bodyEnd === undefined ? output + pixel : output.slice(0, bodyEnd) + pixel + output.slice(bodyEnd);

  function rewrite(target: string): string | undefined {
    if (rewritten.has(target)) return rewritten.get(target);
    if (rewritten.size >= trackingLimits.links || !isTrackable(target)) return undefined;
    const url = linkFor(target);
    rewritten.set(target, url);
    return url;
  }
}

interface Tag {
  /** Position after the tag. */
  end: number;
  /** Position of the first `href`, without its quotes. */
  href?: { start: number; end: number };
  /** Whether the author excluded it with `data-no-track`. */
  isExcluded: boolean;
}

/** Reads the attributes of a tag, as browsers do: the first of a name counts. Returns undefined without an end. */
function readTag(html: string, start: number): Tag | undefined {
  const tag: Tag = { end: start, isExcluded: false };
  for (;;) {
    tagEnd.lastIndex = tag.end;
    if (tagEnd.test(html)) return { ...tag, end: tagEnd.lastIndex };
    attribute.lastIndex = tag.end;
    const found = attribute.exec(html);
    if (!found) return undefined;
    tag.end = attribute.lastIndex;
    const [, name = '', double, single, bare] = found;
    if (/^data-no-track$/i.test(name)) tag.isExcluded = true;
    const value = double ?? single ?? bare;
    if (value === undefined || tag.href || !/^href$/i.test(name)) continue;
    const end = tag.end - (bare === undefined ? 1 : 0);
    tag.href = { start: end - value.length, end };
  }
}
