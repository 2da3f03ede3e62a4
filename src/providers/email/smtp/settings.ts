import { Type } from 'typebox';
import { apiUrl, webhookSecret } from '../../fields.ts';
import { settings } from '../../provider.ts';
import { From, ReplyTo } from '../message.ts';

/** Headers that Belfry sets; a second one would make the email invalid or forge its sender. Case-insensitive. */
const reservedHeaders = [
  'From',
  'Sender',
  'To',
  'Cc',
  'Bcc',
  'Reply-To',
  'Subject',
  'Date',
  'Message-ID',
  'MIME-Version',
]
  .concat(['Return-Path', 'Received', 'DKIM-Signature', 'Content-Type', 'Content-Transfer-Encoding'])
  .map(name => name.replace(/[A-Za-z]/g, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`))
  .join('|');

/** Headers by which services behind a mail server return Belfry's id in their webhooks. */
export const idHeaders = {
  brevo: id => `X-Mailin-custom: ${id}`,
  mailgun: id => `X-Mailgun-Variables: ${JSON.stringify({ belfry_id: id })}`,
  mailjet: id => `X-MJ-CustomID: ${id}`,
  mailtrap: id => `X-MT-Custom-Variables: ${JSON.stringify({ belfry_id: id })}`,
  mandrill: id => `X-MC-Metadata: ${JSON.stringify({ belfry_id: id })}`,
  postmark: id => `X-PM-Metadata-belfry_id: ${id}`,
  sendgrid: id => `X-SMTPAPI: ${JSON.stringify({ unique_args: { belfry_id: id } })}`,
  // SES allows no dots.
  ses: id => `X-SES-MESSAGE-TAGS: belfry_id=${id.replaceAll('.', '_')}`,
  sparkpost: id => `X-MSYS-API: ${JSON.stringify({ metadata: { belfry_id: id } })}`,
} satisfies Record<string, (id: string) => string>;

function oauth2Secret(description: string, maxLength: number) {
  return Type.Optional(Type.String({ minLength: 1, maxLength, secret: true, description }));
}

function selector(description: string) {
  return Type.Optional(
    Type.String({
      maxLength: 63,
      pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
      patternHint: 'must be a selector such as belfry1',
      description,
    }),
  );
}

function privateKey(description: string) {
  return Type.Optional(
    Type.String({
      pattern: '-----BEGIN',
      patternHint: 'must be a PEM key',
      maxLength: 16_384,
      secret: true,
      description,
    }),
  );
}

export const SmtpSettings = settings(
  {
    host: Type.String({
      destination: true,
      minLength: 1,
      maxLength: 253,
      pattern: '^[^\\s/@]+$',
      patternHint: 'must be a host name or IP address',
      description: 'The host name of the mail server, such as smtp.acme.test.',
      examples: ['smtp.acme.test'],
    }),
    port: Type.Optional(
      Type.Integer({
        destination: true,
        minimum: 1,
        maximum: 65535,
        description: 'The port. Default: 465 if secure, else 587.',
      }),
    ),
    // Without TLS, or with an untrusted certificate, a password could be read in transit.
    secure: Type.Optional(
      Type.Boolean({ destination: true, description: 'Whether to use implicit TLS instead of STARTTLS.' }),
    ),
    starttls: Type.Optional(
      Type.Enum(['require', 'prefer', 'never'], {
        destination: true,
        description:
          'Whether to upgrade the connection to TLS. Default: require with a password or OAuth 2.0, else prefer.',
      }),
    ),
    ca: Type.Optional(
      Type.String({
        destination: true,
        pattern: '-----BEGIN CERTIFICATE-----',
        patternHint: 'must be a PEM certificate',
        maxLength: 65_536,
        description:
          'The certificate authority to trust (PEM), for a server with a private certificate. Default: the public authorities.',
      }),
    ),
    user: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description: 'The user name to sign in with.',
        examples: ['belfry'],
      }),
    ),
    password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, secret: true, description: 'The password to sign in with.' }),
    ),
    oauth2_service: Type.Optional(
      Type.Enum(['microsoft', 'google', 'other'], {
        destination: true,
        description:
          'Sign in by OAuth 2.0 instead of with a password, as Microsoft 365 and Google require. Default: no.',
      }),
    ),
    oauth2_tenant: Type.Optional(
      Type.String({
        maxLength: 253,
        pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$',
        patternHint: 'must be the ID of a directory, or a domain',
        description: 'Microsoft: the ID of the directory (tenant), or its domain.',
      }),
    ),
    oauth2_client_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: 'The ID of the registered application (client).' }),
    ),
    oauth2_client_secret: oauth2Secret('The secret of the application.', 1_024),
    oauth2_refresh_token: oauth2Secret(
      'A refresh token of the user. Microsoft and other servers: without one, Belfry signs in as the application itself.',
      8_192,
    ),
    oauth2_service_account: oauth2Secret(
      'Google: the JSON file with the private key of a service account with domain-wide delegation, as text.',
      8_192,
    ),
    oauth2_token_url: Type.Optional(
      Type.String({
        ...apiUrl,
        description: 'The token endpoint. Default: that of Microsoft or Google.',
      }),
    ),
    oauth2_scope: Type.Optional(
      Type.String({
        maxLength: 1_024,
        pattern: '^[!-~]+( [!-~]+)*$',
        patternHint: 'must be scopes separated by spaces',
        description: 'The scopes to request. Default: those for sending email.',
      }),
    ),
    ehlo_name: Type.Optional(
      Type.String({
        maxLength: 253,
        pattern: '^[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+$',
        patternHint: 'must be a host name such as belfry.acme.test',
        description:
          'The name by which Belfry introduces itself to the mail server (EHLO); it should resolve. Default: the host of ' +
          'BASE_URL, else the domain of the sender.',
      }),
    ),
    from: From,
    reply_to: ReplyTo,
    feedback_id: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{5,15}$',
        patternHint: 'must be 5 to 15 letters, digits, dashes and underscores',
        description:
          'Your id for the feedback loop of Gmail, such as acme-shop. Emails then have a Feedback-ID header with the event, the ' +
          'organization and the notification, by which Postmaster Tools groups complaints. Default: no such header.',
      }),
    ),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: `^(?!(?:${reservedHeaders})$)[A-Za-z0-9-]{1,76}$` }),
        Type.String({ maxLength: 900, pattern: '^[^\\r\\n]*$', patternHint: 'must be one line' }),
        {
          additionalProperties: false,
          maxProperties: 20,
          description: 'Additional headers of every email, such as List-Unsubscribe or X-Entity-Ref-ID.',
        },
      ),
    ),
    dkim_domain: Type.Optional(
      Type.String({ minLength: 1, maxLength: 253, description: 'The domain to sign emails for (DKIM).' }),
    ),
    dkim_selector: selector('The DKIM selector. The public key is published at SELECTOR._domainkey.DOMAIN.'),
    dkim_private_key: privateKey(
      'The private DKIM key (PEM): RSA with 1024 to 4096 bits, without a passphrase. Emails that cannot be signed are not sent.',
    ),
    dkim_ed25519_selector: selector('The selector of a second DKIM key, in addition to the RSA key.'),
    dkim_ed25519_private_key: privateKey(
      'The second private DKIM key (PEM): Ed25519. Emails then have two signatures, because not all receivers can verify this one.',
    ),
    max_connections: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'Maximum connections at the same time, per worker. Default: 5.',
      }),
    ),
    rate: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: 'Maximum emails per second, per worker. Default: no limit.',
      }),
    ),
    bounce_domain: Type.Optional(
      Type.String({
        maxLength: 190,
        pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$',
        patternHint: 'must be a domain',
        description:
          'The domain of the return path, such as bounces.acme.test. Its MX record must lead to the listener of Belfry ' +
          '(BELFRY_SMTP_IN). Default: bounces go to the sender.',
      }),
    ),
    imap_host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        destination: true,
        description: 'The IMAP server of the mailbox that bounces go to. Belfry reads it every minute.',
      }),
    ),
    imap_port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        destination: true,
        description:
          'Its port. On 143, STARTTLS is required; on all others, TLS starts with the connection. Default: 993.',
      }),
    ),
    imap_user: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: 'The user name to sign in to the mailbox with.' }),
    ),
    imap_password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, secret: true, description: 'The password of the mailbox.' }),
    ),
    imap_folder: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: 'The folder to read. Default: INBOX.' }),
    ),
    webhook_service: Type.Optional(
      Type.Enum(Object.keys(idHeaders) as (keyof typeof idHeaders)[], {
        description: 'The service behind the mail server whose webhooks report bounces and complaints.',
      }),
    ),
    webhook_secret: webhookSecret('The key, credentials or topic by which requests of this service are recognized.'),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 600_000,
        description:
          'How long to wait for the connection and for each complete reply, in milliseconds. A whole email may take twice ' +
          'as long, and one second more for each 100 kB. Default: 30000.',
      }),
    ),
  },
  {
    dependentRequired: {
      password: ['user'],
      imap_host: ['imap_user', 'imap_password'],
      imap_user: ['imap_host', 'imap_password'],
      imap_password: ['imap_host', 'imap_user'],
      webhook_secret: ['webhook_service'],
      dkim_domain: ['dkim_selector', 'dkim_private_key'],
      dkim_selector: ['dkim_domain', 'dkim_private_key'],
      dkim_private_key: ['dkim_domain', 'dkim_selector'],
      dkim_ed25519_selector: ['dkim_ed25519_private_key', 'dkim_private_key'],
      dkim_ed25519_private_key: ['dkim_ed25519_selector', 'dkim_private_key'],
    },
  },
);
