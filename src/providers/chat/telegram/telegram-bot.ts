/** https://core.telegram.org/bots/api#sendmessage */

import { Type } from 'typebox';
import { optionalBoolean, optionalString } from '../../../core/optional.ts';
import type { Content } from '../../../core/render/render.ts';
import { escapeAngles } from '../../../core/text/text.ts';
import { breakMentions, headingOf, paragraphs, truncate } from '../../chat-text.ts';
import { endpoint, join, TimeoutMs } from '../../fields.ts';
import { type FormField, fileField, partFailure, toForm } from '../../http-files.ts';
import {
  type Failure,
  field,
  type HttpSend,
  idInRoom,
  type ProviderAnswer,
  pick,
  readRetryAfter,
  sendHttp,
  splitIdInRoom,
} from '../../http-outcome.ts';
import { anyoneMayAct, type ShownButton, shownButtons } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import { type Provider, settings } from '../../provider.ts';
import { type Attachment, httpSender, type Outcome, type Sender, type SentMessage } from '../../sending.ts';
import { telegramInteractions } from './interactions.ts';

const defaultEndpoint = 'https://api.telegram.org';

const Settings = settings({
  token: Type.String({
    secret: true,
    pattern: '^[0-9]{1,20}:[A-Za-z0-9_-]{20,64}$',
    patternHint: 'must be a bot token as @BotFather shows it: a number, a colon and a key',
    description: 'The bot token, from @BotFather. Users must start the bot before it can message them.',
  }),
  secret_token: optionalString({
    secret: true,
    pattern: '^[A-Za-z0-9_-]{16,256}$',
    patternHint: 'must be 16 to 256 letters, digits, dashes and underscores',
    description:
      'A secret of your choice that you also give to setWebhook: it verifies that a button was pressed in Telegram. Without it, buttons only open pages.',
  }),
  anyone_may_act: anyoneMayAct,
  link_preview: optionalBoolean({ description: 'Whether Telegram shows a preview of the first link. Default: false.' }),
  endpoint: endpoint(defaultEndpoint, 'your own Bot API server'),
  timeout_ms: TimeoutMs,
});

const max = maxCharacters.telegram;

interface Keyboard {
  reply_markup?: object;
}

interface Text {
  text: string;
  parse_mode?: 'HTML';
}

/**
 * A user who blocked or removed the bot, or closed the account, cannot be reached again. Other 403 errors are temporary,
 * and "chat not found" is also returned for users who have yet to start the bot.
 */
const goneDescription =
  /blocked by the user|user is deactivated|bot was kicked|group chat was deleted|group is deactivated/i;

