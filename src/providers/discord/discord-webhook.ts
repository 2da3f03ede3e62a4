/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
import { Type } from 'typebox';
import type { Content } from '../../core/render/render.ts';
import { cut, headingOf, paragraphs } from '../chat-text.ts';
import { partsOfUrl, secretUrl, TimeoutMs } from '../fields.ts';
import { pick, readRetryAfter, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({
  url: secretUrl("The webhook's address, from Integrations in the settings of the channel."),
  username: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 80,
      description: "The name that messages appear under. Absent: the webhook's own.",
    }),
  ),
  thread_id: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,20}$',
      patternHint: 'must be the number of a thread',
      description: 'A thread of the channel to post into. Absent: the channel itself.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

const longest = 2000;

export const discordWebhook: Provider<typeof Settings> = {
  name: 'discord-webhook',
  title: 'Discord webhook',
  medium: 'discord',
  summary: 'Posts to one Discord channel.',
  settings: Settings,
  dedupes: false,
  reach: () => 'room',
  open({ url, username, thread_id, timeout_ms }, { outbound }) {
    const target = toRequestUrl(url, thread_id);
    const secrets = [...partsOfUrl(url), ...partsOfUrl(target)];
    return stateless(({ content }) =>
      sendHttp(outbound, {
        url: target,
        headers: { 'content-type': 'application/json' },
        // Text from outside must not be able to call everyone.
        body: JSON.stringify({ content: cut(toText(content), longest), username, allowed_mentions: { parse: [] } }),
        timeoutMs: timeout_ms,
        secrets,
        id: ({ json }) => pick(json, 'id'),
        words: ({ json }) => pick(json, 'message'),
        sort: ({ status, json }) => {
          const wait = status === 429 ? readRetryAfter(pick(json, 'retry_after')) : undefined;
          return wait === undefined ? undefined : { retry: true, retryAfterSeconds: wait };
        },
      }),
    );
  },
};

/**
 * With `wait` the answer says whether the message was stored, and what it is called. Addresses as Discord shows them
 * name no version, and mean one that counts the time to wait in milliseconds: hence the version.
 */
function toRequestUrl(url: string, threadId: string | undefined): string {
  const target = new URL(url);
  target.pathname = target.pathname.replace(/^\/api\/webhooks\//, '/api/v10/webhooks/');
  target.searchParams.set('wait', 'true');
  if (threadId) target.searchParams.set('thread_id', threadId);
  return target.href;
}

function toText(content: Content): string {
  const heading = headingOf(content);
  return paragraphs(heading && `**${escapeSigns(heading)}**`, content.markup ?? escapeSigns(content.text));
}

function escapeSigns(text: string): string {
  return text.replace(/[\\*_~`|<>#[\]()]/g, '\\$&');
}
