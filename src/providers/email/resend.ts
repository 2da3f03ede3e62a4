/** https://resend.com/docs/api-reference/emails/send-email */
import { bearer, type Failure, field, type ProviderAnswer, pick } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toLabel, webhookSecret } from './message.ts';
import { emailService, listFiles, serviceSettings } from './service.ts';

const endpoint = 'https://api.resend.com';

export const resend = emailService({
  name: 'resend',
  title: 'Resend',
  summary: 'Email through the Resend API.',
  settings: settings({
    api_key: secretKey('An API key with sending access, re_….'),
    ...serviceSettings(endpoint, webhookSecret('The signing secret of the webhook, whsec_….')),
  }),
  credential: { name: 'API key', hint: 'create one with sending access under API Keys' },
  // For 24 hours, the same Idempotency-Key gets the response of the first request.
  dedupes: true,
  endpoint: () => endpoint,
  authorize: ({ api_key }) => bearer(api_key),
  check: {
    path: '/domains',
    // A key that may only send is what we need.
    classify: answer => (pick(answer.json, 'name') === 'restricted_api_key' ? { ok: true } : classify(answer)),
  },
  path: () => '/emails',
  headers: ({ id }) => ({ 'idempotency-key': id }),
  json: ({ outgoing, subject, text, html, headers, files }, { from, reply_to }) => ({
    from,
    to: [outgoing.address],
    reply_to,
    subject,
    text,
    html,
    headers,
    tags: Object.entries({ ...outgoing.tags, belfry_id: outgoing.id }).map(([name, value]) => ({
      name,
      value: toLabel(value),
    })),
    ...listFiles('attachments', files, ({ name, contentType, contentId, content }) => ({
      filename: name,
      content,
      content_type: contentType,
      ...(contentId !== undefined && { content_id: contentId }),
    })),
  }),
  id: field('id'),
  errorText: field('message'),
  classify,
});

/** https://resend.com/docs/api-reference/errors */
function classify({ json }: ProviderAnswer): Partial<Failure> | undefined {
  switch (pick(json, 'name')) {
    // Another request with the same key is in flight.
    case 'concurrent_idempotent_requests':
      return { retry: true };
    // A 403, like the error for a domain that is not verified.
    case 'invalid_api_key':
    case 'missing_api_key':
      return { retry: false, denied: true };
    default:
      return undefined;
  }
}
