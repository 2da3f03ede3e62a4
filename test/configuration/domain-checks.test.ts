/** The check of a sending domain against a real DNS server: one fault at a time, and none in a correct zone. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkDomains, type DomainSender } from '../../src/services/configuration/checks/domain-checks.ts';
import { openZoneServer, type Zone, type ZoneServer } from '../support/zone.ts';

let dns: ZoneServer;
beforeAll(async () => {
  dns = await openZoneServer();
});
afterAll(() => dns.close());

const makeKey = (modulusLength: number) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const der = publicKey.export({ format: 'der', type: 'spki' });
  return { pem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), p: der.toString('base64') };
};
const key = makeKey(2_048);
const ed25519 = generateKeyPairSync('ed25519');
const dkimName = 's1._domainkey.acme.test TXT';

/** A domain that sends from its own server, with a return path for bounces. */
const correct: Zone = {
  'acme.test TXT': ['v=spf1 mx -all', 'some-verification=1234'],
  'acme.test MX': '10 mail.acme.test',
  'acme.test A': '81.2.69.10',
  'mail.acme.test A': '81.2.69.142',
  'mail.acme.test AAAA': '2a02:8071::25',
  'bounces.acme.test TXT': 'v=spf1 a:mail.acme.test -all',
  'bounces.acme.test MX': '10 belfry.acme.test',
  'belfry.acme.test A': '81.2.69.143',
  [dkimName]: `v=DKIM1; k=rsa; p=${key.p}`,
  '_dmarc.acme.test TXT': 'v=DMARC1; p=reject; rua=mailto:dmarc@acme.test',
  '142.69.2.81.in-addr.arpa PTR': 'mail.acme.test',
  '5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.7.0.8.2.0.a.2.ip6.arpa PTR': 'mail.acme.test',
};
const direct: DomainSender = {
  domain: 'acme.test',
  name: 'smtp',
  canSign: true,
  dkim: { domain: 'acme.test', selector: 's1', privateKey: key.pem },
  returnPathDomain: 'bounces.acme.test',
  hasBounceDomain: true,
  server: 'mail.acme.test',
};

async function check(
  zone: Zone,
  sender: DomainSender | undefined = direct,
  limits = { lookupMs: 5_000, totalMs: 30_000, lookups: 200 },
) {
  dns.serve(zone);
  return run(sender, limits);
}
async function run(sender: DomainSender | undefined, limits = { lookupMs: 5_000, totalMs: 30_000, lookups: 200 }) {
  const options = { servers: [dns.address], limits, listener: 'belfry.acme.test' };
  const [result] = await checkDomains(['acme.test'], sender ? [sender] : [], options);
  return result!.findings;
}
const short = (findings: Awaited<ReturnType<typeof run>>) =>
  findings.map(({ severity, code }) => `${severity} ${code}`);

/** Returns the zone with other records; undefined removes them. */
const without = (changes: Record<string, string | string[] | undefined>): Zone =>
  Object.fromEntries(Object.entries({ ...correct, ...changes }).filter(([, value]) => value !== undefined)) as Zone;
const spf = (record: string | string[], more: Zone = {}) => without({ 'bounces.acme.test TXT': record, ...more });
const dkim = (record: string | string[] | undefined) => without({ [dkimName]: record });
const dmarc = (record: string | string[] | undefined, more: Zone = {}) =>
  without({ '_dmarc.acme.test TXT': record, ...more });

test('reports nothing about a correct zone', async () => {
  expect(await check(correct)).toEqual([]);
  const raw = Buffer.from(ed25519.publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('base64');
  const pem = ed25519.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const signer = { ...direct, dkim: { ...direct.dkim!, privateKey: pem } };
  expect(await check(dkim(`v=DKIM1; k=ed25519; p=${raw}`), signer)).toEqual([]);
});

const include = (count: number): Zone =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`i${i}.acme.test TXT`, 'v=spf1 ip4:81.2.69.0/24 ip6:2a02:8071::/32 ?all']),
  );
const includes = (count: number) => Array.from({ length: count }, (_, i) => `include:i${i}.acme.test`).join(' ');

