/**
 * Sends an email with each kind of DKIM key through Debian's Postfix and Exim, and verifies what arrives behind them with dkimpy: it is
 * signed and valid, or the key was refused before anything was sent. Prints a table.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { FileContent } from '../../src/lib/file-content.ts';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { smtp } from '../../src/providers/email/smtp/smtp.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry } from '../../src/providers/provider.ts';
import { certificate } from '../../test/support/certificate.ts';
import { openSmtpScript, type SmtpScript } from '../../test/support/smtp-script.ts';
import {
  bounceDomain,
  fetchPackages,
  type MailServer,
  startExim,
  startPostfix,
  waitUntilListening,
} from './mail-servers.ts';
import { eventually, hasProgram, run, Skipped, temporaryFolder } from './support.ts';

interface KeyKind {
  name: string;
  settings: Record<string, string>;
  /** DNS records by selector. Absent: the key must be refused. */
  records?: Record<string, string>;
}

/** Prints, for each signature of the mail on its standard input, its algorithm and whether it is valid. */
const verifier = `
import json, sys, dkim
records = json.load(open(sys.argv[1]))
find = lambda name, **_: records.get((name.decode() if isinstance(name, bytes) else name).rstrip('.'), '').encode() or None
mail = sys.stdin.buffer.read()
count = sum(1 for line in mail.split(b'\\r\\n\\r\\n')[0].split(b'\\r\\n') if line.lower().startswith(b'dkim-signature:'))
for index in range(count):
    verifying = dkim.DKIM(mail)
    valid = verifying.verify(index, dnsfunc=find)
    fields = verifying.signature_fields
    signed = b''.join(fields[b'h'].lower().split()).split(b':')
    whole = signed.count(b'from') == 2 and b'list-unsubscribe' in signed and b'list-unsubscribe-post' in signed
    print(fields[b'a'].decode(), 'valid' if valid and whole else 'INVALID')
`;

export async function checkDkim(): Promise<string> {
  if (process.getuid?.() !== 0) throw new Skipped('Postfix and Exim must be started by root');
  if (!hasProgram('apt-get') || !hasProgram('dpkg-deb')) throw new Skipped('there is no apt-get to fetch the packages');
  const folder = temporaryFolder('dkim');
  await chmod(folder, 0o755);
  const names = [
    'postfix',
    'exim4-daemon-light',
    'libnss-wrapper',
    'python3-dkim',
    'python3-nacl',
    'python3-dnspython',
  ];
  const unpacked = await fetchPackages(folder, names);
  const python = '/usr/bin/python3';
  if (!existsSync(python)) throw new Skipped('dkimpy needs the Python of Debian: apt-get install python3');
  const verify = async (mail: string, records: Record<string, string>): Promise<string> => {
    const file = path.join(folder, 'records.json');
    await writeFile(file, JSON.stringify(records));
    const env = {
      PYTHONPATH: path.join(unpacked.folder, 'usr/lib/python3/dist-packages'),
      LD_LIBRARY_PATH: unpacked.libraries,
    };
    return (await run(python, ['-c', verifier, file], { env, input: mail })).trim().split('\n').join(', ');
  };
  const sink = await openSmtpScript({ offers: ['8BITMIME', 'SMTPUTF8'] });
  const servers = [await startPostfix(folder, unpacked, sink.port), await startExim(folder, unpacked, sink.port)];
  try {
    await Promise.all(servers.map(waitUntilListening));
    const rows = [['key', ...servers.map(({ name }) => name)]];
    for (const kind of listKinds()) {
      const row = [kind.name];
      for (const server of servers) row.push(await checkKind(kind, server, sink, verify));
      rows.push(row);
    }
    const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)));
    for (const row of rows)
      console.log(`        ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')}`.trimEnd());
    const wrong = rows.flat().filter(cell => /INVALID|UNSIGNED/.test(cell));
    if (wrong.length > 0) throw new Error(`${wrong.length} emails arrived without a valid signature`);
    return `dkimpy verifies what ${servers.map(({ name }) => name).join(' and ')} pass on, and other keys are refused`;
  } finally {
    await Promise.all(servers.map(server => server.stop()));
    await sink.close();
  }
}

