/** https://developer.rocket.chat/apidocs/post-message */
import { Type } from 'typebox';
import { toMarkdown, truncate } from '../chat-text.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

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
  channel: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Where to post: #channel, @user or the ID of a room. Default: the `chat` address of each recipient.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

/** The default of the server's setting Message_MaxAllowedSize. */
const maxLength = 5_000;

export const rocketchat: Provider<typeof Settings> = {
  name: 'rocketchat',
  title: 'Rocket.Chat',
  medium: 'chat',
  summary: 'Posts to Rocket.Chat. The address is #channel, @user or the ID of a room.',
  settings: Settings,
  shows: ['formatting'],
  dedupes: false,
  reads: 'text',
  reach: ({ channel }) => (channel ? 'room' : 'address'),
  open({ server_url, user_id, token, channel, timeout_ms }, { outbound }) {
    return httpSender(({ address, content }) =>
      sendHttp(outbound, {
        url: join(server_url, '/api/v1/chat.postMessage'),
        headers: { 'x-auth-token': token, 'x-user-id': user_id, 'content-type': 'application/json' },
        body: JSON.stringify({ channel: channel ?? address, text: truncate(toMarkdown(content), maxLength) }),
        timeoutMs: timeout_ms,
        secrets: [token],
        id: ({ json }) => pick(json, 'message', '_id'),
        errorText: ({ json }) => pick(json, 'error') ?? pick(json, 'message'),
        classify: ({ json, status }) => {
          if ((json as { success?: unknown } | undefined)?.success !== false) return undefined;
          // Older servers report a rate limit as a 400 with this type.
          if (pick(json, 'errorType') === 'error-too-many-requests') return { retry: true };
          return status < 400 ? { retry: false } : undefined;
        },
      }),
    );
  },
};
