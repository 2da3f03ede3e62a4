/** https://zulip.com/api/send-message */
import { type Static, Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { toMarkdown, truncate } from '../chat-text.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { basic, busy, field, type HttpSend, pick, readRetryAfter, sendHttp } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender, type Sender } from '../sending.ts';

const Settings = settings({
  server_url: serverUrl('The URL of your Zulip organization.', 'https://acme.zulipchat.com'),
  bot_email: Type.String({
    format: 'email',
    maxLength: 320,
    description: 'The email address of the bot.',
    examples: ['belfry-bot@acme.zulipchat.com'],
  }),
  api_key: secretKey('The API key of the bot.'),
  channel: optionalString({
    minLength: 1,
    maxLength: 60,
    description: 'The channel to post to. Default: a direct message to the `chat` address of each recipient.',
  }),
  topic: optionalString({
    minLength: 1,
    maxLength: 60,
    description: 'The topic in the channel. Default: the title of each message.',
  }),
  timeout_ms: TimeoutMs,
});

const max = maxCharacters.zulip;

export const zulip: Provider<typeof Settings> = {
  name: 'zulip',
  title: 'Zulip',
  medium: 'chat',
  summary: 'Posts to a channel of Zulip, or to users. The address is the email address or the ID of a user.',
  settings: Settings,
  credential: {
    name: 'bot email or API key',
    hint: 'copy both from the settings of the bot',
    fields: ['bot_email', 'api_key'],
  },
  shows: ['formatting'],
  updates: ['update', 'retract'],
  reads: 'text',
  reach: ({ channel }) => (channel ? 'room' : 'address'),
  check: (options, { outbound }) => sendHttp(outbound, { ...toRequest(options, '/users/me'), method: 'GET' }),
  open(options, { outbound }) {
    const { channel, topic } = options;
    const call = (path: string, form: Record<string, string>, more: Partial<HttpSend> = {}) =>
      sendHttp(outbound, {
        ...toRequest(options, `/messages${path}`),
        form,
        classify: ({ status, json }) => {
          if (pick(json, 'code') === 'RATE_LIMIT_HIT') return busy(readRetryAfter(pick(json, 'retry-after')));
          return status < 300 && pick(json, 'result') === 'error' ? { retry: false } : undefined;
        },
        ...more,
      });
    const send: Sender['send'] = ({ address, content }) => {
      const destination: Record<string, string> = channel
        ? { type: 'stream', to: channel, topic: truncate(topic ?? (content.title || 'Belfry'), max.topic) }
        : { type: 'direct', to: JSON.stringify([/^\d{1,15}$/.test(address) ? Number(address) : address]) };
      const form = { ...destination, content: toText(content) };
      return call('', form, { id: field('id') });
    };
    return httpSender(send, {
      update: ({ messageId, content }) =>
        call(`/${encodeURIComponent(messageId)}`, { content: toText(content) }, { method: 'PATCH' }),
      retract: ({ messageId }) => call(`/${encodeURIComponent(messageId)}`, {}, { method: 'DELETE' }),
    });
  },
};

/** A slash at the start would be a command, such as one that turns the message into a poll. */
function toText(content: Content): string {
  return truncate(toMarkdown(content).replace(/^\s*\//, '\u200b/'), max.text);
}

function toRequest({ server_url, bot_email, api_key, timeout_ms }: Static<typeof Settings>, path: string): HttpSend {
  return {
    ...basic(bot_email, api_key),
    url: join(server_url, `/api/v1${path}`),
    timeoutMs: timeout_ms,
    errorText: field('msg'),
  };
}
