/** Examines the DMARC record that applies to a From domain (RFC 7489), and whether messages are aligned with it. */
import { type DnsRecord, type Findings, quote, type Severity } from './finding.ts';
import type { Lookups } from './lookups.ts';
import { organizationalDomainOf } from './organizational-domain.ts';
import { parseTags } from './tags.ts';

const policies = ['none', 'quarantine', 'reject'];
const tagNames = ['v', 'p', 'sp', 'np', 'rua', 'ruf', 'adkim', 'aspf', 'pct', 'fo', 'rf', 'ri', 'psd', 't'];
/** Further addresses are not looked up. */
const maxReportDomains = 5;

/** The domains by which a message can pass DMARC. */
export interface Alignment {
  /** What signs or sends the messages, for the sentence. */
  sender: string;
  dkimDomain: string | undefined;
  returnPathDomain: string | undefined;
}

interface Policy {
  domain: string;
  tags: Map<string, string>;
}

export function examineDmarc(dns: Lookups, findings: Findings, from: string, alignments: readonly Alignment[]): void {
  const policy = findPolicy(dns, findings, from);
  if (policy === undefined) return;
  if (policy) examinePolicy(dns, findings, from, policy);
  const modes = policy ? { dkim: policy.tags.get('adkim'), spf: policy.tags.get('aspf') } : {};
  for (const alignment of alignments) examineAlignment(findings, from, alignment, modes);
}

/** Returns undefined if it is not known yet or cannot be, and null if there is none. */
function findPolicy(dns: Lookups, findings: Findings, from: string): Policy | null | undefined {
  const organizational = organizationalDomainOf(from);
  for (const domain of new Set([from, organizational])) {
    const answer = dns.find('TXT', `_dmarc.${domain}`);
    if (!answer) return undefined;
    if (answer.status === 'failed') {
      findings.addUnchecked('dmarc', `The DMARC record _dmarc.${domain}`, answer.reason);
      return undefined;
    }
    if (answer.status === 'none') continue;
    const records = answer.records.filter(text => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text));
    if (records.length > 1) {
      const message = `_dmarc.${domain} has ${records.length} DMARC records, so receivers ignore them all: keep one.`;
      findings.add('error', 'dmarc.multiple', message);
      return null;
    }
    if (records.length === 1) {
      const { tags, mistakes } = parseTags(records[0]!);
      for (const mistake of mistakes)
        findings.add('error', 'dmarc.syntax', `The DMARC record _dmarc.${domain} ${mistake}.`);
      return { domain, tags };
    }
    const almost = answer.records.find(text => /dmarc|\bp\s*=/i.test(text));
    if (almost !== undefined) {
      const message = `The TXT record ${quote(almost)} of _dmarc.${domain} is not recognized as DMARC: it must start with "v=DMARC1;".`;
      findings.add('error', 'dmarc.version', message, starting(domain));
      return null;
    }
  }
  const message =
    `${from} has no DMARC record, which Gmail and Yahoo require: publish one. This one changes nothing yet and requests reports to an ` +
    'address of yours.';
  findings.add('error', 'dmarc.missing', message, starting(organizational));
  return null;
}

function starting(domain: string): DnsRecord {
  return { name: `_dmarc.${domain}`, type: 'TXT', value: `v=DMARC1; p=none; rua=mailto:dmarc@${domain}` };
}

