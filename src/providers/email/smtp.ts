import { Type } from 'typebox';
import { type Provider, settings } from '../provider.ts';

const Settings = settings(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 253,
      pattern: '^[^\\s/@]+$',
      patternHint: 'must be a name or address',
    }),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65535, description: '465 when secure, else 587.' })),
    secure: Type.Optional(Type.Boolean({ description: 'TLS from the first byte, without STARTTLS.' })),
    starttls: Type.Optional(
      Type.Enum(['require', 'prefer', 'never'], {
        description: 'Whether to change to TLS after connecting. Absent: prefer, and require with a password.',
      }),
    ),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, secret: true })),
    from: Type.String({ format: 'mailbox', maxLength: 512, description: 'Acme <no-reply@acme.test>' }),
    reply_to: Type.Optional(Type.String({ format: 'mailbox', maxLength: 512 })),
    dkim_domain: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
    dkim_selector: Type.Optional(Type.String({ minLength: 1, maxLength: 63 })),
    dkim_private_key: Type.Optional(
      Type.String({ pattern: '-----BEGIN', patternHint: 'must be a PEM key', maxLength: 16_384, secret: true }),
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

export const smtp: Provider<typeof Settings> = {
  name: 'smtp',
  medium: 'email',
  summary: 'Any mail server, over SMTP.',
  settings: Settings,
};
