/** https://developers.mailersend.com/api/v1/email.html#send-an-email */
import { bearer, type Failure, field, type ProviderAnswer, pick } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toContact, webhookSecret } from './message.ts';
import { emailService, listFiles, serviceSettings } from './service.ts';

const endpoint = 'https://api.mailersend.com';

const maxTags = 5;

export const mailersend = emailService({
  name: 'mailersend',
  title: 'MailerSend',
  summary: 'Email through the MailerSend API.',
  settings: settings({
    api_token: secretKey('An API token with the permission to send email, mlsn.….'),
    ...serviceSettings(endpoint, webhookSecret('The signing secret of the webhook.')),
  }),
  credential: { name: 'API token', hint: 'create one with the permission to send email' },
  endpoint: () => endpoint,
  authorize: ({ api_token }) => bearer(api_token),
  check: { path: '/v1/api-quota' },
  path: () => '/v1/email',
  // https://www.mailersend.com/help/how-to-use-advanced-personalization: {{ }}, {% %}, {# #} and {$ } are replaced in every message.
  variable: /\{(?=[{%#$])/g,
  json: ({ outgoing, from, replyTo, subject, text, html, files }) => ({
    from: toContact(from),
    to: [{ email: outgoing.address }],
    ...(replyTo && { reply_to: toContact(replyTo) }),
    subject,
    text,
    html,
    ...(outgoing.unsubscribeUrl !== undefined && { list_unsubscribe: `<${outgoing.unsubscribeUrl}>` }),
    tags: [...new Set(Object.values(outgoing.tags))].slice(0, maxTags),
    ...listFiles('attachments', files, ({ name, contentId, content }) => ({
      content,
      filename: name,
      ...(contentId === undefined ? { disposition: 'attachment' } : { disposition: 'inline', id: contentId }),
    })),
  }),
  id: ({ headers }) => headers['x-message-id'],
  errorText: field('message'),
  classify,
});

/** 403: the token lacks the permission. 421: maintenance. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 421) return { retry: true };
  if (status === 403) return { retry: false, denied: true };
  const reasons = status < 300 ? suppressionsOf(json) : undefined;
  return reasons && { retry: false, gone: true, reason: ['the address is suppressed', ...reasons].join(', ') };
}

/** A 202 with this warning means that nothing is sent, because every recipient bounced, complained or unsubscribed before. */
function suppressionsOf(json: unknown): string[] | undefined {
  if (pick(json, 'warnings', 0, 'type') !== 'ALL_SUPPRESSED') return undefined;
  const [reason] = ['reasons', 'reason'].flatMap(name => pick(json, 'warnings', 0, 'recipients', 0, name, 0) ?? []);
  return reason === undefined ? [] : [reason];
}
