import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FileContent } from '../../src/lib/file-content.ts';
import { createDkimSigner } from '../../src/providers/email/smtp/dkim.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry } from '../../src/providers/provider.ts';
import type { Outgoing } from '../../src/providers/sending.ts';
import { certificate } from '../support/certificate.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { verifyDkim } from '../support/dkim.ts';
import type { Mail } from '../support/smtp.ts';
import { open, openStored, type Settings } from '../support/smtp-open.ts';

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;
const rsaKey = (modulusLength: number) => pemOf(generateKeyPairSync('rsa', { modulusLength }).privateKey);
const rsa = rsaKey(2048);
const ed25519 = pemOf(generateKeyPairSync('ed25519').privateKey);
const p256 = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const encrypted = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'hush',
}) as string;
const oldEncrypted =
  '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n';
const publicKey = createPublicKey(rsa).export({ type: 'spki', format: 'pem' }) as string;
const wrong: [string, string, RegExp][] = [
  ['Ed25519', ed25519, /^is an Ed25519 key, which .* enter an RSA key here/],
  ['P-256', p256, /^is a key of the kind EC prime256v1, .* use an RSA key/],
  ['encrypted', encrypted, /^is encrypted: remove the passphrase/],
  ['encrypted in the old form', oldEncrypted, /^is encrypted/],
  ['malformed', rsa.replace(/\n.{40}/, '\n'), /^is not a valid PEM key/],
  ['without line breaks', rsa.replaceAll('\n', ' '), /^is not a valid PEM key/],
  ['a certificate', certificate, /^is a certificate/],
  ['public', publicKey, /^is a public key/],
  ['too short', rsaKey(512), /^has 512 bits/],
];

const bytesOf = ({ raw }: Mail) => Buffer.from(raw).toString('latin1');
const domain = { dkim_domain: 'acme.test', dkim_selector: 's1' };
const entry = { use: 'smtp', host: 'mail.acme.test', from: 'a@acme.test', ...domain };

describe('a key', () => {
  it.each(wrong)('that is %s is refused, with the name of its field', (_, pem, message) => {
    expect(checkEntry(providers, { ...entry, dkim_private_key: pem }, 'email')).toEqual([
      { field: 'dkim_private_key', message: expect.stringMatching(message) },
    ]);
  });

  it.each([1024, 2048, 4096])('of RSA with %s bits is accepted, also in the older form', bits => {
    const pem = rsaKey(bits);
    const older = generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({
      type: 'pkcs1',
      format: 'pem',
    });
    for (const key of [pem, older])
      expect(checkEntry(providers, { ...entry, dkim_private_key: String(key) }, 'email')).toEqual([]);
  });

  it('that can be read but is damaged is refused', () => {
    const [own, other] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey);
    const key = { ...own!.export({ format: 'jwk' }), n: other!.export({ format: 'jwk' }).n! };
    const pem = pemOf(createPrivateKey({ key, format: 'jwk' }));
    expect(checkEntry(providers, { ...entry, dkim_private_key: pem }, 'email')).toEqual([
      { field: 'dkim_private_key', message: expect.stringMatching(/^is damaged/) },
    ]);
  });

  it('of Ed25519 is an addition to the RSA key, under its own selector', () => {
    const both = { ...entry, dkim_private_key: rsa, dkim_ed25519_private_key: ed25519 };
    const check = (changes: object) => checkEntry(providers, { ...both, ...changes }, 'email');
    expect(check({ dkim_ed25519_selector: 's2' })).toEqual([]);
    expect(check({ dkim_ed25519_selector: 'S1' })).toMatchObject([{ field: 'dkim_ed25519_selector' }]);
    expect(check({ dkim_ed25519_selector: 's2', dkim_ed25519_private_key: rsa })).toMatchObject([
      { field: 'dkim_ed25519_private_key', message: expect.stringContaining('dkim_private_key') },
    ]);
  });

  it.each(['acme', 'acme.test; b=x', 'a b.test', 'acme.test\r\nBcc: eve@evil.test'])(
    'is for a domain, not for %j',
    value => {
      expect(checkEntry(providers, { ...entry, dkim_private_key: rsa, dkim_domain: value }, 'email')).toMatchObject([
        { field: 'dkim_domain' },
      ]);
    },
  );
});

