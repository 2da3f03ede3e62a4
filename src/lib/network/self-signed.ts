/**
 * A self-signed certificate, for servers whose clients encrypt without checking who they talk to, as mail servers do. Written as
 * DER (X.690) here, because Node.js can read certificates but not create them.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const yearMs = 365 * 86_400_000;

const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
const commonName = '550403';
const subjectAltName = '551d11';

/** Returns a certificate for a host name, valid for ten years, and its key (P-256), both as PEM. */
export function createSelfSigned(name: string, now: number): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = sequence(tag(0x31, sequence(objectId(commonName), tag(0x0c, Buffer.from(name)))));
  const names = sequence(tag(0x82, Buffer.from(name)));
  const serial = randomBytes(16);
  // Positive, and without leading zeros.
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const body = sequence(
    tag(0xa0, tag(0x02, Buffer.from([2]))),
    tag(0x02, serial),
    ecdsaWithSha256,
    subject,
    // Clocks differ.
    sequence(time(now - 86_400_000), time(now + 10 * yearMs)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(0xa3, sequence(sequence(objectId(subjectAltName), tag(0x04, names)))),
  );
  const signature = tag(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]));
  const base64 = sequence(body, ecdsaWithSha256, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g)!.join('\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function tag(number: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([number, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tag(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return tag(0x06, Buffer.from(hex, 'hex'));
}

/** Returns a UTCTime, which RFC 5280 requires until 2049. */
function time(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/\D/g, '').slice(2, 14);
  return tag(0x17, Buffer.from(`${text}Z`));
}
