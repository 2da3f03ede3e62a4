/** https://developers.brevo.com/reference/send-transac-email */
import { field, pick, readRetryAfter } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toContact } from './message.ts';
import { emailService, listFiles, serviceSettings } from './service.ts';

const endpoint = 'https://api.brevo.com';

export const brevo = emailService({
  name: 'brevo',
  title: 'Brevo',
  summary: 'Email through the Brevo API, formerly Sendinblue.',
  settings: settings({
    api_key: secretKey('An API key of version 3, xkeysib-….'),
    ...serviceSettings(endpoint),
  }),
  credential: { name: 'API key', hint: 'create one of version 3 under SMTP & API' },
  endpoint: () => endpoint,
  authorize: ({ api_key }) => ({ headers: { 'api-key': api_key, accept: 'application/json' }, secrets: [api_key] }),
  check: { path: '/v3/account' },
  path: () => '/v3/smtp/email',
  // https://help.brevo.com/hc/en-us/articles/4402386448530: {{ }}, {% %} and {# #} are replaced in every message.
  variable: /\{(?=[{%#])/g,
  json: ({ outgoing, from, replyTo, subject, text, html, headers, files }) => ({
    sender: toContact(from),
    to: [{ email: outgoing.address }],
    ...(replyTo && { replyTo: toContact(replyTo) }),
    subject,
    textContent: text,
    htmlContent: html,
    // Comes back in the webhooks.
    headers: { ...headers, 'X-Mailin-custom': outgoing.id },
    tags: [...new Set(Object.values(outgoing.tags))],
    // Brevo has no content ids: an image for the body arrives as an ordinary file.
    ...listFiles('attachment', files, ({ name, content }) => ({ name, content })),
  }),
  id: ({ json }) => pick(json, 'messageId')?.replace(/^<(.*)>$/, '$1'),
  errorText: field('message'),
  classify: ({ status, headers }) => {
    // Brevo has a header for the wait, in seconds.
    const wait = status === 429 ? readRetryAfter(headers['x-sib-ratelimit-reset']) : undefined;
    return wait === undefined ? undefined : { retry: true, retryAfterSeconds: wait };
  },
});
