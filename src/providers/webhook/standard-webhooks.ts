import { Type } from 'typebox';
import { webhookSecret, webhookUrl } from '../../core/configuration/webhooks.ts';
import { optionalString } from '../../core/optional.ts';
import { TimeoutMs } from '../fields.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import { postSigned, signerOf } from './signed-post.ts';

const secretSchema = { secret: true, ...webhookSecret } as const;

const Settings = settings({
  url: optionalString({
    destination: true,
    ...webhookUrl,
    description: "The URL to post to. Default: each recipient's own `webhook` address.",
    examples: ['https://shop.acme.test/hook'],
  }),
  secret: Type.String({
    ...secretSchema,
    description: 'The secret that signs every message, shared with the receiver.',
  }),
  previous_secret: optionalString({
    ...secretSchema,
    description: 'Also signs every message while receivers switch over to `secret`. Remove it afterwards.',
  }),
  timeout_ms: TimeoutMs,
});

/** The message itself is refused, so a retry cannot help. Other errors often mean that the receiver is being fixed. */
const permanentStatuses = new Set([400, 405, 413, 414, 415, 422]);

export const standardWebhooks: Provider<typeof Settings> = {
  name: 'standard-webhooks',
  title: 'Standard Webhooks',
  medium: 'webhook',
  summary: 'Signed HTTP requests to your own endpoint.',
  settings: Settings,
  credential: { name: 'signature', hint: 'check that the receiver has the same secret' },
  // By `webhook-id`.
  dedupes: true,
  reach: ({ url }) => (url ? 'recipient' : 'address'),
  open({ url, secret, previous_secret, timeout_ms }, { outbound }) {
    const signers = [secret, previous_secret].filter(key => key !== undefined).map(signerOf);
    return httpSender(({ id, address, content, traceparent }) => {
      const { title, text, data = { title, text } } = content;
      return postSigned(outbound, {
        url: url ?? address,
        messageId: id,
        body: JSON.stringify(data),
        signers,
        traceparent,
        timeoutMs: timeout_ms,
        isOfRecipient: url === undefined,
        classify: ({ status }) => {
          // Redirects are not followed: an endpoint that moved must be reconfigured.
          if (status < 400 || permanentStatuses.has(status)) return undefined;
          return status === 410 ? { retry: false, gone: true } : { retry: true };
        },
      });
    });
  },
};
