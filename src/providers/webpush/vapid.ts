/**
 * Web Push: RFC 8030 (the request), RFC 8291 (encryption for one browser) and RFC 8292 (VAPID, the sender's identity). An
 * address is the whole subscription of the browser as JSON.
 */
import { createECDH, createHash } from 'node:crypto';
import { Type } from 'typebox';
import webpush from 'web-push';
import { isObject } from '../../core/json.ts';
import type { Content } from '../../core/render/render.ts';
import { secretPartsOf, TimeoutMs } from '../fields.ts';
import { sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { fitBody } from '../push/message.ts';
import { httpSender, type Outcome } from '../sending.ts';

const Settings = settings({
  subject: Type.String({
    maxLength: 512,
    pattern: '^(mailto:[^\\s@]+@[^\\s@]+|https://[^\\s/]+\\S*)$',
    format: 'url',
    patternHint: 'must be a URL such as mailto:ops@acme.test or https://acme.test/contact',
    description: 'How push services can contact you about problems: mailto:ops@acme.test, or the URL of a page.',
    examples: ['mailto:ops@acme.test'],
  }),
  public_key: Type.Optional(
    Type.String({
      pattern: '^B[A-Za-z0-9_-]{86}$',
      patternHint: 'must be 65 bytes in base64url: 87 characters that start with B',
      description:
        'The public key, used as `applicationServerKey` in the browser. Default: Belfry generates and stores a key pair.',
    }),
  ),
  private_key: Type.String({
    secret: true,
    pattern: '^[A-Za-z0-9_-]{43}$',
    patternHint: 'must be 32 bytes in base64url: 43 characters',
    description: 'The private key of the pair. Leave it out together with the public key.',
  }),
  ttl_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_419_200,
      description: 'How long the push service keeps a message for a browser that is offline. Default: 86400 (one day).',
    }),
  ),
  urgency: Type.Optional(
    Type.Enum(['very-low', 'low', 'normal', 'high'], {
      description:
        'How urgent messages are: a device that saves its battery may delay less urgent ones. Default: normal.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

type Subscription = webpush.PushSubscription;
type VapidDetails = NonNullable<webpush.RequestOptions['vapidDetails']>;

export const vapid: Provider<typeof Settings> = {
  name: 'vapid',
  title: 'Web Push',
  medium: 'webpush',
  summary: 'Browser notifications, signed with your own VAPID keys.',
  settings: Settings,
  credential: {
    name: 'VAPID keys',
    hint: 'browsers that subscribed with other keys must subscribe again',
    fields: ['public_key', 'private_key'],
  },
  // A message that is sent again replaces the first one only until the browser has fetched it: see `topic` below.
  dedupes: false,
  generates: { publicField: 'public_key', make: () => generateVapidKeys() },
  open({ subject, public_key = '', private_key, ttl_seconds = 86_400, urgency = 'normal', timeout_ms }, { outbound }) {
    const vapidDetails = { subject, publicKey: public_key, privateKey: private_key };
    const isUsable = canSign(vapidDetails);
    return httpSender(async ({ id, address, content }): Promise<Outcome> => {
      if (!isUsable) return refuse('the private key does not belong to the public key');
      const payload = toPayload(id, content);
      if (!payload) return refuse('the message is larger than 4 KB, the limit of push services');
      // At most 32 characters, and the same at every attempt.
      const topic = createHash('sha256').update(id).digest('base64url').slice(0, 32);
      const request = encryptFor(address, payload, { vapidDetails, TTL: ttl_seconds, urgency, topic });
      if (!request) return { ...refuse('the address is not a push subscription'), gone: true };
      const { endpoint, headers, body } = request;
      return sendHttp(outbound, {
        url: endpoint,
        headers,
        body,
        timeoutMs: timeout_ms,
        // Anyone who has the URL and the signature can send messages to this browser.
        secrets: [...secretPartsOf(endpoint), /t=([^,]+)/.exec(headers.Authorization ?? '')?.[1], private_key],
        id: ({ headers: answer }) => answer.location?.split('/').at(-1),
        classify: ({ status }) => (status === 404 || status === 410 ? { retry: false, gone: true } : undefined),
        // Each browser has its own push service.
        isOfRecipient: true,
      });
    });
  },
};

/** Generates the keys of a channel that has none yet. */
export function generateVapidKeys(): { public_key: string; private_key: string } {
  const { publicKey, privateKey } = webpush.generateVAPIDKeys();
  return { public_key: publicKey, private_key: privateKey };
}

function refuse(reason: string): { ok: false; retry: false; reason: string } {
  return { ok: false, retry: false, reason };
}

/** Checks the key pair: with a wrong one, every push service would refuse every message with a different error. */
function canSign({ subject, publicKey, privateKey }: VapidDetails): boolean {
  try {
    const pair = createECDH('prime256v1');
    pair.setPrivateKey(privateKey, 'base64url');
    webpush.getVapidHeaders('https://push.test', subject, publicKey, privateKey, 'aes128gcm');
    return pair.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}

/** Returns undefined if the address is not a usable subscription; the sender's keys have been checked before. */
function encryptFor(address: string, payload: string, options: webpush.RequestOptions) {
  try {
    const value: unknown = JSON.parse(address);
    if (!isObject(value)) return undefined;
    const { endpoint, headers, body } = webpush.generateRequestDetails(
      value as unknown as Subscription,
      payload,
      options,
    );
    if (!/^https?:$/.test(new URL(endpoint).protocol)) return undefined;
    // The HTTP client sets the length.
    const kept = Object.entries(headers).filter(([name]) => name !== 'Content-Length');
    const texts: Record<string, string> = Object.fromEntries(kept.map(([name, text]) => [name, String(text)]));
    return { endpoint, headers: texts, body };
  } catch {
    return undefined;
  }
}

/** Returns the data for the page's service worker. A text that is too long, or that repeats the title, is shortened. */
function toPayload(id: string, { title, text, data }: Content): string | undefined {
  const rest = text === title || text.startsWith(`${title}\n`) ? text.slice(title.length).trim() : text;
  const serialize = (body: string) => JSON.stringify({ id, title, body, ...(data !== undefined && { data }) });
  return fitBody(rest, maxBytes.webPush.body, serialize);
}
