/** https://developers.brevo.com/reference/send-transac-email */

import { jsonFiles, withFiles } from '../http-files.ts';
import { pick, readRetryAfter, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://api.brevo.com';

/** https://help.brevo.com/hc/en-us/articles/4402386448530: {{ }}, {% %} and {# #} are replaced in every message. */
const variable = /\{(?=[{%#])/g;

const Settings = settings({
  api_key: email.secretKey('An API key of version 3, xkeysib-….'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(defaultEndpoint),
  webhook_secret: email.webhookCredentials,
  timeout_ms: email.TimeoutMs,
});

export const brevo: Provider<typeof Settings> = {
  name: 'brevo',
  title: 'Brevo',
  medium: 'email',
  summary: 'Email through the Brevo API, formerly Sendinblue.',
  settings: Settings,
  credential: { name: 'API key', hint: 'create one of version 3 under SMTP & API' },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'brevo', secret: webhook_secret }),
  check: ({ api_key, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: email.join(endpoint, '/v3/account'),
      headers: { 'api-key': api_key, accept: 'application/json' },
      timeoutMs,
      secrets: [api_key],
      errorText: ({ json }) => pick(json, 'message'),
    }),
  open({ api_key, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toContact(from);
    const mailbox = email.toMailbox(from);
    const replyTo = reply_to && email.toContact(reply_to);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      const { subject, text, html } = email.withoutVariables(outgoing, variable);
      return sendHttp(outbound, {
        url: email.join(endpoint, '/v3/smtp/email'),
        headers: { 'api-key': api_key, accept: 'application/json', 'content-type': 'application/json' },
        body: withFiles(
          JSON.stringify({
            sender,
            to: [{ email: outgoing.address }],
            ...(replyTo && { replyTo }),
            subject,
            ...(text && { textContent: text }),
            ...(html && { htmlContent: html }),
            // Comes back in the webhooks.
            headers: { ...email.headersOf(outgoing, mailbox), 'X-Mailin-custom': outgoing.id },
            tags: [...new Set(Object.values(outgoing.tags))],
            // Brevo has no content ids: an image for the body arrives as an ordinary file.
            ...(files.length > 0 && { attachment: files.map(({ name, content }) => ({ name, content })) }),
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [api_key],
        id: ({ json }) => pick(json, 'messageId')?.replace(/^<(.*)>$/, '$1'),
        errorText: ({ json }) => pick(json, 'message'),
        classify: ({ status, headers }) => {
          // Brevo has a header for the wait, in seconds.
          const wait = status === 429 ? readRetryAfter(headers['x-sib-ratelimit-reset']) : undefined;
          return wait === undefined ? undefined : { retry: true, retryAfterSeconds: wait };
        },
      });
    });
  },
};