const faults: [title: string, finding: string, zone: Zone][] = [
  ['no SPF record', 'error spf.missing', without({ 'bounces.acme.test TXT': undefined })],
  ['no SPF record where none is used', 'warning spf.missing', without({ 'acme.test TXT': 'other' })],
  ['two SPF records', 'error spf.multiple', spf(['v=spf1 a:mail.acme.test -all', 'v=spf1 mx ~all'])],
  ['an SPF record with a wrong version', 'error spf.version', spf('v=spf a:mail.acme.test -all')],
  ['an unknown mechanism', 'error spf.syntax', spf('v=spf1 a:mail.acme.test ipv4:81.2.69.1 -all')],
  ['an invalid network', 'error spf.syntax', spf('v=spf1 a:mail.acme.test ip4:81.2.69.0/33 -all')],
  ['an equals sign for a colon', 'error spf.syntax', spf('v=spf1 a:mail.acme.test include=i0.acme.test -all')],
  ['an include without a domain', 'error spf.syntax', spf('v=spf1 a:mail.acme.test include: -all')],
  ['eleven lookups', 'error spf.lookups', spf(`v=spf1 ${includes(11)} -all`, include(11))],
  [
    'eleven nested lookups',
    'error spf.lookups',
    spf('v=spf1 include:i10.acme.test -all', { ...include(10), 'i10.acme.test TXT': `v=spf1 ${includes(10)} -all` }),
  ],
  [
    'three void lookups',
    'error spf.void_lookups',
    spf('v=spf1 a:mail.acme.test a:x.acme.test a:y.acme.test mx:z.acme.test -all'),
  ],
  ['+all', 'error spf.pass_all', spf('v=spf1 a:mail.acme.test +all')],
  ['all without a qualifier', 'error spf.pass_all', spf('v=spf1 a:mail.acme.test all')],
  ['?all', 'warning spf.neutral_all', spf('v=spf1 a:mail.acme.test ?all')],
  ['no all', 'warning spf.no_all', spf('v=spf1 a:mail.acme.test')],
  ['a term after all', 'warning spf.after_all', spf('v=spf1 a:mail.acme.test -all ip4:81.2.69.1')],
  ['ptr', 'warning spf.ptr', spf('v=spf1 a:mail.acme.test ptr -all')],
  ['an include without a record', 'error spf.include', spf('v=spf1 a:mail.acme.test include:x.acme.test -all')],
  [
    'an include with a mistake',
    'error spf.include',
    spf('v=spf1 a:mail.acme.test include:i0.acme.test -all', { 'i0.acme.test TXT': 'v=spf1 ip4:nothing -all' }),
  ],
  ['an include of itself', 'error spf.loop', spf('v=spf1 a:mail.acme.test include:bounces.acme.test -all')],
  ['a server that is not authorized', 'error spf.unauthorized', spf('v=spf1 ip4:81.2.69.0/25 -all')],
  ['no DKIM record', 'error dkim.missing', dkim(undefined)],
  ['two DKIM records', 'error dkim.multiple', dkim([`v=DKIM1; p=${key.p}`, 'v=DKIM1; p=AAAA'])],
  ['a DKIM record without tags', 'error dkim.syntax', dkim(`v=DKIM1; p=${key.p}; k rsa`)],
  ['another DKIM version', 'error dkim.version', dkim(`v=DKIM2; p=${key.p}`)],
  ['a DKIM record without a key', 'error dkim.key_missing', dkim('v=DKIM1; k=rsa')],
  ['a revoked DKIM key', 'error dkim.revoked', dkim('v=DKIM1; p=')],
  ['a DKIM key with quotes', 'error dkim.base64', dkim(`v=DKIM1; p="${key.p}"`)],
  ['a DKIM key that is cut off', 'error dkim.key_invalid', dkim(`v=DKIM1; p=${key.p.slice(0, 200)}`)],
  ['an unknown type of DKIM key', 'error dkim.key_type', dkim(`v=DKIM1; k=dsa; p=${key.p}`)],
  ['the DKIM key of another private key', 'error dkim.mismatch', dkim(`v=DKIM1; p=${makeKey(2_048).p}`)],
  ['a DKIM record for tests', 'warning dkim.testing', dkim(`v=DKIM1; t=y; p=${key.p}`)],
  ['a DKIM record for SHA-1', 'error dkim.hash', dkim(`v=DKIM1; h=sha1; p=${key.p}`)],
  ['a DKIM record for other services', 'error dkim.service', dkim(`v=DKIM1; s=tlsrpt; p=${key.p}`)],
  ['no DMARC record', 'error dmarc.missing', dmarc(undefined)],
  ['two DMARC records', 'error dmarc.multiple', dmarc(['v=DMARC1; p=reject', 'v=DMARC1; p=none'])],
  ['a DMARC record with a wrong version', 'error dmarc.version', dmarc('v=DMARC; p=reject')],
  ['a DMARC tag without a value', 'error dmarc.syntax', dmarc('v=DMARC1; p=reject; rua=mailto:a@acme.test; sp reject')],
  ['an unknown DMARC mode', 'error dmarc.syntax', dmarc('v=DMARC1; p=reject; rua=mailto:a@acme.test; adkim=relaxed')],
  ['an unknown DMARC tag', 'warning dmarc.unknown_tag', dmarc('v=DMARC1; p=reject; rua=mailto:a@acme.test; ruaa=x')],
  ['no DMARC policy', 'error dmarc.policy_missing', dmarc('v=DMARC1; rua=mailto:a@acme.test')],
  ['an unknown DMARC policy', 'error dmarc.policy_invalid', dmarc('v=DMARC1; p=block; rua=mailto:a@acme.test')],
  ['the DMARC policy none', 'warning dmarc.policy_none', dmarc('v=DMARC1; p=none; rua=mailto:a@acme.test')],
  [
    'a weaker policy of subdomains',
    'warning dmarc.subdomain_policy',
    dmarc('v=DMARC1; p=reject; sp=none; rua=mailto:a@acme.test'),
  ],
  ['a DMARC percentage', 'warning dmarc.percentage', dmarc('v=DMARC1; p=reject; pct=20; rua=mailto:a@acme.test')],
  [
    'an invalid DMARC percentage',
    'error dmarc.percentage',
    dmarc('v=DMARC1; p=reject; pct=all; rua=mailto:a@acme.test'),
  ],
  ['no DMARC reports', 'warning dmarc.reports_missing', dmarc('v=DMARC1; p=reject')],
  ['a report address without mailto', 'error dmarc.reports_syntax', dmarc('v=DMARC1; p=reject; rua=dmarc@acme.test')],
  [
    'reports that are not accepted',
    'warning dmarc.reports_external',
    dmarc('v=DMARC1; p=reject; rua=mailto:a@reports.test'),
  ],
  [
    'a From domain without MX and address',
    'error mx.missing',
    without({ 'acme.test MX': undefined, 'acme.test A': undefined, 'acme.test TXT': 'v=spf1 -all' }),
  ],
  ['a null MX record', 'warning mx.null', without({ 'acme.test MX': '0 .', 'acme.test TXT': 'v=spf1 -all' })],
  ['a null MX record beside another', 'error mx.null_mixed', without({ 'acme.test MX': ['0 .', '10 mail.acme.test'] })],
  [
    'a mail server without an address',
    'error mx.unresolved',
    without({ 'acme.test MX': ['10 mail.acme.test', '20 x.acme.test'] }),
  ],
  [
    'a mail server that is an alias',
    'warning mx.cname',
    without({ 'acme.test MX': '10 in.acme.test', 'in.acme.test CNAME': 'mail.acme.test' }),
  ],
  ['an MX record with an address', 'error mx.address', without({ 'acme.test MX': '10 81.2.69.142' })],
  ['a bounce domain without MX', 'error mx.missing', without({ 'bounces.acme.test MX': undefined })],
  ['no reverse DNS', 'error server.reverse_missing', without({ '142.69.2.81.in-addr.arpa PTR': undefined })],
  [
    'reverse DNS that leads elsewhere',
    'error server.reverse_unconfirmed',
    without({ '142.69.2.81.in-addr.arpa PTR': 'belfry.acme.test' }),
  ],
  [
    'reverse DNS with another name',
    'warning server.helo',
    without({ '142.69.2.81.in-addr.arpa PTR': 'out.acme.test', 'out.acme.test A': '81.2.69.142' }),
  ],
];

