/** https://developers.sparkpost.com/api/transmissions/ */
import { Type } from 'typebox';
import type { JsonFile } from '../http-files.ts';
import { type Failure, field, type ProviderAnswer, pick } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toContact } from './message.ts';
import { emailService, listFiles, serviceSettings, splitFiles } from './service.ts';

const regions = { us: 'https://api.sparkpost.com', eu: 'https://api.eu.sparkpost.com' } as const;

export const sparkpost = emailService({
  name: 'sparkpost',
  title: 'SparkPost',
  summary: 'Email through the SparkPost API, US or EU.',
  settings: settings({
    api_key: secretKey('An API key with the permission Transmissions: Read/Write.'),
    region: Type.Optional(Type.Enum(['us', 'eu'], { description: 'The region of the account. Default: us.' })),
    ...serviceSettings('the region’s'),
  }),
  credential: {
    name: 'API key',
    hint: 'create one with the permission Transmissions: Read/Write, and check that endpoint is that of its region',
  },
  endpoint: ({ region = 'us' }) => regions[region],
  authorize: ({ api_key }) => ({ headers: { authorization: api_key }, secrets: [api_key] }),
  path: () => '/api/v1/transmissions',
  json({ outgoing, from, subject, text, html, headers, files }, { reply_to }) {
    const { images, others } = splitFiles(files);
    const { organization, event, notification } = outgoing.tags;
    return {
      recipients: [{ address: { email: outgoing.address }, metadata: { belfry_id: outgoing.id } }],
      metadata: { organization, event, notification },
      content: {
        from: toContact(from),
        subject: escapeBraces(subject),
        reply_to,
        ...(text && { text: escapeBraces(text) }),
        ...(html && { html: escapeBraces(html) }),
        headers,
        ...listFiles('attachments', others, file => toFile(file, file.name)),
        // The name of an image is its content id.
        ...listFiles('inline_images', images, file => toFile(file, file.contentId!)),
      },
      // Links stay as they are: Belfry measures nothing without being asked to.
      options: {
        open_tracking: false,
        click_tracking: false,
        transactional: outgoing.unsubscribeUrl === undefined,
      },
    };
  },
  id: field('results', 'id'),
  errorText: ({ json }) => pick(json, 'errors', 0, 'description') ?? pick(json, 'errors', 0, 'message'),
  classify,
});

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
