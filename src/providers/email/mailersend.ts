/** https://developers.mailersend.com/api/v1/email.html#send-an-email */

import { jsonFiles, withFiles } from '../http-files.ts';
import { type Failure, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://api.mailersend.com';

const Settings = settings({
  api_token: email.secretKey('An API token with the permission to send email, mlsn.….'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(defaultEndpoint),
  webhook_secret: email.webhookSecret('The signing secret of the webhook.'),
  timeout_ms: email.TimeoutMs,
});

const maxTags = 5;

/** https://www.mailersend.com/help/how-to-use-advanced-personalization: {{ }}, {% %}, {# #} and {$ } are replaced in every message. */
const variable = /\{(?=[{%#$])/g;

export const mailersend: Provider<typeof Settings> = {
  name: 'mailersend',
  title: 'MailerSend',
  medium: 'email',
  summary: 'Email through the MailerSend API.',
  settings: Settings,
  credential: { name: 'API token', hint: 'create one with the permission to send email' },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'mailersend', secret: webhook_secret }),
  check: ({ api_token, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: email.join(endpoint, '/v1/api-quota'),
      headers: { authorization: `Bearer ${api_token}` },
      timeoutMs,
      secrets: [api_token],
      errorText: ({ json }) => pick(json, 'message'),
    }),
  open({ api_token, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toContact(from);
    const replyTo = reply_to && email.toContact(reply_to);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      return sendHttp(outbound, {
        url: email.join(endpoint, '/v1/email'),
        headers: { authorization: `Bearer ${api_token}`, 'content-type': 'application/json' },
        body: withFiles(
          JSON.stringify({
            from: sender,
            to: [{ email: outgoing.address }],
            ...(replyTo && { reply_to: replyTo }),
            ...email.withoutVariables(outgoing, variable),
            ...(outgoing.unsubscribeUrl !== undefined && { list_unsubscribe: `<${outgoing.unsubscribeUrl}>` }),
            tags: [...new Set(Object.values(outgoing.tags))].slice(0, maxTags),
            ...(files.length > 0 && {
              attachments: files.map(({ name, contentId, content }) => ({
                content,
                filename: name,
                ...(contentId === undefined ? { disposition: 'attachment' } : { disposition: 'inline', id: contentId }),
              })),
            }),
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [api_token],
        id: ({ headers }) => headers['x-message-id'],
        errorText: ({ json }) => pick(json, 'message'),
        classify,
      });
    });
  },
};

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