describe('an email', () => {
  const text = `a line with\ttabs and  spaces \n.\n\n\n${'Glöckchen '.repeat(300)}\n\n\n`;
  const file = new FileContent(Buffer.from('a line that ends with a space \r\n.\r\n'.repeat(20_000)));
  const messages: [string, Partial<Outgoing>][] = [
    ['plain', {}],
    ['for another script', { content: { title: 'Grüße '.repeat(40), text, missing: [] } }],
    ['large', { content: { title: 'T', text: `${text}and more  \n\n\n`.repeat(200), missing: [] } }],
    ['with an empty text', { content: { title: '', text: '\n\n', missing: [] } }],
    ['with files', { attachments: [{ name: 'a.txt', contentType: 'text/plain', file }] }],
    ['to unsubscribe from', { unsubscribeUrl: 'https://b.test/u', address: 'jürgen@bücher.test' }],
  ];
  const both = { dkim_private_key: rsa, dkim_ed25519_selector: 's2', dkim_ed25519_private_key: ed25519 };
  const keys = { s1: createPublicKey(rsa), s2: createPublicKey(ed25519) };

  it.each(messages)('that is %s is signed with both keys', async (_, changes) => {
    const { peer, sender } = await open({ ...domain, ...both });
    expect(await sender.send(exampleOutgoing(changes))).toMatchObject({ ok: true });
    const signatures = verifyDkim(bytesOf(peer.mails[0]!), keys);
    expect(signatures.map(({ tags, isValid }) => [tags.a, tags.d, tags.s, isValid])).toEqual([
      ['rsa-sha256', 'acme.test', 's1', true],
      ['ed25519-sha256', 'acme.test', 's2', true],
    ]);
  });

  it('has signatures of all headers that matter, and none of a second sender', async () => {
    const { peer, sender } = await open({ ...domain, ...both, reply_to: 'help@acme.test' });
    await sender.send(exampleOutgoing({ unsubscribeUrl: 'https://b.test/u' }));
    const raw = bytesOf(peer.mails[0]!);
    for (const { headers } of verifyDkim(raw, keys)) {
      expect(headers.filter(name => name === 'from')).toHaveLength(2);
      expect(headers).toEqual(
        expect.arrayContaining(
          ['to', 'subject', 'date', 'message-id', 'reply-to', 'mime-version', 'content-type'].concat([
            'list-unsubscribe',
            'list-unsubscribe-post',
          ]),
        ),
      );
    }
    const forged = verifyDkim(`From: eve@evil.test\r\n${raw}`, keys);
    expect(forged.map(({ isValid }) => isValid)).toEqual([false, false]);
    expect(
      Math.max(
        ...raw
          .split('\r\n\r\n')[0]!
          .split('\r\n')
          .map(line => line.length),
      ),
    ).toBeLessThanOrEqual(78);
  });

  it('through Amazon SES has no signature of headers that SES replaces', async () => {
    const settings = { host: 'email-smtp.eu-central-1.amazonaws.com', ...domain, dkim_private_key: rsa };
    const raw = Buffer.from('From: a@acme.test\r\nDate: x\r\nMessage-ID: <x>\r\nSubject: s\r\n\r\nx\r\n');
    const signed = await createDkimSigner(settings)!({ raw });
    const [signature] = verifyDkim(signed.toString('latin1'), keys);
    expect(signature).toMatchObject({ isValid: true, headers: expect.not.arrayContaining(['date']) });
    expect(signature!.headers).not.toContain('message-id');
  });

  const broken: [string, Partial<Settings>][] = [
    ...wrong
      .filter(([name]) => name !== 'Ed25519')
      .map(([name, pem]): [string, Partial<Settings>] => [name, { dkim_private_key: pem }]),
    ['missing', { dkim_private_key: undefined }],
    ['missing, with a second one', { dkim_private_key: undefined, dkim_ed25519_private_key: ed25519 }],
    ['valid, but the second one is not', { ...both, dkim_ed25519_private_key: p256 }],
  ];
  it.each(broken)('is not sent if the stored key is %s', async (_, changes) => {
    const { peer, sender } = await openStored({ ...domain, dkim_ed25519_selector: 's2', ...changes });
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('cannot be signed') });
    expect(JSON.stringify(outcome)).not.toContain('BEGIN');
    expect(peer.mails).toEqual([]);
  });

  it('is signed with an Ed25519 key that an earlier version stored alone', async () => {
    const { peer, sender } = await open({ ...domain, dkim_private_key: ed25519 });
    await sender.send(exampleOutgoing());
    const [signature] = verifyDkim(bytesOf(peer.mails[0]!), { s1: createPublicKey(ed25519) });
    expect(signature).toMatchObject({ isValid: true, tags: { a: 'ed25519-sha256' } });
  });
});
