/** Examines the SPF record of a domain with everything it includes. */
import { includesAddress, type Network, parseAddress } from './addresses.ts';
import { type Findings, quote } from './finding.ts';
import type { Lookups } from './lookups.ts';
import { hasMacro, isAlmostSpf, isSpf, parseSpf, rewriteSpf, type SpfRecord, type SpfTerm } from './spf-record.ts';

/** RFC 7208, 4.6.4. Receivers stop with an error beyond these. */
const maxLookups = 10;
const maxVoidLookups = 2;
/** RFC 7208, 4.6.4: addresses of further mail servers of an `mx` are not looked at. */
const maxExchanges = 10;

export interface SpfSubject {
  domain: string;
  /** Whether messages have this domain in their return path, which is what receivers check. */
  returnPath: 'yes' | 'maybe' | 'no';
  /** Mail server of our own that must be authorized, and its public addresses. */
  server?: { host: string; addresses: readonly string[] } | undefined;
}

interface Walk {
  dns: Lookups;
  findings: Findings;
  lookups: number;
  voids: string[];
  /** What the record authorizes. */
  networks: Network[];
  /** Set if the record may authorize more than `networks`. */
  isOpen: boolean;
  /** Set once an answer is missing or failed: counts are then too low. */
  isIncomplete: boolean;
}

export function examineSpf(dns: Lookups, findings: Findings, subject: SpfSubject): void {
  const { domain, server } = subject;
  const answer = dns.find('TXT', domain);
  if (!answer) return;
  if (answer.status === 'failed') {
    findings.addUnchecked('spf', `The SPF record of ${domain}`, answer.reason);
    return;
  }
  const texts = answer.status === 'found' ? answer.records : [];
  const records = texts.filter(isSpf);
  if (records.length === 0) {
    reportMissing(findings, subject, texts.find(isAlmostSpf));
    return;
  }
  if (records.length > 1) {
    const terms = records.map(parseSpf).flatMap(record => record.terms);
    findings.add(
      'error',
      'spf.multiple',
      `${domain} has ${records.length} SPF records, so receivers ignore them all: publish one record with the content of all.`,
      { name: domain, type: 'TXT', value: rewriteSpf(terms) },
    );
    return;
  }
  const record = parseSpf(records[0]!);
  const walk: Walk = { dns, findings, lookups: 0, voids: [], networks: [], isOpen: false, isIncomplete: false };
  for (const mistake of record.mistakes) findings.add('error', 'spf.syntax', `The SPF record of ${domain} ${mistake}.`);
  reportEnding(findings, domain, record);
  follow(walk, domain, record, [domain], true);
  if (walk.lookups > maxLookups) {
    findings.add(
      'error',
      'spf.lookups',
      `The SPF record of ${domain} needs more than ${maxLookups} DNS lookups, so receivers report an error instead of a result: ` +
        'remove includes that you no longer use, or replace some by the addresses they contain.',
    );
  } else if (walk.voids.length > maxVoidLookups) {
    const names = walk.voids.slice(0, 5).join(', ');
    findings.add(
      'error',
      'spf.void_lookups',
      `The SPF record of ${domain} names ${walk.voids.length} domains without records (${names}); receivers accept ${maxVoidLookups}: ` +
        'remove them.',
    );
  } else if (server && record.mistakes.length === 0) reportServer(walk, domain, record, server);
}

function reportMissing(findings: Findings, { domain, returnPath, server }: SpfSubject, almost: string | undefined) {
  const value = server && `v=spf1 ${mechanismOf(server.host)} -all`;
  const record = value ? { name: domain, type: 'TXT' as const, value } : undefined;
  if (almost !== undefined) {
    findings.add(
      'error',
      'spf.version',
      `The TXT record ${quote(almost)} of ${domain} is not recognized as SPF: it must start with "v=spf1 ".`,
    );
    return;
  }
  if (returnPath === 'no') {
    findings.add(
      'warning',
      'spf.missing',
      `${domain} has no SPF record. Messages have another return path, so publish that no server sends with this one.`,
      { name: domain, type: 'TXT', value: 'v=spf1 -all' },
    );
    return;
  }
  const advice = record ? '' : ', with the include that your mail service names and "~all" at the end';
  findings.add(
    returnPath === 'yes' ? 'error' : 'warning',
    'spf.missing',
    `${domain} has no SPF record, so receivers cannot see which servers may send for it: publish one${advice}.`,
    record,
  );
}

function reportEnding(findings: Findings, domain: string, record: SpfRecord): void {
  const { terms } = record;
  const at = terms.findIndex(({ name }) => name === 'all');
  const all = terms[at];
  const fixed = { name: domain, type: 'TXT' as const, value: rewriteSpf(terms) };
  if (!all) {
    if (terms.some(({ name }) => name === 'redirect')) return;
    const message = `The SPF record of ${domain} does not end in "-all" or "~all", so it says nothing about other servers.`;
    findings.add('warning', 'spf.no_all', message, fixed);
    return;
  }
  if (all.qualifier === '+') {
    const message = `The SPF record of ${domain} has "${all.text}", so every server in the world may send for it.`;
    findings.add('error', 'spf.pass_all', message, fixed);
  }
  if (all.qualifier === '?') {
    const message = `The SPF record of ${domain} has "?all", so it says nothing about other servers.`;
    findings.add('warning', 'spf.neutral_all', message, fixed);
  }
  const ignored = terms.filter(({ name }, i) => (i > at && name !== 'all') || name === 'redirect');
  if (ignored.length > 0) {
    const message = `Receivers ignore ${quote(ignored[0]!.text)} in the SPF record of ${domain}, because "all" already decides: move it before "all", or remove it.`;
    findings.add('warning', 'spf.after_all', message, fixed);
  }
}

