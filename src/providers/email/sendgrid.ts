/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send */

import { jsonFiles, withFiles } from '../http-files.ts';
import { busy, type Failure, type ProviderAnswer, pick, readResetTime, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://api.sendgrid.com';

const Settings = settings({
  api_key: email.secretKey('An API key with Mail Send access, SG.….'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(`${defaultEndpoint} (in the EU: https://api.eu.sendgrid.com)`),
  webhook_secret: email.webhookSecret('The verification key of the event webhook, with Signed Event Webhook enabled.'),
  timeout_ms: email.TimeoutMs,
});

export const sendgrid: Provider<typeof Settings> = {
  name: 'sendgrid',
  title: 'SendGrid',
  medium: 'email',
  summary: 'Email through the Twilio SendGrid API.',
  settings: Settings,
  credential: { name: 'API key', hint: 'create one with Mail Send access under Settings, API Keys' },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'sendgrid', secret: webhook_secret }),
  check: ({ api_key, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: email.join(endpoint, '/v3/scopes'),
      headers: { authorization: `Bearer ${api_key}` },
      timeoutMs,
      secrets: [api_key],
      errorText: ({ json }) => pick(json, 'errors', 0, 'message'),
    }),
  open({ api_key, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    const replyTo = reply_to && email.toMailbox(reply_to);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      const { text, html } = email.bodies(outgoing);
      const { tags } = outgoing;
      return sendHttp(outbound, {
        url: email.join(endpoint, '/v3/mail/send'),
        headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
        body: withFiles(
          JSON.stringify({
            personalizations: [{ to: [{ email: outgoing.address }], custom_args: { belfry_id: outgoing.id } }],
            from: toPerson(sender),
            ...(replyTo && { reply_to: toPerson(replyTo) }),
            subject: outgoing.content.title,
            // Plain text must come first.
            content: [
              ...(text ? [{ type: 'text/plain', value: text }] : []),
              ...(html ? [{ type: 'text/html', value: html }] : []),
            ],
            // Duplicates are refused.
            categories: [...new Set([tags.organization, tags.event, tags.notification])].map(tag => tag.slice(0, 255)),
            headers: {
              'Message-ID': `<${email.messageId(outgoing, sender)}>`,
              ...email.headersOf(outgoing, sender),
            },
            ...(files.length > 0 && {
              attachments: files.map(({ name, contentType, contentId, content }) => ({
                content,
                type: contentType,
                filename: name,
                ...(contentId === undefined
                  ? { disposition: 'attachment' }
                  : { disposition: 'inline', content_id: contentId }),
              })),
            }),
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [api_key],
        id: ({ headers }) => headers['x-message-id'],
        errorText: ({ json }) => pick(json, 'errors', 0, 'message'),
        classify,
      });
    });
  },
};

/** https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits: the reset is a time in seconds. */
function classify({ status, headers, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 429 && headers['retry-after'] === undefined) return busy(readResetTime(headers['x-ratelimit-reset']));
  // The key lacks the permission. Another 403 is about the sender.
  const isForbidden = status === 403 && /access forbidden/i.test(pick(json, 'errors', 0, 'message') ?? '');
  return isForbidden ? { retry: false, denied: true } : undefined;
}

function toPerson({ name, address }: email.Mailbox): { email: string; name?: string } {
  return name ? { email: address, name } : { email: address };
}
