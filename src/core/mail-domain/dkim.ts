/** Examines the DKIM record of a selector (RFC 6376, 8301, 8463). */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { readDkimKey } from './dkim-key.ts';
import { type Findings, quote } from './finding.ts';
import type { Lookups } from './lookups.ts';
import { parseTags } from './tags.ts';

export interface DkimSigner {
  /** The domain for which messages are signed: `d=`. */
  domain: string;
  selector: string;
  /** PEM. Undefined: not known here. */
  privateKey?: string | undefined;
}

/** RFC 8301: receivers must not accept shorter keys, and signers should use the longer ones. */
const minBits = 1_024;
const recommendedBits = 2_048;

export function examineDkim(dns: Lookups, findings: Findings, { domain, selector, privateKey }: DkimSigner): void {
  const name = `${selector}._domainkey.${domain}`;
  const read = privateKey === undefined ? undefined : readDkimKey(privateKey);
  if (read && 'mistake' in read) {
    const message = `The private key of the selector ${selector} ${read.mistake}. Until then, no message is sent.`;
    findings.add('error', 'dkim.private_key', message);
  }
  const own = read && 'key' in read ? read.key : undefined;
  const record = own && { name, type: 'TXT' as const, value: toRecord(own) };
  const answer = dns.find('TXT', name);
  if (!answer) return;
  if (answer.status === 'failed') {
    findings.addUnchecked('dkim', `The DKIM record ${name}`, answer.reason);
    return;
  }
  if (answer.status === 'none') {
    const message = `${name} has no DKIM record, so receivers cannot verify the signatures of messages: publish the public key.`;
    findings.add('error', 'dkim.missing', message, record);
    return;
  }
  if (answer.records.length > 1) {
    const message = `${name} has ${answer.records.length} TXT records, and receivers may use any of them: keep the one with the public key.`;
    findings.add('error', 'dkim.multiple', message, record);
    return;
  }
  const { tags, mistakes } = parseTags(answer.records[0]!);
  for (const mistake of mistakes) findings.add('error', 'dkim.syntax', `The DKIM record ${name} ${mistake}.`, record);
  examineTags(findings, name, tags, record);
  const published = readPublished(findings, name, tags, record);
  if (!published) return;
  const bits = published.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < recommendedBits) {
    const isTooShort = bits < minBits;
    findings.add(
      isTooShort ? 'error' : 'warning',
      isTooShort ? 'dkim.key_too_short' : 'dkim.key_short',
      `The DKIM key of ${name} has ${bits} bits; ${isTooShort ? 'receivers ignore it' : 'longer ones are safer'}: create one with ` +
        `${recommendedBits} bits under another selector.`,
    );
  }
  if (own && !createPublicKey(own).equals(published)) {
    const message = `The public key in ${name} does not belong to the private key of the channel, so every signature fails.`;
    findings.add('error', 'dkim.mismatch', message, record);
  }
}

function examineTags(
  findings: Findings,
  name: string,
  tags: Map<string, string>,
  record: DkimRecord | undefined,
): void {
  const list = (tag: string) =>
    tags
      .get(tag)
      ?.toLowerCase()
      .split(':')
      .map(one => one.trim());
  const version = tags.get('v');
  if (version !== undefined && (version !== 'DKIM1' || [...tags.keys()][0] !== 'v')) {
    findings.add('error', 'dkim.version', `The DKIM record ${name} must start with "v=DKIM1".`, record);
  }
  if (list('t')?.includes('y')) {
    const message = `The DKIM record ${name} has "t=y", so receivers treat messages as unsigned: remove it after testing.`;
    findings.add('warning', 'dkim.testing', message, record);
  }
  const hashes = list('h');
  if (hashes && !hashes.includes('sha256')) {
    const message = `The DKIM record ${name} has ${quote(`h=${tags.get('h')}`)}, but messages are signed with sha256: remove it.`;
    findings.add('error', 'dkim.hash', message, record);
  }
  const services = list('s');
  if (services && !services.includes('*') && !services.includes('email')) {
    const message = `The DKIM record ${name} has ${quote(`s=${tags.get('s')}`)}, so it is not for email: remove it.`;
    findings.add('error', 'dkim.service', message, record);
  }
}

type DkimRecord = { name: string; type: 'TXT'; value: string };

function readPublished(findings: Findings, name: string, tags: Map<string, string>, record: DkimRecord | undefined) {
  const type = (tags.get('k') ?? 'rsa').toLowerCase();
  const text = tags.get('p')?.replace(/\s+/g, '');
  if (type !== 'rsa' && type !== 'ed25519') {
    findings.add('error', 'dkim.key_type', `The DKIM record ${name} has the unknown key type ${quote(type)}.`, record);
    return undefined;
  }
  if (text === undefined) {
    findings.add('error', 'dkim.key_missing', `The DKIM record ${name} has no public key (p=).`, record);
    return undefined;
  }
  if (text === '') {
    const message = `The DKIM key of ${name} is revoked: its p= is empty. Use another selector, or publish the key again.`;
    findings.add('error', 'dkim.revoked', message, record);
    return undefined;
  }
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    const message = `The public key in ${name} is not valid base64: it may be cut off, or contain quotes.`;
    findings.add('error', 'dkim.base64', message, record);
    return undefined;
  }
  const key = readPublicKey(type, text);
  if (!key)
    findings.add(
      'error',
      'dkim.key_invalid',
      `The public key in ${name} is not a valid ${type} key: it may be cut off.`,
      record,
    );
  return key;
}

function readPublicKey(type: 'rsa' | 'ed25519', text: string): KeyObject | undefined {
  const key = Buffer.from(text, 'base64');
  try {
    if (type === 'ed25519') {
      if (key.length !== 32) return undefined;
      return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') }, format: 'jwk' });
    }
    const spki = createPublicKey({ key, format: 'der', type: 'spki' });
    return spki.asymmetricKeyType === 'rsa' ? spki : undefined;
  } catch {
    return undefined;
  }
}

function toRecord(privateKey: KeyObject): string {
  const key = createPublicKey(privateKey);
  if (key.asymmetricKeyType === 'rsa') {
    return `v=DKIM1; k=rsa; p=${key.export({ format: 'der', type: 'spki' }).toString('base64')}`;
  }
  return `v=DKIM1; k=ed25519; p=${Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url').toString('base64')}`;
}
