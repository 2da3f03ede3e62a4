/** https://pushover.net/api */
import { Type } from 'typebox';
import { optionalInteger, optionalString } from '../../core/optional.ts';
import { truncate } from '../chat-text.ts';
import { endpoint, join, TimeoutMs } from '../fields.ts';
import {
  busy,
  errorsOf,
  type Failure,
  field,
  type ProviderAnswer,
  pick,
  readResetTime,
  requestSender,
  sendHttp,
} from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { toTitleAndText } from './message.ts';

const defaultEndpoint = 'https://api.pushover.net';

const key = { pattern: '^[A-Za-z0-9]{30}$', patternHint: 'must be 30 letters and digits' } as const;

const Settings = settings({
  token: Type.String({ ...key, secret: true, description: 'The API token of your Pushover application.' }),
  user_key: optionalString({
    ...key,
    secret: true,
    description: 'The key of a user or a group. Default: the `push` address of each recipient.',
  }),
  priority: optionalInteger({
    minimum: -2,
    maximum: 1,
    description: 'From -2 (no alert) to 1 (bypasses quiet hours). Default: 0.',
  }),
  sound: optionalString({
    pattern: '^[a-z0-9_-]{1,20}$',
    patternHint: 'must be the name of a sound',
    description: "The name of a sound. Default: the user's own choice.",
  }),
  ttl_seconds: optionalInteger({
    minimum: 1,
    maximum: 31_536_000,
    description: 'After how many seconds the message is deleted from devices. Default: never.',
  }),
  endpoint: endpoint(defaultEndpoint, 'a proxy'),
  timeout_ms: TimeoutMs,
});

export const pushover: Provider<typeof Settings> = {
  name: 'pushover',
  title: 'Pushover',
  medium: 'push',
  summary: 'Notifications through Pushover. The address is the key of a user or a group.',
  settings: Settings,
  credential: { name: 'API token', hint: 'copy that of your application at pushover.net', fields: ['token'] },
  reads: 'text',
  reach: ({ user_key }) => (user_key ? 'room' : 'address'),
  accepts: (address, { user_key }) => user_key !== undefined || /^[A-Za-z0-9]{30}$/.test(address),
  check: ({ token, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: join(endpoint, `/1/apps/limits.json?token=${encodeURIComponent(token)}`),
      timeoutMs,
      secrets: [token],
      errorText: ({ json }) => errorsOf(json).join('; ') || undefined,
      classify,
    }),
  open: requestSender(
    (
      { id, address, content, createdAt },
      { token, user_key, priority, sound, ttl_seconds, endpoint = defaultEndpoint },
    ) => {
      const { title, text } = toTitleAndText(id, content);
      return {
        url: join(endpoint, '/1/messages.json'),
        json: {
          token,
          user: user_key ?? address,
          message: truncate(text, maxCharacters.pushover.text),
          title: truncate(title, maxCharacters.pushover.title) || undefined,
          timestamp: Math.floor(createdAt.getTime() / 1000),
          priority,
          sound,
          ttl: ttl_seconds,
        },
        secrets: [token, user_key],
        id: field('request'),
        errorText: ({ json }) => errorsOf(json).join('; ') || undefined,
        classify,
      };
    },
  ),
};

/** `token` or `user` is "invalid" beside the error messages. A 429 means that the month's messages are used up. */
function classify({ status, headers, json }: ProviderAnswer): Partial<Failure> | undefined {
  // Any other status than 1 means that the message was refused.
  if (status < 300) return (pick(json, 'status') ?? '1') === '1' ? undefined : { retry: false };
  if (status < 400 || status >= 500) return undefined;
  if (status === 429 && headers['retry-after'] === undefined) return busy(readResetTime(headers['x-limit-app-reset']));
  if (pick(json, 'token') === 'invalid') return { retry: false, denied: true };
  return pick(json, 'user') === 'invalid' ? { retry: false, gone: true } : undefined;
}