let sent = 0;

async function checkKind(
  { settings, records }: KeyKind,
  { port, name, log }: MailServer,
  sink: SmtpScript,
  verify: (mail: string, records: Record<string, string>) => Promise<string>,
): Promise<string> {
  const own = { host: '127.0.0.1', port, starttls: 'never', from: 'Acme <no-reply@acme.test>', ...settings };
  const mistakes = checkEntry(providers, { use: 'smtp', ...own }, 'email');
  if (mistakes.length > 0) return `refused: ${mistakes[0]!.field} ${mistakes[0]!.message.split(/[:,]/)[0]}`;
  if (!records) return 'INVALID: was not refused';
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
  const sender = smtp.open(own as never, { outbound, hostName: 'belfry.acme.test' });
  const to = `reader-${++sent}@${bounceDomain}`;
  const text = 'Grüße  aus Köln \n\n.\nFrom here on: more\t text. \n\n\n'.repeat(200);
  const file = new FileContent(Buffer.alloc(200_000, 'a line of a file \r\n'));
  const outcome = await sender.send({
    id: `check.${sent}`,
    address: to,
    content: { title: 'Übersicht über die Bestellung', text, html: `<p>${text}</p>`, missing: [] },
    createdAt: new Date(),
    unsubscribeUrl: 'https://belfry.acme.test/unsubscribe/x',
    category: 'news',
    attachments: [{ name: 'a.txt', contentType: 'text/plain', file }],
    tags: { organization: 'acme', event: 'check', notification: 'check' },
  });
  await sender.close();
  await outbound.close();
  if (!outcome.ok) return `not sent: ${outcome.reason}`;
  const deadline = Date.now() + 30_000;
  const mail = await eventually(`a mail by ${name}`, async () => {
    if (Date.now() > deadline) throw new Error(`${name} did not pass on a mail:\n${await log()}`);
    return sink.mails.find(one => one.to === to);
  });
  return (await verify(mail.body, records)) || 'UNSIGNED';
}

function listKinds(): KeyKind[] {
  const domain = { dkim_domain: 'acme.test', dkim_selector: 's1' };
  const keyOf = (bits: number) => generateKeyPairSync('rsa', { modulusLength: bits }).privateKey;
  const rsa = keyOf(2048);
  const ed25519 = generateKeyPairSync('ed25519').privateKey;
  const one = (name: string, key: KeyObject): KeyKind => ({
    name,
    settings: { ...domain, dkim_private_key: pemOf(key) },
    records: { 's1._domainkey.acme.test': recordOf(key) },
  });
  const refused = (name: string, pem: string): KeyKind => ({ name, settings: { ...domain, dkim_private_key: pem } });
  const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hush' } as const;
  return [
    one('RSA 1024', keyOf(1024)),
    one('RSA 2048', rsa),
    one('RSA 4096', keyOf(4096)),
    {
      name: 'RSA 2048 and Ed25519',
      settings: {
        ...domain,
        dkim_private_key: pemOf(rsa),
        dkim_ed25519_selector: 's2',
        dkim_ed25519_private_key: pemOf(ed25519),
      },
      records: { 's1._domainkey.acme.test': recordOf(rsa), 's2._domainkey.acme.test': recordOf(ed25519) },
    },
    refused('Ed25519 alone', pemOf(ed25519)),
    refused('RSA 512', pemOf(keyOf(512))),
    refused('RSA 5120', pemOf(keyOf(5120))),
    refused('P-256', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)),
    refused('encrypted', rsa.export(encrypted) as string),
    refused('malformed', pemOf(rsa).replace(/\n.{40}/, '\n')),
    refused('certificate', certificate),
  ];
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}

function recordOf(key: KeyObject): string {
  const publicKey = createPublicKey(key);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  if (key.asymmetricKeyType === 'rsa') return `v=DKIM1; k=rsa; p=${spki.toString('base64')}`;
  return `v=DKIM1; k=ed25519; p=${spki.subarray(-32).toString('base64')}`;
}