export const telegramBot: Provider<typeof Settings> = {
  name: 'telegram-bot',
  title: 'Telegram bot',
  medium: 'telegram',
  summary: 'Messages from a bot. The address is a chat ID.',
  settings: Settings,
  credential: { name: 'bot token', hint: 'send /token to @BotFather to see or renew it', fields: ['token'] },
  shows: ['formatting', 'buttons'],
  updates: ['update', 'retract'],
  attaches: true,
  check: ({ token, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: join(endpoint, `/bot${token}/getMe`),
      headers: {},
      timeoutMs,
      secrets: [token, token.split(':')[1]],
      errorText: field('description'),
      classify,
    }),
  interactions: ({ endpoint = defaultEndpoint, secret_token, anyone_may_act }) =>
    telegramInteractions(endpoint, secret_token, anyone_may_act),
  open({ token, secret_token, link_preview = false, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const call = (
      method: string,
      body: object | ReturnType<typeof toForm>,
      decide: HttpSend['classify'] = classify,
    ) => {
      const form = 'contentType' in body ? body : undefined;
      return sendHttp(outbound, {
        url: join(endpoint, `/bot${token}/${method}`),
        headers: { 'content-type': form?.contentType ?? 'application/json' },
        body: form?.body ?? JSON.stringify(body),
        timeoutMs: timeout_ms,
        secrets: [token, token.split(':')[1]],
        id: ({ json }) => {
          // The text of an album belongs to its last file.
          const results = (json as { result?: unknown } | undefined)?.result;
          const message = Array.isArray(results) ? results.at(-1) : results;
          return idInRoom(pick(message, 'chat', 'id'), pick(message, 'message_id'));
        },
        errorText: field('description'),
        classify: decide,
      });
    };
    const previews = { link_preview_options: { is_disabled: !link_preview } };
    const unless = (description: RegExp) => (answer: ProviderAnswer) =>
      description.test(pick(answer.json, 'description') ?? '') ? ({ ok: true } as const) : classify(answer);
    const find = ({ messageId, address }: SentMessage) => {
      const [chat_id, id] = splitIdInRoom(messageId, address);
      return { chat_id, message_id: Number(id) };
    };
    const updates: Pick<Sender, 'update' | 'retract'> = {
      // Without `reply_markup`, the buttons are removed.
      update: async sent => {
        const isDone = unless(/message is not modified/i);
        const edit = async (text: Text): Promise<Outcome> => {
          const outcome = await call('editMessageText', { ...find(sent), ...text, ...previews }, isDone);
          if (outcome.ok || !/no text in the message/i.test(outcome.reason)) return outcome;
          // A file with a caption.
          const { text: caption, ...mode } = text;
          return call('editMessageCaption', { ...find(sent), caption, ...mode }, isDone);
        };
        const outcome = await edit(toText(sent.content));
        const isRefused = !outcome.ok && /can't parse entities/i.test(outcome.reason);
        return isRefused ? edit(toPlainText(sent.content)) : outcome;
      },
      retract: sent => call('deleteMessage', find(sent), unless(/message to delete not found/i)),
    };

    return httpSender(async ({ address, content, buttons, attachments }) => {
      const keyboard = toKeyboard(
        shownButtons(buttons, { callbacks: secret_token !== undefined, maxLabel: max.label }),
      );
      let answer: ProviderAnswer | undefined;
      const read = (response: ProviderAnswer) => {
        answer = response;
        return classify(response);
      };
      const sendText = (chat: string, text: Text, more: Keyboard) =>
        call('sendMessage', { chat_id: chat, ...text, ...previews, ...more }, read);
      const sendFiles = (chat: string, files: readonly Attachment[], caption?: Text, more: Keyboard = {}) => {
        const { method, fields } = toFiles(files, caption);
        const keys: FormField[] = more.reply_markup ? [['reply_markup', JSON.stringify(more.reply_markup)]] : [];
        return call(method, toForm([['chat_id', chat], ...fields, ...keys]), read);
      };
      const post = async (chat: string, text: Text, more: Keyboard = keyboard): Promise<Outcome> => {
        if (!attachments) return sendText(chat, text, more);
        // A short text is the caption of the files, so that all of it is one message. An album has no buttons.
        const isOne = attachments.length === 1 || !more.reply_markup;
        if (isOne && visibleLength(text) <= max.caption) return sendFiles(chat, attachments, text, more);
        const first = await sendText(chat, text, more);
        if (!first.ok) return first;
        const files = await sendFiles(chat, attachments);
        return files.ok ? first : partFailure(files);
      };

      const outcome = await post(address, toText(content));
      if (outcome.ok || !answer) return outcome;
      // Nothing was sent. A group that became a supergroup has a new id, and markup that Telegram rejects can be omitted.
      const moved = pick(answer.json, 'parameters', 'migrate_to_chat_id');
      if (moved) return post(moved, toText(content));
      if (/can't parse entities/i.test(outcome.reason)) return post(address, toPlainText(content));
      // Telegram refuses links to hosts that are not on the internet.
      if (keyboard.reply_markup && /button/i.test(outcome.reason)) return post(address, toText(content), {});
      return outcome;
    }, updates);
  },
};

function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status < 300) return (json as { ok?: unknown } | undefined)?.ok === false ? { retry: false } : undefined;
  const wait = status === 429 ? readRetryAfter(pick(json, 'parameters', 'retry_after')) : undefined;
  if (wait !== undefined) return { retry: true, retryAfterSeconds: wait };
  // A token that is not one: there is no such path. Other things that are not found are a 400.
  if (status === 404) return { retry: false, denied: true };
  return status < 500 && goneDescription.test(pick(json, 'description') ?? '')
    ? { retry: false, gone: true }
    : undefined;
}

/** https://core.telegram.org/bots/api#inlinekeyboardmarkup, two buttons in a row. */
function toKeyboard(buttons: readonly ShownButton[]): Keyboard {
  if (buttons.length === 0) return {};
  const keys = buttons.map(({ label, token, url }) =>
    token === undefined ? { text: label, url } : { text: label, callback_data: token },
  );
  const rows = keys.flatMap((_, i) => (i % 2 === 0 ? [keys.slice(i, i + 2)] : []));
  return { reply_markup: { inline_keyboard: rows } };
}

/** The visible text is limited. Markup cannot be truncated, so a text that is too long gets none. */
function toText(content: Content): Text {
  const heading = headingOf(content);
  const title = heading && `<b>${escapeAngles(heading)}</b>`;
  const text = breakMentions(paragraphs(title, content.markup ?? escapeAngles(content.text)));
  const formatted: Text = { text, parse_mode: 'HTML' };
  return visibleLength(formatted) > max.text ? toPlainText(content) : formatted;
}

function visibleLength({ text, parse_mode }: Text): number {
  return parse_mode ? text.replace(/<[^>]*>/g, '').replace(/&\w+;/g, '&').length : text.length;
}

/** Several files are an album, which Telegram shows as one message. An album of documents has no pictures. */
function toFiles(files: readonly Attachment[], caption: Text | undefined): { method: string; fields: FormField[] } {
  const captionFields = caption && {
    caption: caption.text,
    ...(caption.parse_mode && { parse_mode: caption.parse_mode }),
  };
  const [only] = files;
  if (files.length === 1) {
    const kind = /^image\/(jpeg|png)$/.test(only!.contentType) ? 'photo' : 'document';
    const method = kind === 'photo' ? 'sendPhoto' : 'sendDocument';
    return { method, fields: [...Object.entries(captionFields ?? {}), fileField(kind, only!)] };
  }
  const media = files.map((_, i) => ({
    type: 'document',
    media: `attach://file${i}`,
    ...(i === files.length - 1 && captionFields),
  }));
  const fields = files.map((file, i) => fileField(`file${i}`, file));
  return { method: 'sendMediaGroup', fields: [['media', JSON.stringify(media)], ...fields] };
}

function toPlainText(content: Content): Text {
  return { text: truncate(breakMentions(paragraphs(headingOf(content), content.text)), max.text) };
}
