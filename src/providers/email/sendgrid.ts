/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send */
import { bearer, busy, type Failure, field, type ProviderAnswer, pick, readResetTime } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toContact, webhookSecret } from './message.ts';
import { emailService, listFiles, serviceSettings, toDisposedFile } from './service.ts';

const endpoint = 'https://api.sendgrid.com';

export const sendgrid = emailService({
  name: 'sendgrid',
  title: 'SendGrid',
  summary: 'Email through the Twilio SendGrid API.',
  settings: settings({
    api_key: secretKey('An API key with Mail Send access, SG.….'),
    ...serviceSettings(
      `${endpoint} (in the EU: https://api.eu.sendgrid.com)`,
      webhookSecret('The verification key of the event webhook, with Signed Event Webhook enabled.'),
    ),
  }),
  credential: { name: 'API key', hint: 'create one with Mail Send access under Settings, API Keys' },
  endpoint: () => endpoint,
  authorize: ({ api_key }) => bearer(api_key),
  check: { path: '/v3/scopes' },
  path: () => '/v3/mail/send',
  json: ({ outgoing, from, replyTo, subject, text, html, headers, messageId, files }) => ({
    personalizations: [{ to: [{ email: outgoing.address }], custom_args: { belfry_id: outgoing.id } }],
    from: toContact(from),
    ...(replyTo && { reply_to: toContact(replyTo) }),
    subject,
    // Plain text must come first.
    content: [
      ...(text ? [{ type: 'text/plain', value: text }] : []),
      ...(html ? [{ type: 'text/html', value: html }] : []),
    ],
    // Duplicates are refused.
    categories: [...new Set(Object.values(outgoing.tags))].map(tag => tag.slice(0, 255)),
    headers: { 'Message-ID': messageId, ...headers },
    ...listFiles('attachments', files, toDisposedFile),
  }),
  id: ({ headers }) => headers['x-message-id'],
  errorText: field('errors', 0, 'message'),
  classify,
});

/** https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits: the reset is a time in seconds. */
function classify({ status, headers, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 429 && headers['retry-after'] === undefined) return busy(readResetTime(headers['x-ratelimit-reset']));
  // The key lacks the permission. Another 403 is about the sender.
  const isForbidden = status === 403 && /access forbidden/i.test(pick(json, 'errors', 0, 'message') ?? '');
  return isForbidden ? { retry: false, denied: true } : undefined;
}
