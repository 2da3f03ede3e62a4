/** https://docs.mailtrap.io/developers/email-sending/transactional */

import { jsonFiles, withFiles } from '../http-files.ts';
import { type Failure, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://send.api.mailtrap.io';

const Settings = settings({
  api_token: email.secretKey('The API token of the sending domain.'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(defaultEndpoint),
  webhook_secret: email.webhookSecret('The signature secret of the webhook.'),
  timeout_ms: email.TimeoutMs,
});

export const mailtrap: Provider<typeof Settings> = {
  name: 'mailtrap',
  title: 'Mailtrap',
  medium: 'email',
  summary: 'Email through the Mailtrap API.',
  settings: Settings,
  credential: { name: 'API token', hint: 'copy that of the sending domain' },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'mailtrap', secret: webhook_secret }),
  open({ api_token, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toContact(from);
    const mailbox = email.toMailbox(from);
    const replyTo = reply_to && email.toContact(reply_to);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      return sendHttp(outbound, {
        url: email.join(endpoint, '/api/send'),
        headers: { authorization: `Bearer ${api_token}`, 'content-type': 'application/json' },
        body: withFiles(
          JSON.stringify({
            from: sender,
            to: [{ email: outgoing.address }],
            ...(replyTo && { reply_to: replyTo }),
            // Mailtrap refuses an empty subject.
            subject: outgoing.content.title || ' ',
            ...email.bodies(outgoing),
            headers: email.headersOf(outgoing, mailbox),
            category: outgoing.tags.event.slice(0, 255),
            custom_variables: { belfry_id: outgoing.id },
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
        secrets: [api_token],
        id: ({ json }) => pick(json, 'message_ids', 0),
        errorText: ({ json }) => pick(json, 'errors', 0),
        classify,
      });
    });
  },
};

/** 403: the token belongs to another domain, or lacks the permission. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 403) return { retry: false, denied: true };
  return status < 300 && (json as { success?: unknown } | undefined)?.success === false ? { retry: false } : undefined;
}