describe('reports only', () => {
  test.each(faults)('%s', async (_, finding, zone) => {
    expect(short(await check(zone))).toEqual([finding]);
  });
});

describe('reports settings of the channel that do not fit', () => {
  const weak = makeKey(1_024);
  const short768 = makeKey(768);
  const signedBy = (pem: string): DomainSender => ({ ...direct, dkim: { ...direct.dkim!, privateKey: pem } });
  const cases: [title: string, findings: string[], sender: DomainSender, zone?: Zone][] = [
    ['a DKIM key of 1024 bits', ['warning dkim.key_short'], signedBy(weak.pem), dkim(`p=${weak.p}`)],
    [
      'a DKIM key of 768 bits',
      ['error dkim.private_key', 'error dkim.key_too_short'],
      signedBy(short768.pem),
      dkim(`p=${short768.p}`),
    ],
    [
      'a second DKIM key whose record is missing',
      ['error dkim.missing'],
      { ...direct, secondDkim: { domain: 'acme.test', selector: 's2' } },
    ],
    ['a private key that cannot be read', ['error dkim.private_key'], signedBy('-----BEGIN NOTHING-----')],
    ['no DKIM key', ['warning dkim.unsigned'], { ...direct, dkim: undefined }],
    [
      'a service with its own key',
      ['info dkim.service_signs'],
      { domain: 'acme.test', name: 'postmark', canSign: false, hasBounceDomain: false },
    ],
    [
      'a signature for another domain',
      ['warning dmarc.dkim_alignment'],
      { ...direct, dkim: { ...direct.dkim!, domain: 'other.test' } },
      without({ 's1._domainkey.other.test TXT': correct[dkimName] }),
    ],
    [
      'a signature and a return path for another domain',
      ['error dmarc.alignment'],
      { ...direct, dkim: { ...direct.dkim!, domain: 'other.test' }, returnPathDomain: 'other.test' },
      without({
        's1._domainkey.other.test TXT': correct[dkimName],
        'other.test TXT': correct['bounces.acme.test TXT'],
        'other.test MX': '10 belfry.acme.test',
      }),
    ],
    [
      'a strict mode that refuses the subdomain',
      ['warning dmarc.dkim_alignment'],
      {
        ...direct,
        dkim: { ...direct.dkim!, domain: 'mail.acme.test' },
        returnPathDomain: 'acme.test',
        hasBounceDomain: false,
      },
      without({
        '_dmarc.acme.test TXT': 'v=DMARC1; p=reject; adkim=s; rua=mailto:a@acme.test',
        's1._domainkey.mail.acme.test TXT': correct[dkimName],
      }),
    ],
    ['a mail server without an address', ['error server.unresolved'], { ...direct, server: 'x.acme.test' }],
    ['a mail server in a private network', ['info server.private'], { ...direct, server: '10.0.0.25' }],
  ];
  test.each(cases)('%s', async (_, findings, sender, zone = correct) => {
    expect(short(await check(zone, sender))).toEqual(findings);
  });
});

