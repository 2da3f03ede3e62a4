/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages */
import { Type } from 'typebox';
import { type FormField, fileField, toForm } from '../http-files.ts';
import { basic, pick, sendHttp, toBase64 } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

/** https://documentation.mailgun.com/docs/mailgun/user-manual: %recipient.name%, %unsubscribe_url% and the like are replaced in every message. */
const variable = /%(?=(?:recipient|unsubscribe_|tag_unsubscribe_|mailing_list_)[\w.]*%)/gi;

const regions = { us: 'https://api.mailgun.net', eu: 'https://api.eu.mailgun.net' } as const;

const Settings = settings({
  api_key: email.secretKey('An API key, or the sending key of the domain.'),
  domain: Type.Optional(
    Type.String({
      maxLength: 253,
      pattern: '^[A-Za-z0-9.-]+$',
      patternHint: 'must be a domain',
      description: 'The sending domain at Mailgun. Default: the domain of the sender’s address.',
    }),
  ),
  region: Type.Optional(Type.Enum(['us', 'eu'], { description: 'The region of the domain. Default: us.' })),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint('the region’s'),
  webhook_secret: email.webhookSecret('The HTTP webhook signing key, from the account’s API security page.'),
  timeout_ms: email.TimeoutMs,
});

export const mailgun: Provider<typeof Settings> = {
  name: 'mailgun',
  title: 'Mailgun',
  medium: 'email',
  summary: 'Email through the Mailgun API, US or EU.',
  settings: Settings,
  credential: {
    name: 'API key',
    hint: 'copy the sending key of the domain, and check that endpoint is that of its region',
  },
  dedupes: false,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'mailgun', secret: webhook_secret }),
  open({ api_key, domain, region = 'us', from, reply_to, endpoint = regions[region], timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    const sendingDomain = domain ?? sender.address.slice(sender.address.lastIndexOf('@') + 1);
    return httpSender(outgoing => {
      const { subject, text, html } = email.withoutVariables(outgoing, variable);
      const fields: FormField[] = [
        ['from', from],
        ['to', outgoing.address],
        ['subject', subject],
        ...(text ? [['text', text] satisfies FormField] : []),
        ...(html ? [['html', html] satisfies FormField] : []),
        ...(reply_to ? [['h:Reply-To', reply_to] satisfies FormField] : []),
        ['h:Message-Id', `<${email.messageId(outgoing, sender)}>`],
        ...Object.entries(email.headersOf(outgoing, sender)).map(([name, value]): FormField => [`h:${name}`, value]),
        ['v:belfry_id', outgoing.id],
        // Mailgun allows at most three tags, in ASCII.
        ...Object.values(outgoing.tags).map((tag): FormField => ['o:tag', email.toLabel(tag).slice(0, 128)]),
        // The name of an image in the body is its content id.
        ...(outgoing.attachments ?? []).map(file =>
          file.contentId === undefined
            ? fileField('attachment', file)
            : fileField('inline', { ...file, name: file.contentId }),
        ),
      ];
      const { contentType, body } = toForm(fields);
      return sendHttp(outbound, {
        url: email.join(endpoint, `/v3/${encodeURIComponent(sendingDomain)}/messages`),
        headers: {
          authorization: basic('api', api_key),
          'content-type': contentType,
        },
        body,
        timeoutMs: timeout_ms,
        secrets: [api_key, toBase64(`api:${api_key}`)],
        id: ({ json }) => pick(json, 'id')?.replace(/^<(.*)>$/, '$1'),
        errorText: ({ json }) => pick(json, 'message'),
      });
    });
  },
};
