/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
import { Webhook } from 'standardwebhooks';
import { Type } from 'typebox';
import { TimeoutMs } from '../fields.ts';
import { sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const secretForm = {
  secret: true,
  // 24 to 64 bytes, as the specification asks, and padded: some receivers' libraries insist on it.
  pattern: '^whsec_(([A-Za-z0-9+/]{4}){8,21}([A-Za-z0-9+/]{2}==)?|([A-Za-z0-9+/]{4}){8,20}[A-Za-z0-9+/]{3}=)$',
  patternHint: 'must be whsec_ and then 24 to 64 bytes in base64',
} as const;

const Settings = settings({
  url: Type.Optional(
    Type.String({
      destination: true,
      maxLength: 2048,
      // A password in the address would be stored and exported in the clear.
      pattern: '^https?://[^\\s/?#@]+([/?#]\\S*)?$',
      patternHint: 'must be an http or https address without a user name in it',
      description: "Where to post. Absent: to each recipient's own address named `webhook`.",
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
    const signers = [secret, previous_secret].filter(key => key !== undefined).map(key => new Webhook(key));
    return stateless(({ id, address, content, traceparent }) => {
      const { title, text, data = { title, text } } = content;
      const body = JSON.stringify(data);
      // Of this attempt: receivers refuse what is older than minutes.
      const now = new Date();
      return sendHttp(outbound, {
        url: url ?? address,
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
          'webhook-signature': signers.map(signer => signer.sign(id, now, body)).join(' '),
          ...(traceparent && { traceparent }),
        },
        body,
        timeoutMs: timeout_ms,
        secrets: [secret, previous_secret].map(key => key?.replace('whsec_', '')),
        sort: ({ status }) => {
          // Redirects are not followed: who moved should say so to us, not to each message.
          if (status < 400 || final.has(status)) return undefined;
          return status === 410 ? { retry: false, gone: true } : { retry: true };
        },
      });
    });
  },
};
