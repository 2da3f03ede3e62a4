/** https://api.mattermost.com/#tag/posts/operation/CreatePost, as a bot. */
import { Type } from 'typebox';
import { toMarkdown, truncate } from '../chat-text.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const Settings = settings({
  server_url: serverUrl('The URL of your Mattermost server.', 'https://mattermost.acme.test'),
  token: secretKey('The access token of a bot account.'),
  channel_id: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9]{26}$',
      patternHint: 'must be the ID of a channel, 26 letters and digits',
      description: 'The ID of the channel to post to. Default: the `chat` address of each recipient.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

const maxLength = 16_383;

/** The channel was deleted or archived. A channel that is not found may only lack the bot. */
const goneErrors = new Set(['api.post.create_post.can_not_post_to_deleted.error']);

export const mattermost: Provider<typeof Settings> = {
  name: 'mattermost',
  title: 'Mattermost',
  medium: 'chat',
  summary: 'Posts to channels of Mattermost as a bot. The address is a channel ID.',
  settings: Settings,
  shows: ['formatting'],
  dedupes: false,
  reads: 'text',
  reach: ({ channel_id }) => (channel_id ? 'room' : 'address'),
  open({ server_url, token, channel_id, timeout_ms }, { outbound }) {
    return httpSender(({ address, content }) =>
      sendHttp(outbound, {
        url: join(server_url, '/api/v4/posts'),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ channel_id: channel_id ?? address, message: truncate(toMarkdown(content), maxLength) }),
        timeoutMs: timeout_ms,
        secrets: [token],
        id: ({ json }) => pick(json, 'id'),
        errorText: ({ json }) => pick(json, 'message'),
        classify: ({ json }) => (goneErrors.has(pick(json, 'id') ?? '') ? { retry: false, gone: true } : undefined),
      }),
    );
  },
};
