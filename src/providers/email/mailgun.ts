/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages */
import { Type } from 'typebox';
import { basic, pick, sendHttp, toBase64 } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

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
  dedupes: false,
  feedback: ({ webhook_secret }) => ({ service: 'mailgun', secret: webhook_secret }),
  open({ api_key, domain, region = 'us', from, reply_to, endpoint = regions[region], timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    const sendingDomain = domain ?? sender.address.slice(sender.address.lastIndexOf('@') + 1);
    return httpSender(async outgoing => {
      const { text, html } = email.bodies(outgoing);
      const form = new FormData();
      form.set('from', from);
      form.set('to', outgoing.address);
      form.set('subject', outgoing.content.title);
      if (text) form.set('text', text);
      if (html) form.set('html', html);
      if (reply_to) form.set('h:Reply-To', reply_to);
      form.set('h:Message-Id', `<${email.messageId(outgoing, sender)}>`);
      for (const [name, value] of Object.entries(email.unsubscribeHeaders(outgoing))) form.set(`h:${name}`, value);
      form.set('v:belfry_id', outgoing.id);
      // Mailgun allows at most three tags, in ASCII.
      for (const tag of Object.values(outgoing.tags)) form.append('o:tag', email.toLabel(tag).slice(0, 128));
      const multipart = new Response(form);
      return sendHttp(outbound, {
        url: email.join(endpoint, `/v3/${encodeURIComponent(sendingDomain)}/messages`),
        headers: {
          authorization: basic('api', api_key),
          'content-type': multipart.headers.get('content-type')!,
        },
        body: Buffer.from(await multipart.arrayBuffer()),
        timeoutMs: timeout_ms,
        secrets: [api_key, toBase64(`api:${api_key}`)],
        id: ({ json }) => pick(json, 'id')?.replace(/^<(.*)>$/, '$1'),
        errorText: ({ json }) => pick(json, 'message'),
      });
    });
  },
};
