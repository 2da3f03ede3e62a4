/** https://developer.rocket.chat/apidocs/post-message */
import { type Static, Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { toMarkdown, truncate } from '../chat-text.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { busy, field, type HttpSend, idInRoom, pick, readResetTime, sendHttp, splitIdInRoom } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender, type SentMessage } from '../sending.ts';

const Settings = settings({
  server_url: serverUrl('The URL of your Rocket.Chat workspace.', 'https://chat.acme.test'),
  user_id: Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9]+$',
    patternHint: 'must be letters and digits',
    description: 'The ID of the user who posts, shown together with the token.',
    examples: ['aobEdbYhXfu5hkeqG'],
  }),
  token: secretKey('A personal access token of this user.'),
  channel: optionalString({
    minLength: 1,
    maxLength: 256,
    description: 'Where to post: #channel, @user or the ID of a room. Default: the `chat` address of each recipient.',
  }),
  timeout_ms: TimeoutMs,
});

export const rocketchat: Provider<typeof Settings> = {
  name: 'rocketchat',
  title: 'Rocket.Chat',
  medium: 'chat',
  summary: 'Posts to Rocket.Chat. The address is #channel, @user or the ID of a room.',
  settings: Settings,
  credential: {
    name: 'user ID or token',
    hint: 'create a personal access token in the account settings of the user, which shows both',
    fields: ['user_id', 'token'],
  },
  shows: ['formatting'],
  updates: ['update', 'retract'],
  reads: 'text',
  reach: ({ channel }) => (channel ? 'room' : 'address'),
  check: (options, { outbound }) =>
    sendHttp(outbound, { ...toRequest(options, 'me'), method: 'GET', errorText: field('message') }),
  open(options, { outbound }) {
    const { channel } = options;
    const call = (method: string, json: object) =>
      sendHttp(outbound, {
        ...toRequest(options, method),
        json,
        id: ({ json }) => idInRoom(pick(json, 'message', 'rid'), pick(json, 'message', '_id')),
        errorText: ({ json }) => pick(json, 'error') ?? pick(json, 'message'),
        classify: ({ json, status, headers }) => {
          // In milliseconds.
          const resetAt = status === 429 ? Number(headers['x-ratelimit-reset']) / 1_000 : Number.NaN;
          if (resetAt > 0) return busy(readResetTime(String(resetAt)));
          if ((json as { success?: unknown } | undefined)?.success !== false) return undefined;
          // Older servers report a rate limit as a 400 with this type.
          if (pick(json, 'errorType') === 'error-too-many-requests') return { retry: true };
          return status < 400 ? { retry: false } : undefined;
        },
      });
    const toText = (content: Content) => truncate(toMarkdown(content), maxCharacters.rocketchat.text);
    const find = ({ messageId, address }: SentMessage) => {
      const [roomId, msgId] = splitIdInRoom(messageId, channel ?? address);
      return { roomId, msgId };
    };
    return httpSender(
      ({ address, content }) => call('chat.postMessage', { channel: channel ?? address, text: toText(content) }),
      {
        update: sent => call('chat.update', { ...find(sent), text: toText(sent.content) }),
        retract: sent => call('chat.delete', find(sent)),
      },
    );
  },
};

function toRequest({ server_url, user_id, token, timeout_ms }: Static<typeof Settings>, method: string): HttpSend {
  return {
    url: join(server_url, `/api/v1/${method}`),
    headers: { 'x-auth-token': token, 'x-user-id': user_id },
    secrets: [token],
    timeoutMs: timeout_ms,
  };
}
