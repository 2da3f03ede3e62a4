/** `belfry doctor --domain`: checks the mail setup of a sending domain. */
import { AppError } from '../core/errors.ts';
import { areas, type DnsRecord, type Finding, type Severity } from '../core/mail-domain/finding.ts';
import { isHostName, readDomain } from '../core/mail-domain/lookups.ts';
import { isDnsServer } from '../lib/network/dns.ts';
import {
  checkDomains,
  type DomainCheck,
  type DomainSender,
  listSendersAcrossTenants,
} from '../services/configuration/checks/domain-checks.ts';
import { type Terminal, usageError } from './command.ts';
import { formatTable } from './format.ts';

interface DomainOptions {
  domain: string;
  selector: string | undefined;
  dnsServers: readonly string[];
  json: boolean;
}

const marks: Record<Severity, string> = { error: 'FAIL', warning: 'warn', unchecked: '?', info: 'info' };

export async function checkDomain(terminal: Terminal, options: DomainOptions): Promise<number> {
  const domain = readDomain(options.domain);
  if (domain === undefined) throw usageError('--domain must be a domain such as acme.test');
  const selector = options.selector?.toLowerCase();
  if (selector !== undefined && !isHostName(selector))
    throw usageError('--selector must be a DKIM selector such as s1');
  const wrong = options.dnsServers.find(server => !isDnsServer(server));
  if (wrong !== undefined) throw usageError('--dns-server must be an address such as 192.0.2.53 or 192.0.2.53:5353');

  const { config } = terminal;
  const senders = await findSenders(terminal, domain);
  if (selector !== undefined && !senders.some(({ dkim }) => dkim?.domain === domain && dkim.selector === selector)) {
    const dkim = { domain, selector };
    senders.push({ domain, name: `selector ${selector}`, canSign: true, dkim, hasBounceDomain: false });
  }
  const servers = options.dnsServers.length > 0 ? options.dnsServers : config.dnsServers;
  const listener = config.baseUrl ? new URL(config.baseUrl).hostname : undefined;
  const [check] = await checkDomains([domain], senders, { servers, listener });
  const healthy = check!.findings.every(({ severity }) => severity === 'warning' || severity === 'info');
  terminal.print(options.json ? JSON.stringify({ healthy, ...check }, null, 2) : formatCheck(check!));
  return healthy ? 0 : 1;
}

/** Without a database, or if it cannot be read, only DNS is checked. */
async function findSenders(terminal: Terminal, domain: string): Promise<DomainSender[]> {
  if (terminal.config.url) return [];
  try {
    return await terminal.withDeps(deps => listSendersAcrossTenants(deps, domain));
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'database.missing') {
      terminal.warn(`belfry: the channels cannot be read, so only DNS is checked: ${(error as Error).message}`);
    }
    return [];
  }
}

function formatCheck({ domain, senders, checked, findings }: DomainCheck): string {
  const heading = senders.length > 0 ? senders.join(', ') : 'no channel is known that sends from it';
  const printed = new Set<string>();
  const rows = areas.flatMap(area => {
    const own = findings.filter(finding => finding.area === area);
    if (own.length === 0) return checked.includes(area) ? [['ok', area, '']] : [];
    return own.flatMap(finding => formatFinding(finding, printed));
  });
  return [`${domain}: ${heading}`, '', formatTable(rows), '', summarize(findings)].join('\n');
}

/** A record that solves several problems is printed once. */
function formatFinding({ severity, area, message, record }: Finding, printed: Set<string>): string[][] {
  const text = record && `publish: ${formatRecord(record)}`;
  const rows = [[marks[severity], area, message]];
  if (text && !printed.has(text)) rows.push(['', '', text]);
  if (text) printed.add(text);
  return rows;
}

/** Formats a record for a zone file, in which a text is split into strings of at most 255 characters. */
function formatRecord({ name, type, value }: DnsRecord): string {
  const strings = value.replace(/["\\]/g, '\\$&').match(/.{1,255}/g) ?? [''];
  const data = type === 'TXT' ? strings.map(text => `"${text}"`).join(' ') : `${value}.`;
  return `${name}. ${type} ${data}`;
}

function summarize(findings: readonly Finding[]): string {
  const count = (wanted: Severity) => findings.filter(({ severity }) => severity === wanted).length;
  const [errors, warnings, unchecked] = [count('error'), count('warning'), count('unchecked')];
  if (errors + warnings + unchecked === 0) return 'No problems found.';
  return [
    errors > 0 && `${errors} ${errors === 1 ? 'error' : 'errors'}`,
    warnings > 0 && `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`,
    unchecked > 0 && `${unchecked} could not be checked`,
  ]
    .filter(Boolean)
    .join(', ')
    .concat('.');
}
