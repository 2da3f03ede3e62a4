/** Verifies DKIM signatures as RFC 6376 and 8463 describe it, with none of the code under test. Only relaxed/relaxed. */
import { createHash, type KeyObject, verify } from 'node:crypto';

export interface VerifiedSignature {
  tags: Record<string, string>;
  /** The signed header fields in order, lower case. */
  headers: string[];
  isValid: boolean;
}

/** `raw` has one byte per character. `keys` are the public keys by selector. */
export function verifyDkim(raw: string, keys: Record<string, KeyObject>): VerifiedSignature[] {
  const headEnd = raw.indexOf('\r\n\r\n');
  const fields = raw.slice(0, headEnd).split(/\r\n(?![ \t])/);
  const body = raw
    .slice(headEnd + 4)
    .split('\r\n')
    .map(line => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''));
  while (body.at(-1) === '') body.pop();
  const bodyHash = createHash('sha256')
    .update(body.map(line => `${line}\r\n`).join(''), 'latin1')
    .digest('base64');
  return fields
    .filter(field => /^dkim-signature:/i.test(field))
    .map(field => {
      const value = field.slice(field.indexOf(':') + 1);
      const tags = Object.fromEntries(
        value.split(';').map(tag => {
          const [name = '', ...rest] = tag.split('=');
          return [name.trim(), rest.join('=').replace(/\s/g, '')];
        }),
      );
      const headers = tags.h!.toLowerCase().split(':');
      const left = [...fields];
      const signed = headers.map(name => {
        const at = left.findLastIndex(one => one.slice(0, one.indexOf(':')).toLowerCase() === name);
        return at < 0 ? '' : `${relaxed(left.splice(at, 1)[0]!)}\r\n`;
      });
      const own = relaxed(field)
        .replace(/(;[ ]?b=)[^;]*/, '$1')
        .trimEnd();
      const data = Buffer.from(signed.join('') + own, 'latin1');
      const key = keys[tags.s!]!;
      const signature = Buffer.from(tags.b!, 'base64');
      const isGenuine =
        tags.a === 'rsa-sha256'
          ? verify('sha256', data, key, signature)
          : tags.a === 'ed25519-sha256' && verify(null, createHash('sha256').update(data).digest(), key, signature);
      return { tags, headers, isValid: isGenuine && tags.bh === bodyHash && tags.c === 'relaxed/relaxed' };
    });
}

function relaxed(field: string): string {
  const colon = field.indexOf(':');
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ');
  return `${field.slice(0, colon).toLowerCase()}:${value.replace(/^ | $/g, '')}`;
}
