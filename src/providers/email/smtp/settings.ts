import { Type } from 'typebox';
import { settings } from '../../provider.ts';
import { From, ReplyTo } from '../message.ts';

/** Ours to write; a second one would make the mail invalid, or somebody else's. In any mix of upper and lower case. */
const ourHeaders = ['From', 'Sender', 'To', 'Cc', 'Bcc', 'Reply-To', 'Subject', 'Date', 'Message-ID', 'MIME-Version']
  .concat(['Return-Path', 'Received', 'DKIM-Signature', 'Content-Type', 'Content-Transfer-Encoding'])
  .map(name => name.replace(/[A-Za-z]/g, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`))
  .join('|');

export const SmtpSettings = settings(
  {
    host: Type.String({
      destination: true,
      minLength: 1,
      maxLength: 253,
      pattern: '^[^\\s/@]+$',
      patternHint: 'must be a name or address',
      description: 'The mail server: smtp.acme.test',
      examples: ['smtp.acme.test'],
    }),
    port: Type.Optional(
      Type.Integer({ destination: true, minimum: 1, maximum: 65535, description: '465 when secure, else 587.' }),
    ),
    // Without TLS, and with a certificate of somebody's own, a password can be read on its way.
    secure: Type.Optional(
      Type.Boolean({ destination: true, description: 'TLS from the first byte, without STARTTLS.' }),
    ),
    starttls: Type.Optional(
      Type.Enum(['require', 'prefer', 'never'], {
        destination: true,
        description: 'Whether to change to TLS after connecting. Absent: prefer, and require with a password.',
      }),
    ),
    ca: Type.Optional(
      Type.String({
        destination: true,
        pattern: '-----BEGIN CERTIFICATE-----',
        patternHint: 'must be a PEM certificate',
        maxLength: 65_536,
        description:
          'Whose certificates to trust (PEM), for a server with one of its own. Absent: the public authorities.',
      }),
    ),
    user: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: 'Whom to sign in as.', examples: ['belfry'] }),
    ),
    password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, secret: true, description: 'What to sign in with.' }),
    ),
    from: From,
    reply_to: ReplyTo,
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: `^(?!(?:${ourHeaders})$)[A-Za-z0-9-]{1,76}$` }),
        Type.String({ maxLength: 900, pattern: '^[^\\r\\n]*$', patternHint: 'must be one line' }),
        {
          additionalProperties: false,
          maxProperties: 20,
          description: 'Further headers of every mail, such as List-Unsubscribe or X-Entity-Ref-ID.',
        },
      ),
    ),
    dkim_domain: Type.Optional(
      Type.String({ minLength: 1, maxLength: 253, description: 'Signs mails for this domain (DKIM).' }),
    ),
    dkim_selector: Type.Optional(
      Type.String({ minLength: 1, maxLength: 63, description: 'The key is published at SELECTOR._domainkey.DOMAIN.' }),
    ),
    dkim_private_key: Type.Optional(
      Type.String({
        pattern: '-----BEGIN',
        patternHint: 'must be a PEM key',
        maxLength: 16_384,
        secret: true,
        description: 'The private half of that key, as PEM.',
      }),
    ),
    max_connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'At the same time, from each worker. Absent: 5.' }),
    ),
    rate: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: 'Mails a second, from each worker. Absent: no limit.' }),
    ),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 600_000,
        description:
          'How long to wait for the connection and for each reply, in milliseconds; five times as long for a whole mail. ' +
          'Absent: 30000.',
      }),
    ),
  },
  {
    dependentRequired: {
      user: ['password'],
      password: ['user'],
      dkim_domain: ['dkim_selector', 'dkim_private_key'],
      dkim_selector: ['dkim_domain', 'dkim_private_key'],
      dkim_private_key: ['dkim_domain', 'dkim_selector'],
    },
  },
);
