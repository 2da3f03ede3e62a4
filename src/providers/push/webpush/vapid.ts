/** Web Push: RFC 8030, see crypto.ts for the body and the signature. An address is the whole subscription of the browser as JSON. */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { writeSubscription } from '../../../core/audience/device.ts';
import { isObject } from '../../../core/json.ts';
import { optionalInteger, optionalString } from '../../../core/optional.ts';
import { truncate } from '../../chat-text.ts';
import { parseObject, pick } from '../../feedback/payload.ts';
import { genuine } from '../../feedback/signatures.ts';
import { secretPartsOf, TimeoutMs } from '../../fields.ts';
import { sendHttp } from '../../http-outcome.ts';
import { jsonResponse, nothingToSay } from '../../interactions.ts';
import { maxBytes } from '../../limits.ts';
import { type Provider, settings } from '../../provider.ts';
import { httpSender, type Outcome, type Outgoing } from '../../sending.ts';
import { fitBody } from '../message.ts';
import { authorize, encrypt, generateKeys, readKeys, type SigningKey } from './crypto.ts';

const Settings = settings({
  subject: Type.String({
    maxLength: 512,
    pattern: '^(mailto:[^\\s@]+@[^\\s@]+|https://[^\\s/]+\\S*)$',
    format: 'url',
    patternHint: 'must be a URL such as mailto:ops@acme.test or https://acme.test/contact',
    description: 'How push services can contact you about problems: mailto:ops@acme.test, or the URL of a page.',
    examples: ['mailto:ops@acme.test'],
  }),
  public_key: optionalString({
    pattern: '^B[A-Za-z0-9_-]{86}$',
    patternHint: 'must be 65 bytes in base64url: 87 characters that start with B',
    description:
      'The public key, used as `applicationServerKey` in the browser. Default: Belfry generates and stores a key pair.',
  }),
  private_key: Type.String({
    secret: true,
    pattern: '^[A-Za-z0-9_-]{43}$',
    patternHint: 'must be 32 bytes in base64url: 43 characters',
    description: 'The private key of the pair. Leave it out together with the public key.',
  }),
  ttl_seconds: optionalInteger({
    minimum: 0,
    maximum: 2_419_200,
    description: 'How long the push service keeps a message for a browser that is offline. Default: 86400 (one day).',
  }),
  urgency: Type.Optional(
    Type.Enum(['very-low', 'low', 'normal', 'high'], {
      description:
        'How urgent messages are: a device that saves its battery may delay less urgent ones. Default: normal; urgent messages are always high.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

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
  shows: ['buttons'],
  /** The browser signs nothing. Only it can decrypt the tokens of the buttons, which Belfry has signed. */
  interactions: () => ({
    where: 'by push',
    isReady: true,
    anyoneMayAct: false,
    isTokenProof: true,
    verify: () => genuine,
    read(body) {
      const press = parseObject(body);
      const [token, endpoint] = [pick(press, 'token'), pick(press, 'subscription', 'endpoint')];
      const [p256dh, auth] = ['p256dh', 'auth'].map(key => pick(press, 'subscription', 'keys', key));
      if (!token || !endpoint || !p256dh || !auth) throw new Error('has no token and subscription');
      return { token, addresses: [writeSubscription({ endpoint, keys: { p256dh, auth } })], name: 'browser' };
    },
    answer: async text => (text === undefined ? nothingToSay : jsonResponse({ text })),
  }),
  open({ subject, public_key = '', private_key, ttl_seconds = 86_400, urgency = 'normal', timeout_ms }, { outbound }) {
    const key = readKeys(public_key, private_key);
    return httpSender(async (outgoing): Promise<Outcome> => {
      const { id, address } = outgoing;
      if (!key) return refuse('the private key does not belong to the public key');
      const payload = toPayload(outgoing);
      if (!payload) return refuse('the message is larger than 4 KB, the limit of push services');
      // At most 32 characters, and the same at every attempt.
      const topic = createHash('sha256').update(id).digest('base64url').slice(0, 32);
      const request = toRequest(address, payload, key, subject);
      if (!request) return { ...refuse('the address is not a push subscription'), gone: true };
      const { endpoint, authorization, token, body } = request;
      const headers = {
        authorization,
        'content-type': 'application/octet-stream',
        'content-encoding': 'aes128gcm',
        ttl: String(ttl_seconds),
        urgency: outgoing.urgent ? 'high' : urgency,
        topic,
      };
      return sendHttp(outbound, {
        url: endpoint,
        headers,
        body,
        timeoutMs: timeout_ms,
        // Anyone who has the URL and the signature can send messages to this browser.
        secrets: [...secretPartsOf(endpoint), token, private_key],
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
  const { publicKey, privateKey } = generateKeys();
  return { public_key: publicKey, private_key: privateKey };
}

function refuse(reason: string): { ok: false; retry: false; reason: string } {
  return { ok: false, retry: false, reason };
}

/** Returns undefined if the address is not a usable subscription. */
function toRequest(address: string, payload: string, key: SigningKey, subject: string) {
  try {
    const { endpoint, keys } = JSON.parse(address);
    const { protocol, origin } = new URL(endpoint);
    const body = /^https?:$/.test(protocol) && isObject(keys) ? encrypt(payload, keys) : undefined;
    return body && { endpoint: String(endpoint), body, ...authorize(key, origin, subject) };
  } catch {
    return undefined;
  }
}

const maxLabel = 40;

/** Returns the buttons of a notification: browsers show two. Without a public address, there is nowhere to post them to. */
function toActions({ buttons = [], interactionUrl }: Outgoing): object {
  const find = (choice: string) => buttons.find(one => one.choice === choice);
  const actions = [find('b') ?? find('a'), find('s')].flatMap(button => {
    const { choice, label = '', token } = button ?? {};
    return token === undefined ? [] : [{ choice, label: truncate(label, maxLabel), token }];
  });
  return interactionUrl === undefined || actions.length === 0 ? {} : { actions, respond_url: interactionUrl };
}

/** Returns the data for the page's service worker. A text that is too long, or that repeats the title, is shortened. */
function toPayload(outgoing: Outgoing): string | undefined {
  const { id, tags, content } = outgoing;
  const { title, text, data } = content;
  const rest = text === title || text.startsWith(`${title}\n`) ? text.slice(title.length).trim() : text;
  const more = { ...(data !== undefined && { data }), organization: tags.organization, ...toActions(outgoing) };
  return fitBody(rest, maxBytes.webPush.body, body => JSON.stringify({ id, title, body, ...more }));
}
