/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
import { Type } from 'typebox';
import { toMarkdown, truncate } from '../chat-text.ts';
import { secretPartsOf, secretUrl, TimeoutMs } from '../fields.ts';
import { pick, readRetryAfter, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const Settings = settings({
  url: secretUrl('The webhook URL, from Integrations in the settings of the channel.'),
  username: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 80,
      description: "The name that messages are posted under. Default: the webhook's own.",
    }),
  ),
  thread_id: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,20}$',
      patternHint: 'must be the ID of a thread',
      description: 'The ID of a thread to post into. Default: the channel itself.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

const maxLength = 2000;

export const discordWebhook: Provider<typeof Settings> = {
  name: 'discord-webhook',
  title: 'Discord webhook',
  medium: 'discord',
  summary: 'Posts to one Discord channel.',
  settings: Settings,
  shows: ['formatting'],
  dedupes: false,
  reach: () => 'room',
  open({ url, username, thread_id, timeout_ms }, { outbound }) {
    const target = toRequestUrl(url, thread_id);
    const secrets = [...secretPartsOf(url), ...secretPartsOf(target)];
    return httpSender(({ content }) =>
      sendHttp(outbound, {
        url: target,
        headers: { 'content-type': 'application/json' },
        // Values must not be able to mention everyone.
        body: JSON.stringify({
          content: truncate(toMarkdown(content), maxLength),
          username,
          allowed_mentions: { parse: [] },
        }),
        timeoutMs: timeout_ms,
        secrets,
        id: ({ json }) => pick(json, 'id'),
        errorText: ({ json }) => pick(json, 'message'),
        classify: ({ status, json }) => {
          const wait = status === 429 ? readRetryAfter(pick(json, 'retry_after')) : undefined;
          return wait === undefined ? undefined : { retry: true, retryAfterSeconds: wait };
        },
      }),
    );
  },
};

/**
 * With `wait` the response says whether the message was stored, and contains its id. The URLs that Discord shows have no
 * version and select one whose `retry_after` is in milliseconds, so the version is added.
 */
function toRequestUrl(url: string, threadId: string | undefined): string {
  const target = new URL(url);
  target.pathname = target.pathname.replace(/^\/api\/webhooks\//, '/api/v10/webhooks/');
  target.searchParams.set('wait', 'true');
  if (threadId) target.searchParams.set('thread_id', threadId);
  return target.href;
}