function examinePolicy(dns: Lookups, findings: Findings, from: string, { domain, tags }: Policy): void {
  const name = `_dmarc.${domain}`;
  const fixed = new Map(tags);
  // All findings about tags show the same record, with all corrections.
  const record: DnsRecord = { name, type: 'TXT', value: '' };
  const correct = (
    severity: Severity,
    code: `dmarc.${string}`,
    message: string,
    changes: Record<string, string | undefined>,
  ) => {
    for (const [tag, value] of Object.entries(changes)) {
      if (value === undefined) fixed.delete(tag);
      else fixed.set(tag, value);
    }
    findings.add(severity, code, message, record);
  };

  const policy = tags.get('p')?.toLowerCase();
  const subdomains = tags.get('sp')?.toLowerCase();
  const unknown = (tag: string, value: string) =>
    `The DMARC record ${name} has the unknown policy ${quote(`${tag}=${value}`)}: it must be none, quarantine or reject.`;
  if (policy === undefined) {
    correct('error', 'dmarc.policy_missing', `The DMARC record ${name} has no policy (p=).`, { p: 'none' });
  } else if (!policies.includes(policy)) {
    correct('error', 'dmarc.policy_invalid', unknown('p', policy), { p: 'none' });
  } else if (subdomains !== undefined && !policies.includes(subdomains)) {
    correct('error', 'dmarc.policy_invalid', unknown('sp', subdomains), { sp: undefined });
  } else if (subdomains !== undefined && domain === from && policies.indexOf(subdomains) < policies.indexOf(policy)) {
    const message = `The DMARC record ${name} protects subdomains less (sp=${subdomains}) than the domain (p=${policy}).`;
    correct('warning', 'dmarc.subdomain_policy', message, { sp: undefined });
  }
  const percentage = tags.get('pct') ?? '100';
  if (!/^(?:\d{1,2}|100)$/.test(percentage)) {
    const message = `The DMARC record ${name} has ${quote(`pct=${percentage}`)}: it must be a number from 0 to 100.`;
    correct('error', 'dmarc.percentage', message, { pct: undefined });
  } else if (percentage !== '100') {
    const message = `The DMARC policy of ${name} applies to ${percentage} % of forged mail only (pct=${percentage}).`;
    correct('warning', 'dmarc.percentage', message, { pct: undefined });
  }
  for (const tag of ['adkim', 'aspf']) {
    const mode = tags.get(tag);
    if (mode === undefined || /^[rs]$/i.test(mode)) continue;
    const message = `The DMARC record ${name} has ${quote(`${tag}=${mode}`)}: it must be r (relaxed) or s (strict).`;
    correct('error', 'dmarc.syntax', message, { [tag]: undefined });
  }
  for (const tag of tags.keys()) {
    if (tagNames.includes(tag)) continue;
    const message = `The DMARC record ${name} has the unknown tag ${quote(tag)}, which receivers ignore.`;
    correct('warning', 'dmarc.unknown_tag', message, { [tag]: undefined });
  }
  if (tags.get('rua') === undefined) {
    const message = `The DMARC record ${name} requests no reports (rua=), so you cannot see who sends in the name of ${domain}.`;
    correct('warning', 'dmarc.reports_missing', message, { rua: `mailto:dmarc@${domain}` });
  }
  const toText = (list: Map<string, string>) => [...list].map(([tag, value]) => `${tag}=${value}`).join('; ');
  record.value = toText(fixed);

  const applied = domain === from ? policy : (subdomains ?? policy);
  if (applied === 'none') {
    const stricter = new Map([...fixed].filter(([tag, value]) => tag !== 'sp' || value !== 'none'));
    if (policy === 'none') stricter.set('p', 'quarantine');
    // First things first: without reports, a stricter policy would be blind.
    const isSound = record.value === toText(tags);
    findings.add(
      'warning',
      'dmarc.policy_none',
      `The DMARC policy for ${from} is "none", so receivers accept mail that others forge in its name. Once the reports show only your own ` +
        'servers, change it to "quarantine", later to "reject".',
      isSound ? { ...record, value: toText(stricter) } : undefined,
    );
  }
  examineReports(dns, findings, domain, tags);
}

function examineReports(dns: Lookups, findings: Findings, domain: string, tags: Map<string, string>): void {
  const name = `_dmarc.${domain}`;
  const uris = ['rua', 'ruf'].flatMap(tag => (tags.get(tag) ?? '').split(',').map(uri => uri.trim()));
  const domains = new Set<string>();
  for (const uri of uris.filter(Boolean)) {
    const [, host] = /^mailto:[^@\s!]+@([a-z0-9.-]+)(?:![0-9]+[kmgt]?)?$/i.exec(uri) ?? [];
    if (host === undefined) {
      const message = `The DMARC record ${name} has the report address ${quote(uri)}, which is not of the form mailto:dmarc@${domain}.`;
      findings.add('error', 'dmarc.reports_syntax', message);
    } else if (organizationalDomainOf(host.toLowerCase()) !== organizationalDomainOf(domain))
      domains.add(host.toLowerCase());
  }
  for (const other of [...domains].slice(0, maxReportDomains)) {
    const consent = `${domain}._report._dmarc.${other}`;
    const answer = dns.find('TXT', consent);
    if (answer?.status === 'failed')
      findings.addUnchecked('dmarc', `Whether ${other} accepts DMARC reports`, answer.reason);
    const isAccepted = answer?.status === 'found' && answer.records.some(text => /^v\s*=\s*DMARC1/.test(text));
    if (!answer || answer.status === 'failed' || isAccepted) continue;
    const message = `${other} has not agreed to receive the DMARC reports of ${domain}, so none are sent there: publish this record in ${other}.`;
    findings.add('warning', 'dmarc.reports_external', message, { name: consent, type: 'TXT', value: 'v=DMARC1' });
  }
}

interface Modes {
  dkim?: string | undefined;
  spf?: string | undefined;
}

function examineAlignment(findings: Findings, from: string, alignment: Alignment, modes: Modes): void {
  const { sender, dkimDomain, returnPathDomain } = alignment;
  const isAligned = (domain: string | undefined, mode = 'r') =>
    domain !== undefined &&
    (domain === from ||
      (mode.toLowerCase() !== 's' && organizationalDomainOf(domain) === organizationalDomainOf(from)));
  const dkim = isAligned(dkimDomain, modes.dkim);
  const spf = isAligned(returnPathDomain, modes.spf);
  if (dkim || (dkimDomain === undefined && spf)) return;
  const signature =
    dkimDomain === undefined ? 'they have no DKIM signature of Belfry' : `the DKIM signature is for ${dkimDomain}`;
  if (spf) {
    const message = `DMARC does not accept the signature of ${sender}: ${signature}, not ${from}. Messages pass by SPF only, which fails when they are forwarded.`;
    findings.add('warning', 'dmarc.dkim_alignment', message);
    return;
  }
  // Without a signature of our own, the mail server may still add one.
  findings.add(
    dkimDomain === undefined ? 'warning' : 'error',
    'dmarc.alignment',
    `Messages of ${sender} from ${from} do not pass DMARC: ${signature}, and the return path is in ${returnPathDomain}. Set dkim_domain to ${from}.`,
  );
}
