import { Type } from 'typebox';
import { webhookSecret, webhookUrl } from '../../core/webhooks.ts';
import { TimeoutMs } from '../fields.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';
import { postSigned, signerOf } from './signed-post.ts';

const secretForm = { secret: true, ...webhookSecret } as const;

const Settings = settings({
  url: Type.Optional(
    Type.String({
      destination: true,
      ...webhookUrl,
      description: "Where to post. Absent: to each recipient's own address named `webhook`.",
      examples: ['https://shop.acme.test/hook'],
    }),
  ),
  secret: Type.String({ ...secretForm, description: 'Signs every message; the receiver knows it too.' }),
  previous_secret: Type.Optional(
    Type.String({
      ...secretForm,
      description: 'Signs every message as well while receivers change over from it to `secret`. Then remove it.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

/** What another try cannot change: the message itself is refused. All else is often a receiver being worked on. */
const final = new Set([400, 405, 413, 414, 415, 422]);

export const standardWebhooks: Provider<typeof Settings> = {
  name: 'standard-webhooks',
  title: 'Standard Webhooks',
  medium: 'webhook',
  summary: 'Signed HTTP requests to your own endpoint.',
  settings: Settings,
  // By `webhook-id`.
  dedupes: true,
  reach: ({ url }) => (url ? 'recipient' : 'address'),
  open({ url, secret, previous_secret, timeout_ms }, { outbound }) {
    const signers = [secret, previous_secret].filter(key => key !== undefined).map(signerOf);
    return stateless(({ id, address, content, traceparent }) => {
      const { title, text, data = { title, text } } = content;
      return postSigned(outbound, {
        url: url ?? address,
        messageId: id,
        body: JSON.stringify(data),
        signers,
        traceparent,
        timeoutMs: timeout_ms,
        sort: ({ status }) => {
          // Redirects are not followed: who moved should say so to us, not to each message.
          if (status < 400 || final.has(status)) return undefined;
          return status === 410 ? { retry: false, gone: true } : { retry: true };
        },
      });
    });
  },
};