test('suggests no SPF record for a mail server in a private network', async () => {
  const [finding] = await check(faults[0]![2], { ...direct, server: '10.0.0.25' });
  expect(finding).toMatchObject({ code: 'spf.missing' });
  expect(finding).not.toHaveProperty('record');
});

describe('the record to publish', () => {
  const recordOf = async (zone: Zone, sender = direct) => {
    const [finding] = await check(zone, sender);
    const { name, type, value } = finding!.record!;
    return { zone: { ...zone, [`${name} ${type}`]: value }, text: `${name} ${type} ${value}` };
  };

  test.each([
    ['no SPF record', faults[0]![2], 'bounces.acme.test TXT v=spf1 a:mail.acme.test -all'],
    ['+all', spf('v=spf1 a:mail.acme.test +all'), 'bounces.acme.test TXT v=spf1 a:mail.acme.test ~all'],
    ['two SPF records', faults[2]![2], 'bounces.acme.test TXT v=spf1 a:mail.acme.test mx ~all'],
    ['ptr', spf('v=spf1 a:mail.acme.test ptr -all'), 'bounces.acme.test TXT v=spf1 a:mail.acme.test -all'],
    [
      'a server that is not authorized',
      spf('v=spf1 ip4:81.2.69.0/25 -all'),
      'bounces.acme.test TXT v=spf1 a:mail.acme.test ip4:81.2.69.0/25 -all',
    ],
    ['a missing DKIM record', dkim(undefined), `s1._domainkey.acme.test TXT v=DKIM1; k=rsa; p=${key.p}`],
    [
      'the policy none',
      dmarc('v=DMARC1; p=none; rua=mailto:a@acme.test'),
      '_dmarc.acme.test TXT v=DMARC1; p=quarantine; rua=mailto:a@acme.test',
    ],
    [
      'reports elsewhere',
      dmarc('v=DMARC1; p=reject; rua=mailto:a@reports.test'),
      'acme.test._report._dmarc.reports.test TXT v=DMARC1',
    ],
    [
      'a bounce domain without MX',
      without({ 'bounces.acme.test MX': undefined }),
      'bounces.acme.test MX 10 belfry.acme.test',
    ],
    [
      'no reverse DNS',
      without({ '142.69.2.81.in-addr.arpa PTR': undefined }),
      '142.69.2.81.in-addr.arpa PTR mail.acme.test',
    ],
  ])('solves the problem: %s', async (_, zone, expected) => {
    const { zone: fixed, text } = await recordOf(zone);
    expect(text).toBe(expected);
    expect(await check(fixed)).toEqual([]);
  });
});

