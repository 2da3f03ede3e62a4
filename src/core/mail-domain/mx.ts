/** Examines whether a domain can receive mail (RFC 5321, 7505). */
import { parseAddress } from './addresses.ts';
import type { Findings } from './finding.ts';
import type { Lookups } from './lookups.ts';

/** Further mail servers of a domain are not looked at. */
const maxExchanges = 10;

export interface MxSubject {
  domain: string;
  /** `bounces`: the domain of the return path, whose mail server is Belfry's listener. */
  purpose: 'from' | 'bounces';
  /** The host of Belfry's listener for bounces. */
  listener?: string | undefined;
}

export function examineMx(dns: Lookups, findings: Findings, { domain, purpose, listener }: MxSubject): void {
  const answer = dns.find('MX', domain);
  if (!answer) return;
  if (answer.status === 'failed') {
    findings.addUnchecked('mx', `The MX record of ${domain}`, answer.reason);
    return;
  }
  const record =
    purpose === 'bounces' && listener ? { name: domain, type: 'MX' as const, value: `10 ${listener}` } : undefined;
  if (answer.status === 'none') {
    const addresses = dns.findAddresses(domain);
    if (addresses?.status === 'failed') findings.addUnchecked('mx', `The address of ${domain}`, addresses.reason);
    if (purpose === 'bounces' && addresses?.status !== 'failed') {
      const message = `${domain} has no MX record, so bounces do not reach Belfry: point it at the listener for bounce mails.`;
      findings.add('error', 'mx.missing', message, record);
    } else if (addresses?.status === 'none') {
      const message = `${domain} has neither an MX record nor an address, so receivers refuse mail from it: publish an MX record for replies and bounces.`;
      findings.add('error', 'mx.missing', message);
    }
    return;
  }
  const exchanges = answer.records.map(text => text.split(' ')[1] ?? '');
  if (exchanges.includes('')) {
    if (exchanges.length > 1) {
      findings.add('error', 'mx.null_mixed', `${domain} has a null MX record ("0 .") beside others: remove it.`);
    } else {
      const effect =
        purpose === 'bounces'
          ? 'bounces do not reach Belfry'
          : 'replies and bounces are lost, and some receivers refuse mail from it';
      const message = `${domain} has a null MX record ("0 ."), which says that it receives no mail: ${effect}.`;
      findings.add(purpose === 'bounces' ? 'error' : 'warning', 'mx.null', message, record);
    }
    return;
  }
  for (const exchange of new Set(exchanges.slice(0, maxExchanges))) examineExchange(dns, findings, domain, exchange);
}

function examineExchange(dns: Lookups, findings: Findings, domain: string, exchange: string): void {
  if (parseAddress(exchange)) {
    const message = `The MX record of ${domain} has the address ${exchange}, but needs the name of a mail server.`;
    findings.add('error', 'mx.address', message);
    return;
  }
  const alias = dns.find('CNAME', exchange);
  if (alias?.status === 'found') {
    const message = `The mail server ${exchange} of ${domain} is an alias (CNAME), which MX records must not name: use ${alias.records[0]} instead.`;
    findings.add('warning', 'mx.cname', message);
  }
  const addresses = dns.findAddresses(exchange);
  if (addresses?.status === 'failed')
    findings.addUnchecked('mx', `The mail server ${exchange} of ${domain}`, addresses.reason);
  if (addresses?.status === 'none') {
    findings.add(
      'error',
      'mx.unresolved',
      `The mail server ${exchange} of ${domain} has no address: correct the MX record.`,
    );
  }
}
