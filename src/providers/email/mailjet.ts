/** https://dev.mailjet.com/email/guides/send-api-v31/ */

import { type JsonFile, jsonFiles, withFiles } from '../http-files.ts';
import { basic, type Failure, type ProviderAnswer, pick, sendHttp, toBase64 } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://api.mailjet.com';

/** https://dev.mailjet.com/email/guides/send-api-v31/#personalization: [[ ]] is replaced in every message. */
const variable = /\[(?=\[)/g;

const Settings = settings({
  api_key: email.secretKey('The API key, from the account’s API key page.'),
  secret_key: email.secretKey('The secret key that belongs to it.'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(`${defaultEndpoint} (in the US: https://api.us.mailjet.com)`),
  webhook_secret: email.webhookCredentials,
  timeout_ms: email.TimeoutMs,
});

export const mailjet: Provider<typeof Settings> = {
  name: 'mailjet',
  title: 'Mailjet',
  medium: 'email',
  summary: 'Email through the Mailjet API.',
  settings: Settings,
  credential: { name: 'API key or secret key', hint: 'copy both from the API key page of the account' },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'mailjet', secret: webhook_secret }),
  open({ api_key, secret_key, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    const replyTo = reply_to && email.toMailbox(reply_to);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      const images = files.filter(({ contentId }) => contentId !== undefined);
      const others = files.filter(({ contentId }) => contentId === undefined);
      const { subject, text, html } = email.withoutVariables(outgoing, variable);
      // Mailjet refuses a List-Id.
      const { 'List-Id': _, ...headers } = email.headersOf(outgoing, sender);
      return sendHttp(outbound, {
        url: email.join(endpoint, '/v3.1/send'),
        headers: { authorization: basic(api_key, secret_key), 'content-type': 'application/json' },
        body: withFiles(
          JSON.stringify({
            Messages: [
              {
                From: toPerson(sender),
                To: [{ Email: outgoing.address }],
                ...(replyTo && { ReplyTo: toPerson(replyTo) }),
                Subject: subject,
                // Nothing in {{ }} is replaced.
                TemplateLanguage: false,
                ...(text && { TextPart: text }),
                ...(html && { HTMLPart: html }),
                Headers: headers,
                CustomID: outgoing.id,
                EventPayload: JSON.stringify(outgoing.tags),
                ...(others.length > 0 && { Attachments: others.map(toFile) }),
                ...(images.length > 0 && {
                  InlinedAttachments: images.map(image => ({ ...toFile(image), ContentID: image.contentId })),
                }),
              },
            ],
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [api_key, secret_key, toBase64(`${api_key}:${secret_key}`)],
        // The number is too large for JavaScript, so it is read as text.
        id: ({ text: answer }) => /"MessageID"\s*:\s*"?(\d+)/.exec(answer)?.[1],
        errorText: ({ json }) => errorOf(json, 'ErrorMessage') ?? pick(json, 'ErrorMessage'),
        classify: classify,
      });
    });
  },
};

/** A 200 response may contain a refused message with its own status. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status >= 300 || pick(json, 'Messages', 0, 'Status') !== 'error') return undefined;
  const innerStatus = Number(errorOf(json, 'StatusCode'));
  if (innerStatus === 401) return { retry: false, denied: true };
  return { retry: innerStatus >= 500 || innerStatus === 429 };
}

function errorOf(json: unknown, field: string): string | undefined {
  return pick(json, 'Messages', 0, 'Errors', 0, field);
}

function toFile({ name, contentType, content }: JsonFile) {
  return { ContentType: contentType, Filename: name, Base64Content: content };
}

function toPerson({ name, address }: email.Mailbox): { Email: string; Name?: string } {
  return name ? { Email: address, Name: name } : { Email: address };
}