test('uses the DMARC record and policy of the organizational domain for a subdomain', async () => {
  dns.serve({
    'news.acme.co.uk MX': '10 mail.acme.test',
    'mail.acme.test A': '81.2.69.142',
    'news.acme.co.uk TXT': 'v=spf1 -all',
    '_dmarc.acme.co.uk TXT': 'v=DMARC1; p=reject; sp=none; rua=mailto:a@acme.co.uk',
  });
  const [result] = await checkDomains(['news.acme.co.uk'], [], { servers: [dns.address] });
  expect(short(result!.findings)).toEqual(['info dkim.no_selector', 'warning dmarc.policy_none']);
  expect(result!.findings[1]!.record!.value).toBe('v=DMARC1; p=reject; rua=mailto:a@acme.co.uk');
  expect(dns.questions).toContain('_dmarc.acme.co.uk TXT');
  expect(dns.questions).not.toContain('_dmarc.co.uk TXT');
});

describe('DNS errors', () => {
  const limits = { lookupMs: 300, totalMs: 30_000, lookups: 200 };
  const names = [
    'bounces.acme.test TXT',
    dkimName,
    '_dmarc.acme.test TXT',
    'acme.test MX',
    '142.69.2.81.in-addr.arpa PTR',
  ];

  test.each(names.flatMap(name => (['SERVFAIL', 'REFUSED'] as const).map(fault => [name, fault] as const)))(
    'leave %s unchecked when the server answers %s, and never report it as missing',
    async (name, fault) => {
      dns.serve(correct, { [name]: fault });
      const findings = await run(direct);
      expect(findings.map(({ severity }) => severity)).toEqual(findings.map(() => 'unchecked'));
      expect(findings[0]!.message).toContain(fault);
    },
  );

  test('leave a record unchecked when the server does not answer', async () => {
    dns.serve(correct, { [dkimName]: 'drop' });
    const [finding, ...others] = await run(direct, limits);
    expect(finding).toMatchObject({ severity: 'unchecked', code: 'dkim.unchecked' });
    expect(finding!.message).toMatch(/could not be checked: the DNS server did not answer in time\.$/);
    expect(others).toEqual([]);
  });

  test('leave everything unchecked when the server cannot be reached', async () => {
    const [result] = await checkDomains(['acme.test'], [direct], { servers: ['127.0.0.1:1'], limits });
    expect(new Set(result!.findings.map(({ severity }) => severity))).toEqual(new Set(['unchecked']));
  });
});

describe('limits', () => {
  test('a hostile SPF record causes few lookups', async () => {
    const many = Array.from({ length: 300 }, (_, i) => `include:i${i}.acme.test`).join(' ');
    const nested = Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`i${i}.acme.test TXT`, `v=spf1 ${many} -all`]),
    );
    expect(short(await check(spf(`v=spf1 ${many} -all`, nested)))).toContain('error spf.lookups');
    expect(dns.questions.length).toBeLessThan(60);
  });

  test('the number of lookups is limited', async () => {
    const findings = await check(correct, direct, { lookupMs: 5_000, totalMs: 30_000, lookups: 3 });
    expect(dns.questions).toHaveLength(3);
    expect(findings.at(-1)!.message).toContain('the check needs more than 3 lookups');
    expect(new Set(findings.map(({ severity }) => severity))).toEqual(new Set(['unchecked']));
  });

  test('the time of all lookups is limited', async () => {
    dns.serve(correct, Object.fromEntries(Object.keys(correct).map(name => [name, 'drop' as const])));
    const findings = await run(direct, { lookupMs: 60_000, totalMs: 200, lookups: 200 });
    expect(new Set(findings.map(({ severity }) => severity))).toEqual(new Set(['unchecked']));
  });

  test('an answer with too many records is not used', async () => {
    const findings = await check(without({ 'acme.test TXT': Array.from({ length: 200 }, (_, i) => `text ${i}`) }));
    expect(findings.map(({ message }) => message)).toEqual([
      'The SPF record of acme.test could not be checked: the answer is too large.',
    ]);
  });

  test('text from DNS is shortened and without control characters', async () => {
    const [finding] = await check(dmarc(`v=DMARC\u001b[31m; p=${'x'.repeat(2_000)}`));
    expect(finding!.message.length).toBeLessThan(250);
    expect(finding!.message).toMatch(/^[\x20-\x7e…]+$/);
  });
});
