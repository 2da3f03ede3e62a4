/** https://dev.mailjet.com/email/guides/send-api-v31/ */
import type { JsonFile } from '../http-files.ts';
import { basic, type Failure, type ProviderAnswer, pick } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { type Mailbox, secretKey } from './message.ts';
import { emailService, listFiles, serviceSettings, splitFiles } from './service.ts';

const endpoint = 'https://api.mailjet.com';

export const mailjet = emailService({
  name: 'mailjet',
  title: 'Mailjet',
  summary: 'Email through the Mailjet API.',
  settings: settings({
    api_key: secretKey('The API key, from the account’s API key page.'),
    secret_key: secretKey('The secret key that belongs to it.'),
    ...serviceSettings(`${endpoint} (in the US: https://api.us.mailjet.com)`),
  }),
  credential: { name: 'API key or secret key', hint: 'copy both from the API key page of the account' },
  endpoint: () => endpoint,
  authorize({ api_key, secret_key }) {
    const { headers, secrets = [] } = basic(api_key, secret_key);
    return { headers, secrets: [api_key, ...secrets] };
  },
  path: () => '/v3.1/send',
  // https://dev.mailjet.com/email/guides/send-api-v31/#personalization: [[ ]] is replaced in every message.
  variable: /\[(?=\[)/g,
  json({ outgoing, from, replyTo, subject, text, html, headers, files }) {
    const { images, others } = splitFiles(files);
    // Mailjet refuses a List-Id.
    const { 'List-Id': _, ...accepted } = headers;
    const message = {
      From: toContact(from),
      To: [{ Email: outgoing.address }],
      ...(replyTo && { ReplyTo: toContact(replyTo) }),
      Subject: subject,
      // Nothing in {{ }} is replaced.
      TemplateLanguage: false,
      TextPart: text,
      HTMLPart: html,
      Headers: accepted,
      CustomID: outgoing.id,
      EventPayload: JSON.stringify(outgoing.tags),
      ...listFiles('Attachments', others, toFile),
      ...listFiles('InlinedAttachments', images, image => ({ ...toFile(image), ContentID: image.contentId })),
    };
    return { Messages: [message] };
  },
  // The number is too large for JavaScript, so it is read as text.
  id: ({ text }) => /"MessageID"\s*:\s*"?(\d+)/.exec(text)?.[1],
  errorText: ({ json }) => errorOf(json, 'ErrorMessage') ?? pick(json, 'ErrorMessage'),
  classify,
});

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

function toContact({ name, address }: Mailbox): { Email: string; Name?: string } {
  return name ? { Email: address, Name: name } : { Email: address };
}
