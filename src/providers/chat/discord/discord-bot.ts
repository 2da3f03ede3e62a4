/** https://discord.com/developers/docs/resources/message#create-message, as a bot. */
import type { Static } from 'typebox';
import { optionalString } from '../../../core/optional.ts';
import type { Content } from '../../../core/render/render.ts';
import { toMarkdown, truncate } from '../../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs } from '../../fields.ts';
import {
  bearer,
  type Failure,
  field,
  type HttpSend,
  idInRoom,
  type ProviderAnswer,
  pick,
  readRetryAfter,
  sendHttp,
  splitIdInRoom,
  toReason,
} from '../../http-outcome.ts';
import { anyoneMayAct, shownButtons } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import { type Provider, settings } from '../../provider.ts';
import { httpSender, type Outcome, type Outgoing, type SentMessage } from '../../sending.ts';
import { discordInteractions, toComponents } from './interactions.ts';

const defaultEndpoint = 'https://discord.com/api/v10';

const snowflake = '^[0-9]{1,20}$';

const Settings = settings({
  token: secretKey('The token of the bot.'),
  channel_id: optionalString({
    pattern: snowflake,
    patternHint: 'must be the ID of a channel',
    description:
      'The ID of the channel to post to. Default: a direct message to the `discord` address of each recipient.',
  }),
  public_key: optionalString({
    pattern: '^[0-9a-fA-F]{64}$',
    patternHint: 'must be 64 hexadecimal digits',
    description:
      'The public key of the application, which verifies that a button was pressed in Discord. Without it, buttons only open pages.',
  }),
  anyone_may_act: anyoneMayAct,
  endpoint: endpoint(defaultEndpoint, 'that of a proxy'),
  timeout_ms: TimeoutMs,
});

/** Unknown user (10013), and a user who cannot be messaged: a closed account, or no server in common (50007). */
const goneCodes = new Set(['10013', '50007']);

/** The message was deleted. */
const unknownMessage = '10008';

const invalidForm = 'Invalid Form Body';

/** Direct channels never change, but few are needed again soon. */
const maxCached = 10_000;

export const discordBot: Provider<typeof Settings> = {
  name: 'discord-bot',
  title: 'Discord bot',
  medium: 'discord',
  summary: 'Direct messages, or posts to one channel, from a bot. The address is a user ID.',
  settings: Settings,
  credential: { name: 'bot token', hint: 'reset and copy it in the developer portal, under Bot' },
  shows: ['formatting', 'buttons'],
  updates: ['update', 'retract'],
  reach: ({ channel_id }) => (channel_id ? 'room' : 'address'),
  accepts: (address, { channel_id }) => channel_id !== undefined || new RegExp(snowflake).test(address),
  interactions: ({ public_key, anyone_may_act = false }) => discordInteractions(public_key, anyone_may_act),
  check: (options, { outbound }) => sendHttp(outbound, { ...toRequest(options, '/users/@me'), method: 'GET' }),
  open(options, { outbound }) {
    const { token, channel_id, public_key } = options;
    const directChannels = new Map<string, string>();
    const call = (path: string, json: object | undefined, more: Partial<HttpSend> = {}): Promise<Outcome> =>
      sendHttp(outbound, { ...toRequest(options, path), json, id: field('id'), ...more });
    // Values must not be able to mention everyone.
    const toBody = (content: Content) => ({
      content: truncate(toMarkdown(content), maxCharacters.discord.text),
      allowed_mentions: { parse: [] },
    });
    const pathOf = ({ messageId }: SentMessage) => {
      const [room, id] = splitIdInRoom(messageId, channel_id ?? '');
      return `/channels/${encodeURIComponent(room)}/messages/${encodeURIComponent(id)}`;
    };

    /** Returns the id of the direct channel with a user. Creating one again returns the same. */
    const openDirect = async (user: string): Promise<Outcome> => {
      const cached = directChannels.get(user);
      if (cached) return { ok: true, id: cached };
      const opened = await call('/users/@me/channels', { recipient_id: user });
      if (!opened.ok) {
        // Nothing was sent.
        const { unknown: _, ...failure } = opened;
        return { ...failure, reason: toReason(`opening a direct channel: ${failure.reason}`, [token]) };
      }
      if (!opened.id) return { ok: false, retry: true, reason: 'Discord returned no channel' };
      if (directChannels.size >= maxCached) directChannels.clear();
      directChannels.set(user, opened.id);
      return opened;
    };

    const send = async ({ address, content, buttons }: Outgoing) => {
      const room: Outcome = channel_id ? { ok: true, id: channel_id } : await openDirect(address);
      if (!room.ok) return room;
      const components = toComponents(
        shownButtons(buttons, { callbacks: public_key !== undefined, maxLabel: maxCharacters.discord.label }),
      );
      const post = (body: object) =>
        call(`/channels/${room.id}/messages`, body, { id: ({ json }) => idInRoom(room.id, pick(json, 'id')) });
      const outcome = await post({ ...toBody(content), ...components });
      const isRefused = !outcome.ok && outcome.reason.includes(invalidForm);
      // A message is worth more than its buttons, one of which may have a link that Discord does not accept.
      return isRefused && components.components ? post(toBody(content)) : outcome;
    };
    return httpSender(send, {
      update: sent => call(pathOf(sent), { ...toBody(sent.content), components: [] }, { method: 'PATCH' }),
      retract: sent =>
        call(pathOf(sent), undefined, {
          method: 'DELETE',
          classify: answer => (pick(answer.json, 'code') === unknownMessage ? { ok: true } : classify(answer)),
        }),
    });
  },
};

function toRequest({ token, endpoint = defaultEndpoint, timeout_ms }: Static<typeof Settings>, path: string): HttpSend {
  const url = join(endpoint, path);
  return { ...bearer(token, 'Bot'), url, timeoutMs: timeout_ms, errorText: field('message'), classify };
}

function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  const wait = status === 429 ? readRetryAfter(pick(json, 'retry_after')) : undefined;
  if (wait !== undefined) return { retry: true, retryAfterSeconds: wait };
  return goneCodes.has(pick(json, 'code') ?? '') ? { retry: false, gone: true } : undefined;
}
