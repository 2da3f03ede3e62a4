/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
import { optionalString } from '../../../core/optional.ts';
import type { Content } from '../../../core/render/render.ts';
import { toMarkdown, truncate } from '../../chat-text.ts';
import { secretPartsOf, secretUrl, TimeoutMs } from '../../fields.ts';
import { fileField, toForm } from '../../http-files.ts';
import {
  type Failure,
  field,
  type HttpSend,
  type ProviderAnswer,
  pick,
  readRetryAfter,
  sendHttp,
} from '../../http-outcome.ts';
import { maxCharacters } from '../../limits.ts';
import { type Provider, settings } from '../../provider.ts';
import { httpSender } from '../../sending.ts';

const Settings = settings({
  url: secretUrl('The webhook URL, from Integrations in the settings of the channel.'),
  username: optionalString({
    minLength: 1,
    maxLength: 80,
    description: "The name that messages are posted under. Default: the webhook's own.",
  }),
  thread_id: optionalString({
    pattern: '^[0-9]{1,20}$',
    patternHint: 'must be the ID of a thread',
    description: 'The ID of a thread to post into. Default: the channel itself.',
  }),
  timeout_ms: TimeoutMs,
});

export const discordWebhook: Provider<typeof Settings> = {
  name: 'discord-webhook',
  title: 'Discord webhook',
  medium: 'discord',
  summary: 'Posts to one Discord channel.',
  settings: Settings,
  credential: { name: 'webhook URL', hint: 'create one under Integrations in the settings of the channel' },
  shows: ['formatting'],
  updates: ['update', 'retract'],
  attaches: true,
  reach: () => 'room',
  check: ({ url, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url,
      timeoutMs,
      secrets: secretPartsOf(url),
      errorText: field('message'),
      classify,
    }),
  open({ url, username, thread_id, timeout_ms }, { outbound }) {
    const target = toRequestUrl(url, thread_id);
    const secrets = [...secretPartsOf(url), ...secretPartsOf(target)];
    const call: Omit<HttpSend, 'url'> = {
      headers: { 'content-type': 'application/json' },
      timeoutMs: timeout_ms,
      secrets,
      errorText: field('message'),
      classify,
    };
    // Values must not be able to mention everyone.
    const toBody = (content: Content) => ({
      content: truncate(toMarkdown(content), maxCharacters.discord.text),
      allowed_mentions: { parse: [] },
    });
    return httpSender(
      ({ content, attachments }) => {
        const json = JSON.stringify({ ...toBody(content), username });
        const form =
          attachments &&
          toForm([['payload_json', json], ...attachments.map((file, i) => fileField(`files[${i}]`, file))]);
        return sendHttp(outbound, {
          ...call,
          url: target,
          headers: { 'content-type': form?.contentType ?? 'application/json' },
          body: form?.body ?? json,
          id: field('id'),
        });
      },
      {
        update: ({ messageId, content }) =>
          sendHttp(outbound, {
            ...call,
            method: 'PATCH',
            url: toMessageUrl(target, messageId),
            body: JSON.stringify({ ...toBody(content), components: [] }),
          }),
        retract: ({ messageId }) =>
          sendHttp(outbound, {
            ...call,
            method: 'DELETE',
            url: toMessageUrl(target, messageId),
            classify: answer => (isUnknownMessage(answer) ? { ok: true } : classify(answer)),
          }),
      },
    );
  },
};

/** The message was deleted; a 404 alone may also mean the webhook. */
function isUnknownMessage({ json }: ProviderAnswer): boolean {
  return pick(json, 'code') === '10008';
}

function toMessageUrl(requestUrl: string, messageId: string): string {
  const target = new URL(requestUrl);
  target.pathname += `/messages/${encodeURIComponent(messageId)}`;
  target.searchParams.delete('wait');
  return target.href;
}

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

/** The webhook was deleted (10015), or its token is wrong (50027). */
const deniedCodes = new Set(['10015', '50027']);

function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (deniedCodes.has(pick(json, 'code') ?? '')) return { retry: false, denied: true };
  const wait = status === 429 ? readRetryAfter(pick(json, 'retry_after')) : undefined;
  return wait === undefined ? undefined : { retry: true, retryAfterSeconds: wait };
}
