/** Examines the name of a mail server that sends to receivers itself: its reverse DNS must lead back to it. */
import { parseAddress, reverseNameOf } from './addresses.ts';
import type { Findings } from './finding.ts';
import type { Lookups } from './lookups.ts';

const maxAddresses = 5;

/** Returns the public addresses of the server; undefined if they are not known. */
export function examineServer(
  dns: Lookups,
  findings: Findings,
  host: string,
  isPublic: (address: string) => boolean,
): readonly string[] | undefined {
  const isAddress = parseAddress(host) !== undefined;
  const answer = isAddress ? { status: 'found' as const, records: [host] } : dns.findAddresses(host);
  if (!answer) return undefined;
  if (answer.status === 'failed') {
    findings.addUnchecked('server', `The mail server ${host}`, answer.reason);
    return undefined;
  }
  if (answer.status === 'none') {
    findings.add(
      'error',
      'server.unresolved',
      `The mail server ${host} has no address in DNS: correct the host, or publish its address.`,
    );
    return undefined;
  }
  const addresses = answer.records.filter(isPublic).slice(0, maxAddresses);
  if (addresses.length === 0) {
    // Its addresses are not named: a tenant must not learn internal ones.
    const message = `The mail server ${host} is in a private network, so the address from which it sends is not known here: check the reverse DNS of that address.`;
    findings.add('info', 'server.private', message);
    return undefined;
  }
  for (const address of addresses) examineReverse(dns, findings, host, isAddress, address);
  return addresses;
}

function examineReverse(dns: Lookups, findings: Findings, host: string, isAddress: boolean, address: string): void {
  const name = reverseNameOf(address);
  const answer = dns.find('PTR', name);
  if (!answer) return;
  if (answer.status === 'failed') {
    findings.addUnchecked('server', `The reverse DNS of ${address}`, answer.reason);
    return;
  }
  const record = isAddress ? undefined : { name, type: 'PTR' as const, value: host };
  const where = 'The provider of the address sets it';
  if (answer.status === 'none') {
    const message = `The address ${address} of ${host} has no reverse DNS (PTR), so many receivers refuse its mail. ${where}.`;
    findings.add('error', 'server.reverse_missing', message, record);
    return;
  }
  const names = answer.records.slice(0, maxAddresses);
  const confirmed = names.filter(one => {
    const forward = dns.findAddresses(one);
    return (
      forward === undefined ||
      forward.status === 'failed' ||
      (forward.status === 'found' && includes(forward.records, address))
    );
  });
  const failure = names.map(one => dns.findAddresses(one)).find(one => one?.status === 'failed');
  if (failure?.status === 'failed') findings.addUnchecked('server', `The reverse DNS of ${address}`, failure.reason);
  if (confirmed.length === 0) {
    const message = `The reverse DNS of ${address} is ${names.join(', ')}, which does not lead back to ${address}, so many receivers refuse its mail. ${where}.`;
    findings.add('error', 'server.reverse_unconfirmed', message, record);
  } else if (!isAddress && !confirmed.includes(host)) {
    const message = `The reverse DNS of ${address} is ${confirmed[0]}, not ${host}: the mail server must introduce itself (HELO) as ${confirmed[0]}.`;
    findings.add('warning', 'server.helo', message, record);
  }
}

/** Compares addresses by value: an IPv6 address has several forms. */
function includes(addresses: readonly string[], address: string): boolean {
  return addresses.some(one => reverseNameOf(one) === reverseNameOf(address));
}
