/** https://postmarkapp.com/developer/api/email-api */
import { Type } from 'typebox';
import { jsonFiles, withFiles } from '../http-files.ts';
import { type Failure, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://api.postmarkapp.com';

/** https://postmarkapp.com/support/article/1208-how-to-add-an-unsubscribe-link: the only variable in messages without a template. */
const variable = /\{(?=\{\{\s*pm:)/g;

const Settings = settings({
  server_token: email.secretKey('The server’s API token, from its API Tokens page.'),
  message_stream: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'The message stream of the server. Default: outbound.' }),
  ),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(defaultEndpoint),
  webhook_secret: email.webhookCredentials,
  timeout_ms: email.TimeoutMs,
});

export const postmark: Provider<typeof Settings> = {
  name: 'postmark',
  title: 'Postmark',
  medium: 'email',
  summary: 'Email through the Postmark API.',
  settings: Settings,
  credential: { name: 'server token', hint: 'copy it from the API Tokens page of the server' },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'postmark', secret: webhook_secret }),
  check: ({ server_token, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: email.join(endpoint, '/server'),
      headers: { accept: 'application/json', 'x-postmark-server-token': server_token },
      timeoutMs,
      secrets: [server_token],
      errorText: ({ json }) => pick(json, 'Message'),
    }),
  open({ server_token, message_stream, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      const { subject, text, html } = email.withoutVariables(outgoing, variable);
      const { organization, event, notification } = outgoing.tags;
      return sendHttp(outbound, {
        url: email.join(endpoint, '/email'),
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          'x-postmark-server-token': server_token,
        },
        body: withFiles(
          JSON.stringify({
            From: from,
            To: outgoing.address,
            ...(reply_to && { ReplyTo: reply_to }),
            Subject: subject,
            ...(text && { TextBody: text }),
            ...(html && { HtmlBody: html }),
            Tag: event,
            // Postmark limits values to 80 characters.
            Metadata: {
              belfry_id: outgoing.id,
              organization: organization.slice(0, 80),
              notification: notification.slice(0, 80),
            },
            Headers: [
              { Name: 'Message-ID', Value: `<${email.messageId(outgoing, sender)}>` },
              // Otherwise Postmark replaces the Message-ID.
              { Name: 'X-PM-KeepID', Value: 'true' },
              ...Object.entries(email.headersOf(outgoing, sender)).map(([Name, Value]) => ({ Name, Value })),
            ],
            ...(message_stream && { MessageStream: message_stream }),
            ...(files.length > 0 && {
              Attachments: files.map(({ name, contentType, contentId, content }) => ({
                Name: name,
                Content: content,
                ContentType: contentType,
                ...(contentId !== undefined && { ContentID: `cid:${contentId}` }),
              })),
            }),
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [server_token],
        id: ({ json }) => pick(json, 'MessageID'),
        errorText: ({ json }) => pick(json, 'Message'),
        classify,
      });
    });
  },
};

/** https://postmarkapp.com/developer/api/overview#error-codes */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  const code = pick(json, 'ErrorCode') ?? '0';
  // The address bounced, complained or was suppressed before.
  const isInactive =
    code === '406' || /will not deliver to these inactive addresses/i.test(pick(json, 'Message') ?? '');
  if (isInactive) return { retry: false, gone: true };
  // A server token that is missing or wrong.
  if (code === '10') return { retry: false, denied: true };
  return status < 300 && code !== '0' ? { retry: false } : undefined;
}
