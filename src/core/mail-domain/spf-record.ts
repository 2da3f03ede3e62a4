/** Parses an SPF record (RFC 7208). */
import { type Network, parseAddress } from './addresses.ts';

export interface SpfTerm {
  /** The term as published. */
  text: string;
  qualifier: '+' | '-' | '~' | '?';
  /** The mechanism, or `redirect`. */
  name: string;
  /** Undefined: the domain of the record itself. */
  domain?: string;
  /** Of `ip4` and `ip6`. */
  network?: Network;
  /** Lengths of the prefixes of `a` and `mx`. */
  bits: { 4: number; 6: number };
}

export interface SpfRecord {
  terms: SpfTerm[];
  mistakes: string[];
}

const withDomain = new Set(['include', 'exists', 'redirect']);
const mechanisms = new Set(['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists']);

/** Returns whether a TXT record is an SPF record; texts for other purposes may be at the same name. */
export function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

/** Returns whether a TXT record was meant to be an SPF record, but receivers do not recognize it. */
export function isAlmostSpf(text: string): boolean {
  return !isSpf(text) && /^["'\s]*(?:v\s*=\s*spf|spf[12]?[:= ])/i.test(text) && !/^spf2\.0\//i.test(text);
}

export function parseSpf(text: string): SpfRecord {
  const record: SpfRecord = { terms: [], mistakes: [] };
  for (const term of text.slice('v=spf1'.length).split(/ +/).filter(Boolean)) {
    const parsed = parseTerm(term);
    if (typeof parsed === 'string') record.mistakes.push(parsed);
    else if (parsed) record.terms.push(parsed);
  }
  if (record.terms.filter(({ name }) => name === 'redirect').length > 1) record.mistakes.push('has redirect= twice');
  return record;
}

/** Returns undefined for a modifier without effect on the result, and a text for a mistake. */
function parseTerm(text: string): SpfTerm | string | undefined {
  const shown = text.replace(/[^\x21-\x7e]/g, '?').slice(0, 100);
  const modifier = /^([a-z][a-z0-9._-]*)=(.*)$/i.exec(text);
  if (modifier) {
    const [name, domain] = [modifier[1]!.toLowerCase(), modifier[2]!];
    if (name !== 'redirect') {
      if (/^(?:ip[46]|include|a|mx|exists|ptr)$/.test(name))
        return `has "${shown}": write "${name}:" instead of "${name}="`;
      return undefined;
    }
    if (!isDomainSpec(domain)) return `has "${shown}", which names no domain`;
    return { text, qualifier: '+', name, domain: toName(domain), bits: { 4: 32, 6: 128 } };
  }
  const [, qualifier = '', word = '', rest = ''] = /^([+?~-]?)([a-z0-9]+)(.*)$/i.exec(text) ?? [];
  const name = word.toLowerCase();
  if (!mechanisms.has(name)) return `has "${shown}", which is not a mechanism of SPF`;
  const term = { text, name, qualifier: (qualifier || '+') as SpfTerm['qualifier'], bits: { 4: 32, 6: 128 } };
  if (name === 'all') return rest === '' ? term : `has "${shown}": "all" takes no value`;
  if (name === 'ip4' || name === 'ip6') {
    const network = rest.startsWith(':') ? parseNetwork(rest.slice(1), name === 'ip4' ? 4 : 6) : undefined;
    return network ? { ...term, network } : `has "${shown}", which is not a valid ${name} network`;
  }
  const [, domain, bits4, bits6] = /^(?::([^/]+))?(?:\/(\d{1,2}))?(?:\/\/(\d{1,3}))?$/.exec(rest) ?? [undefined, ''];
  if (domain !== undefined && !isDomainSpec(domain)) return `has "${shown}", which names no valid domain`;
  if (domain === undefined && withDomain.has(name)) return `has "${shown}", which names no domain`;
  term.bits = { 4: Number(bits4 ?? 32), 6: Number(bits6 ?? 128) };
  if (term.bits[4] > 32 || term.bits[6] > 128) return `has "${shown}", whose prefix is too long`;
  return { ...term, ...(domain !== undefined && { domain: toName(domain) }) };
}

function parseNetwork(text: string, family: 4 | 6): Network | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = parseAddress(address);
  if (parsed?.family !== family || Number(bits ?? 0) > parsed.bits) return undefined;
  return { ...parsed, bits: Number(bits ?? parsed.bits) };
}

/** A domain, possibly with macros such as %{i}. */
function isDomainSpec(text: string): boolean {
  const plain = text.replace(/%(?:\{[slodiphcrtv]\d*r?[.+,/_=-]*\}|[%_-])/gi, 'x');
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+\.?$/i.test(plain) && plain.length <= 253;
}

function toName(domain: string): string {
  return domain.toLowerCase().replace(/\.$/, '');
}

/** Macros are expanded for each message, so their names cannot be looked up in advance. */
export function hasMacro(domain: string): boolean {
  return domain.includes('%');
}

/**
 * Returns the record to publish instead: `add` first, then the terms without `ptr`, and a safe ending. A redirect is the
 * ending if there is no `all`.
 */
export function rewriteSpf(terms: readonly SpfTerm[], add: readonly string[] = []): string {
  const endings = terms.filter(({ name }) => name === 'all');
  const redirect = terms.find(({ name }) => name === 'redirect');
  const isStrict = endings.length > 0 && endings.every(({ qualifier }) => qualifier === '-');
  const ending = endings.length === 0 && redirect ? redirect.text : isStrict ? '-all' : '~all';
  const kept = terms.filter(({ name }) => !['all', 'redirect', 'ptr'].includes(name)).map(({ text }) => text);
  return ['v=spf1', ...new Set([...add, ...kept]), ending].join(' ');
}
