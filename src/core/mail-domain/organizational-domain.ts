import { getDomain } from 'tldts';

/** Returns the domain below a public suffix, such as acme.co.uk of mail.acme.co.uk; a public suffix is its own. */
export function organizationalDomainOf(domain: string): string {
  return getDomain(domain, { allowPrivateDomains: true }) ?? domain;
}
