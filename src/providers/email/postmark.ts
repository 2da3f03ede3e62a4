/** https://postmarkapp.com/developer/api/email-api */
import { optionalString } from '../../core/optional.ts';
import { type Failure, field, type ProviderAnswer, pick } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey } from './message.ts';
import { emailService, listFiles, serviceSettings } from './service.ts';

const endpoint = 'https://api.postmarkapp.com';

export const postmark = emailService({
  name: 'postmark',
  title: 'Postmark',
  summary: 'Email through the Postmark API.',
  settings: settings({
    server_token: secretKey('The server’s API token, from its API Tokens page.'),
    message_stream: optionalString({
      minLength: 1,
      maxLength: 100,
      description: 'The message stream of the server. Default: outbound.',
    }),
    ...serviceSettings(endpoint),
  }),
  credential: { name: 'server token', hint: 'copy it from the API Tokens page of the server' },
  endpoint: () => endpoint,
  authorize: ({ server_token }) => ({
    headers: { accept: 'application/json', 'x-postmark-server-token': server_token },
    secrets: [server_token],
  }),
  check: { path: '/server' },
  path: () => '/email',
  // https://postmarkapp.com/support/article/1208-how-to-add-an-unsubscribe-link: the only variable in messages without a template.
  variable: /\{(?=\{\{\s*pm:)/g,
  json: ({ outgoing, subject, text, html, headers, messageId, files }, { from, reply_to, message_stream }) => ({
    From: from,
    To: outgoing.address,
    ReplyTo: reply_to,
    Subject: subject,
    TextBody: text,
    HtmlBody: html,
    Tag: outgoing.tags.event,
    // Postmark limits values to 80 characters.
    Metadata: {
      belfry_id: outgoing.id,
      organization: outgoing.tags.organization.slice(0, 80),
      notification: outgoing.tags.notification.slice(0, 80),
    },
    // Without X-PM-KeepID, Postmark replaces the Message-ID.
    Headers: Object.entries({ 'Message-ID': messageId, 'X-PM-KeepID': 'true', ...headers }).map(([Name, Value]) => ({
      Name,
      Value,
    })),
    MessageStream: message_stream,
    ...listFiles('Attachments', files, ({ name, contentType, contentId, content }) => ({
      Name: name,
      Content: content,
      ContentType: contentType,
      ...(contentId !== undefined && { ContentID: `cid:${contentId}` }),
    })),
  }),
  id: field('MessageID'),
  errorText: field('Message'),
  classify,
});

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
