/** https://docs.mailtrap.io/developers/email-sending/transactional */
import { bearer, type Failure, field, type ProviderAnswer } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toContact, webhookSecret } from './message.ts';
import { emailService, listFiles, serviceSettings, toDisposedFile } from './service.ts';

const endpoint = 'https://send.api.mailtrap.io';

export const mailtrap = emailService({
  name: 'mailtrap',
  title: 'Mailtrap',
  summary: 'Email through the Mailtrap API.',
  settings: settings({
    api_token: secretKey('The API token of the sending domain.'),
    ...serviceSettings(endpoint, webhookSecret('The signature secret of the webhook.')),
  }),
  credential: { name: 'API token', hint: 'copy that of the sending domain' },
  endpoint: () => endpoint,
  authorize: ({ api_token }) => bearer(api_token),
  path: () => '/api/send',
  json: ({ outgoing, from, replyTo, subject, text, html, headers, files }) => ({
    from: toContact(from),
    to: [{ email: outgoing.address }],
    ...(replyTo && { reply_to: toContact(replyTo) }),
    // Mailtrap refuses an empty subject.
    subject: subject || ' ',
    text,
    html,
    headers,
    category: outgoing.tags.event.slice(0, 255),
    custom_variables: { belfry_id: outgoing.id },
    ...listFiles('attachments', files, toDisposedFile),
  }),
  id: field('message_ids', 0),
  errorText: field('errors', 0),
  classify,
});

/** 403: the token belongs to another domain, or lacks the permission. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 403) return { retry: false, denied: true };
  return status < 300 && (json as { success?: unknown } | undefined)?.success === false ? { retry: false } : undefined;
}