/** Counts the lookups of a record and of what it includes, and collects what it authorizes. */
function follow(
  walk: Walk,
  domain: string,
  { terms }: SpfRecord,
  trail: readonly string[],
  isAuthorizing: boolean,
): void {
  const hasAll = terms.some(({ name }) => name === 'all');
  for (const term of terms) {
    const { name, network, qualifier } = term;
    if (name === 'all') continue;
    if (name === 'redirect' && hasAll) continue;
    const authorizes = isAuthorizing && qualifier === '+';
    if (network) {
      if (authorizes) walk.networks.push(network);
      continue;
    }
    // Counting goes on only as far as the result can change, which bounds the lookups of a hostile record.
    if (++walk.lookups > maxLookups) return;
    const target = term.domain ?? domain;
    if (name === 'ptr') {
      walk.findings.add(
        'warning',
        'spf.ptr',
        `The SPF record of ${domain} has "${term.text}", which is slow and which many receivers ignore: remove it.`,
        trail.length === 1 ? { name: domain, type: 'TXT', value: rewriteSpf(terms) } : undefined,
      );
      walk.isOpen = true;
    } else if (hasMacro(target)) walk.isOpen = true;
    else if (name === 'include' || name === 'redirect') enter(walk, domain, term, trail, authorizes);
    else readHosts(walk, domain, term, authorizes);
  }
}

function enter(walk: Walk, domain: string, term: SpfTerm, trail: readonly string[], isAuthorizing: boolean): void {
  const { dns, findings } = walk;
  const { text, domain: target = '' } = term;
  const shown = `${quote(text)} in the SPF record of ${domain}`;
  if (trail.includes(target)) {
    findings.add('error', 'spf.loop', `${shown} leads back to ${target}, so receivers report an error: remove it.`);
    return;
  }
  const answer = dns.find('TXT', target);
  if (answer?.status === 'failed') findings.addUnchecked('spf', shown, answer.reason);
  if (!answer || answer.status === 'failed') {
    walk.isIncomplete = true;
    return;
  }
  const records = answer.status === 'found' ? answer.records.filter(isSpf) : [];
  if (records.length !== 1) {
    if (answer.status === 'none') walk.voids.push(target);
    const found = records.length === 0 ? 'no SPF record' : `${records.length} SPF records`;
    const message = `${shown} leads to ${target}, which has ${found}, so receivers report an error: remove it, or correct the name.`;
    findings.add('error', 'spf.include', message);
    return;
  }
  const record = parseSpf(records[0]!);
  for (const mistake of record.mistakes) {
    findings.add('error', 'spf.include', `The SPF record of ${target}, which ${domain} includes, ${mistake}.`);
  }
  follow(walk, target, record, [...trail, target], isAuthorizing);
}

/** Reads the hosts of `a`, `mx` and `exists`. */
function readHosts(walk: Walk, domain: string, term: SpfTerm, authorizes: boolean): void {
  const { dns, findings } = walk;
  const target = term.domain ?? domain;
  const answer = term.name === 'mx' ? dns.find('MX', target) : dns.findAddresses(target);
  if (answer?.status === 'failed') {
    findings.addUnchecked('spf', `${quote(term.text)} in the SPF record of ${domain}`, answer.reason);
  }
  if (!answer || answer.status === 'failed') walk.isIncomplete = true;
  else if (answer.status === 'none') walk.voids.push(target);
  else if (term.name === 'a') authorize(walk, answer.records, term, authorizes);
  else if (term.name === 'exists') walk.isOpen = true;
  else {
    for (const exchange of answer.records.slice(0, maxExchanges)) {
      const addresses = dns.findAddresses(exchange.split(' ')[1]!);
      if (addresses?.status === 'found') authorize(walk, addresses.records, term, authorizes);
      else if (addresses?.status !== 'none') walk.isIncomplete = true;
    }
  }
}

function authorize(walk: Walk, addresses: readonly string[], { bits }: SpfTerm, authorizes: boolean): void {
  if (!authorizes) return;
  for (const text of addresses) {
    const address = parseAddress(text);
    if (address) walk.networks.push({ ...address, bits: bits[address.family] });
  }
}

function reportServer(
  { findings, networks, isOpen, isIncomplete }: Walk,
  domain: string,
  record: SpfRecord,
  { host, addresses }: NonNullable<SpfSubject['server']>,
): void {
  if (isOpen || isIncomplete) return;
  const outside = addresses.filter(text => {
    const address = parseAddress(text);
    return address && !networks.some(network => includesAddress(network, address));
  });
  if (outside.length === 0) return;
  findings.add(
    'error',
    'spf.unauthorized',
    `The SPF record of ${domain} does not authorize ${host} (${outside.slice(0, 5).join(', ')}), which sends the messages.`,
    { name: domain, type: 'TXT', value: rewriteSpf(record.terms, [mechanismOf(host)]) },
  );
}

function mechanismOf(host: string): string {
  const address = parseAddress(host);
  return address ? `ip${address.family}:${host}` : `a:${host}`;
}
