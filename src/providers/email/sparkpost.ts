/** https://developers.sparkpost.com/api/transmissions/ */
import { Type } from 'typebox';
import { type JsonFile, jsonFiles, withFiles } from '../http-files.ts';
import { type Failure, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const regions = { us: 'https://api.sparkpost.com', eu: 'https://api.eu.sparkpost.com' } as const;

const Settings = settings({
  api_key: email.secretKey('An API key with the permission Transmissions: Read/Write.'),
  region: Type.Optional(Type.Enum(['us', 'eu'], { description: 'The region of the account. Default: us.' })),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint('the region’s'),
  webhook_secret: email.webhookCredentials,
  timeout_ms: email.TimeoutMs,
});

export const sparkpost: Provider<typeof Settings> = {
  name: 'sparkpost',
  title: 'SparkPost',
  medium: 'email',
  summary: 'Email through the SparkPost API, US or EU.',
  settings: Settings,
  credential: {
    name: 'API key',
    hint: 'create one with the permission Transmissions: Read/Write, and check that endpoint is that of its region',
  },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'sparkpost', secret: webhook_secret }),
  open({ api_key, region = 'us', from, reply_to, endpoint = regions[region], timeout_ms }, { outbound }) {
    const sender = email.toContact(from);
    const mailbox = email.toMailbox(from);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      const images = files.filter(({ contentId }) => contentId !== undefined);
      const others = files.filter(({ contentId }) => contentId === undefined);
      const { text, html } = email.bodies(outgoing);
      const { organization, event, notification } = outgoing.tags;
      return sendHttp(outbound, {
        url: email.join(endpoint, '/api/v1/transmissions'),
        headers: { authorization: api_key, 'content-type': 'application/json' },
        body: withFiles(
          JSON.stringify({
            recipients: [{ address: { email: outgoing.address }, metadata: { belfry_id: outgoing.id } }],
            metadata: { organization, event, notification },
            content: {
              from: sender,
              subject: escapeBraces(outgoing.content.title),
              ...(reply_to && { reply_to }),
              ...(text && { text: escapeBraces(text) }),
              ...(html && { html: escapeBraces(html) }),
              headers: email.headersOf(outgoing, mailbox),
              ...(others.length > 0 && { attachments: others.map(file => toFile(file, file.name)) }),
              // The name of an image is its content id.
              ...(images.length > 0 && { inline_images: images.map(file => toFile(file, file.contentId!)) }),
            },
            // Links stay as they are: Belfry measures nothing without being asked to.
            options: {
              open_tracking: false,
              click_tracking: false,
              transactional: outgoing.unsubscribeUrl === undefined,
            },
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [api_key],
        id: ({ json }) => pick(json, 'results', 'id'),
        errorText: ({ json }) => pick(json, 'errors', 0, 'description') ?? pick(json, 'errors', 0, 'message'),
        classify,
      });
    });
  },
};

function toFile({ contentType, content }: JsonFile, name: string) {
  return { name, type: contentType, data: content };
}

/** SparkPost replaces {{ }} in every content; only this macro produces the two characters themselves. */
function escapeBraces(text: string): string {
  return text.replaceAll('{{', '{{opening_double_curly()}}');
}

/** 420: a limit of the account, for a while. 403: the key lacks the permission. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 420) return { retry: true };
  if (status === 403) return { retry: false, denied: true };
  const isRejected = pick(json, 'results', 'total_accepted_recipients') === '0';
  return status < 300 && isRejected ? { retry: false, reason: 'SparkPost accepted none of the recipients' } : undefined;
}
