/**
 * Notices of browsers: RFC 8030 (the request), RFC 8291 (encryption for one browser) and RFC 8292 (VAPID, who sends).
 * An address is the whole subscription as the browser gives it, in JSON.
 */
import { createECDH, createHash } from 'node:crypto';
import { Type } from 'typebox';
import webpush from 'web-push';
import { isObject } from '../../core/json.ts';
import type { Content } from '../../core/render/render.ts';
import { cut } from '../chat-text.ts';
import { partsOfUrl, TimeoutMs } from '../fields.ts';
import { sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { type Outcome, stateless } from '../sending.ts';

const Settings = settings({
  subject: Type.String({
    maxLength: 512,
    pattern: '^(mailto:[^\\s@]+@[^\\s@]+|https://[^\\s/]+\\S*)$',
    patternHint: 'must be an address such as mailto:ops@acme.test or https://acme.test/contact',
    description: 'How push services reach you when something is wrong: mailto:ops@acme.test, or a page.',
    examples: ['mailto:ops@acme.test'],
  }),
  public_key: Type.Optional(
    Type.String({
      pattern: '^B[A-Za-z0-9_-]{86}$',
      patternHint: 'must be 65 bytes in base64url: 87 characters, the first of them B',
      description:
        'The public key; the same as `applicationServerKey` in the browser. Absent: Belfry makes a pair of keys and keeps it.',
    }),
  ),
  private_key: Type.String({
    secret: true,
    pattern: '^[A-Za-z0-9_-]{43}$',
    patternHint: 'must be 32 bytes in base64url: 43 characters',
    description: 'The private key that belongs to it. Left out with it.',
  }),
  ttl_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_419_200,
      description: 'How long the push service keeps a message for a browser that is offline. Absent: a day, 86400.',
    }),
  ),
  urgency: Type.Optional(
    Type.Enum(['very-low', 'low', 'normal', 'high'], {
      description: 'What a device that saves its battery may put off. Absent: normal.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

type Subscription = webpush.PushSubscription;
type VapidDetails = NonNullable<webpush.RequestOptions['vapidDetails']>;

/** RFC 8291, 4: what fits into the 4096 bytes that every push service takes. */
const mostBytes = 3993;

export const vapid: Provider<typeof Settings> = {
  name: 'vapid',
  title: 'Web Push',
  medium: 'webpush',
  summary: 'Browser notifications, signed with your own VAPID keys.',
  settings: Settings,
  // A resent one takes the place of its twin only while that has not been fetched: see Topic below.
  dedupes: false,
  generates: { publicField: 'public_key', make: () => generateVapidKeys() },
  open({ subject, public_key = '', private_key, ttl_seconds = 86_400, urgency = 'normal', timeout_ms }, { outbound }) {
    const vapidDetails = { subject, publicKey: public_key, privateKey: private_key };
    const isUsable = canSign(vapidDetails);
    return stateless(async ({ id, address, content }): Promise<Outcome> => {
      if (!isUsable) return refuse('the private key does not belong to the public key');
      const payload = toPayload(id, content);
      if (!payload) return refuse('the message is larger than the 4 KB that push services take');
      // At most 32 characters, and the same at every attempt.
      const topic = createHash('sha256').update(id).digest('base64url').slice(0, 32);
      const request = encryptFor(address, payload, { vapidDetails, TTL: ttl_seconds, urgency, topic });
      if (!request) return { ...refuse('the address is no push subscription'), gone: true };
      const { endpoint, headers, body } = request;
      return sendHttp(outbound, {
        url: endpoint,
        headers,
        body,
        timeoutMs: timeout_ms,
        // Whoever knows the address and has the signature may write to this browser.
        secrets: [...partsOfUrl(endpoint), /t=([^,]+)/.exec(headers.Authorization ?? '')?.[1], private_key],
        id: ({ headers: answer }) => answer.location?.split('/').at(-1),
        sort: ({ status }) => (status === 404 || status === 410 ? { retry: false, gone: true } : undefined),
      });
    });
  },
};

/** For a channel that has none yet. */
export function generateVapidKeys(): { public_key: string; private_key: string } {
  const { publicKey, privateKey } = webpush.generateVAPIDKeys();
  return { public_key: publicKey, private_key: privateKey };
}

function refuse(reason: string): { ok: false; retry: false; reason: string } {
  return { ok: false, retry: false, reason };
}

/** Otherwise every push service would refuse every message, each in its own words. */
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

/** Undefined where nothing could ever be encrypted for this address: the details of the sender are known to be good. */
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
    // The length is the client's business.
    const kept = Object.entries(headers).filter(([name]) => name !== 'Content-Length');
    const texts: Record<string, string> = Object.fromEntries(kept.map(([name, text]) => [name, String(text)]));
    return { endpoint, headers: texts, body };
  } catch {
    return undefined;
  }
}

/** What the page's service worker gets. The text gives way where it is too long, and to a title that repeats it. */
function toPayload(id: string, { title, text, data }: Content): string | undefined {
  const rest = text === title || text.startsWith(`${title}\n`) ? text.slice(title.length).trim() : text;
  const write = (body: string) => JSON.stringify({ id, title, body, ...(data !== undefined && { data }) });
  for (let most = rest.length; ; most = Math.floor(most * 0.9)) {
    const payload = write(cut(rest, most));
    if (Buffer.byteLength(payload) <= mostBytes) return payload;
    if (most === 0) return undefined;
  }
}
