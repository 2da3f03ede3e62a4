/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { type FormField, fileField } from '../http-files.ts';
import { basic, field, pick } from '../http-outcome.ts';
import { settings } from '../provider.ts';
import { secretKey, toLabel, toMailbox, webhookSecret } from './message.ts';
import { emailService, serviceSettings } from './service.ts';

const regions = { us: 'https://api.mailgun.net', eu: 'https://api.eu.mailgun.net' } as const;

export const mailgun = emailService({
  name: 'mailgun',
  title: 'Mailgun',
  summary: 'Email through the Mailgun API, US or EU.',
  settings: settings({
    api_key: secretKey('An API key, or the sending key of the domain.'),
    domain: optionalString({
      maxLength: 253,
      pattern: '^[A-Za-z0-9.-]+$',
      patternHint: 'must be a domain',
      description: 'The sending domain at Mailgun. Default: the domain of the sender’s address.',
    }),
    region: Type.Optional(Type.Enum(['us', 'eu'], { description: 'The region of the domain. Default: us.' })),
    ...serviceSettings(
      'the region’s',
      webhookSecret('The HTTP webhook signing key, from the account’s API security page.'),
    ),
  }),
  credential: {
    name: 'API key',
    hint: 'copy the sending key of the domain, and check that endpoint is that of its region',
  },
  endpoint: ({ region = 'us' }) => regions[region],
  authorize: ({ api_key }) => basic('api', api_key),
  path({ from, domain = toMailbox(from).address.replace(/^.*@/s, '') }) {
    return `/v3/${encodeURIComponent(domain)}/messages`;
  },
  // https://documentation.mailgun.com/docs/mailgun/user-manual: %recipient.name%, %unsubscribe_url% and the like are replaced in every message.
  variable: /%(?=(?:recipient|unsubscribe_|tag_unsubscribe_|mailing_list_)[\w.]*%)/gi,
  form: ({ outgoing, subject, text, html, headers, messageId }, { from, reply_to }) => [
    ['from', from],
    ['to', outgoing.address],
    ['subject', subject],
    ...(text ? [['text', text] satisfies FormField] : []),
    ...(html ? [['html', html] satisfies FormField] : []),
    ...(reply_to ? [['h:Reply-To', reply_to] satisfies FormField] : []),
    ['h:Message-Id', messageId],
    ...Object.entries(headers).map(([name, value]): FormField => [`h:${name}`, value]),
    ['v:belfry_id', outgoing.id],
    // Mailgun allows at most three tags, in ASCII.
    ...Object.values(outgoing.tags).map((tag): FormField => ['o:tag', toLabel(tag).slice(0, 128)]),
    // The name of an image in the body is its content id.
    ...(outgoing.attachments ?? []).map(file =>
      file.contentId === undefined
        ? fileField('attachment', file)
        : fileField('inline', { ...file, name: file.contentId }),
    ),
  ],
  id: ({ json }) => pick(json, 'id')?.replace(/^<(.*)>$/, '$1'),
  errorText: field('message'),
});
