/** https://core.telegram.org/bots/api#sendmessage */
import { Type } from 'typebox';
import type { Content } from '../../core/render/render.ts';
import { cut, escapeAngles, headingOf, paragraphs } from '../chat-text.ts';
import { endpoint, join, TimeoutMs } from '../fields.ts';
import { type Answer, pick, readRetryAfter, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const usual = 'https://api.telegram.org';

const Settings = settings({
  token: Type.String({
    secret: true,
    pattern: '^[0-9]{1,20}:[A-Za-z0-9_-]{20,64}$',
    patternHint: 'must be a number, a colon and the rest, as @BotFather gives it',
    description: 'The token of the bot, from @BotFather. People must start the bot before it may write to them.',
  }),
  link_preview: Type.Optional(
    Type.Boolean({ description: 'Whether Telegram shows a preview of the first link. Absent: no.' }),
  ),
  endpoint: endpoint(usual, 'a Bot API server of your own'),
  timeout_ms: TimeoutMs,
});

/** Of what is shown, without the marks. */
const longest = 4096;

/**
 * Whoever blocked the bot, threw it out or closed the account will not be reached again. Other kinds of 403 come and
 * go, and "chat not found" is also said of people who have yet to start the bot.
 */
const gone = /blocked by the user|user is deactivated|bot was kicked|group chat was deleted|group is deactivated/i;

export const telegramBot: Provider<typeof Settings> = {
  name: 'telegram-bot',
  title: 'Telegram bot',
  medium: 'telegram',
  summary: 'Messages from a bot. The address is a chat ID.',
  settings: Settings,
  dedupes: false,
  open({ token, link_preview = false, endpoint = usual, timeout_ms }, { outbound }) {
    return stateless(async ({ address, content }) => {
      let answer: Answer | undefined;
      const post = (chat: string, text: object) =>
        sendHttp(outbound, {
          url: join(endpoint, `/bot${token}/sendMessage`),
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ chat_id: chat, ...text, link_preview_options: { is_disabled: !link_preview } }),
          timeoutMs: timeout_ms,
          secrets: [token, token.split(':')[1]],
          id: ({ json }) => pick(json, 'result', 'message_id'),
          words: ({ json }) => pick(json, 'description'),
          sort: given => {
            answer = given;
            return sort(given);
          },
        });

      const outcome = await post(address, toText(content));
      if (outcome.ok || !answer) return outcome;
      // Nothing was sent. A group that grew has a new id, and marks that Telegram cannot read can be left away.
      const moved = pick(answer.json, 'parameters', 'migrate_to_chat_id');
      if (moved) return post(moved, toText(content));
      if (/can't parse entities/i.test(outcome.reason)) return post(address, toPlainText(content));
      return outcome;
    });
  },
};

function sort({ status, json }: Answer): { retry: boolean; retryAfterSeconds?: number; gone?: true } | undefined {
  const wait = status === 429 ? readRetryAfter(pick(json, 'parameters', 'retry_after')) : undefined;
  if (wait !== undefined) return { retry: true, retryAfterSeconds: wait };
  return status < 500 && gone.test(pick(json, 'description') ?? '') ? { retry: false, gone: true } : undefined;
}

/** What is shown must not be too long; marks cannot be cut, so a message that is gets none. */
function toText(content: Content): { text: string; parse_mode?: 'HTML' } {
  const heading = headingOf(content);
  const title = heading && `<b>${escapeAngles(heading)}</b>`;
  const text = paragraphs(title, content.markup ?? escapeAngles(content.text));
  const shown = text.replace(/<[^>]*>/g, '').replace(/&\w+;/g, '&');
  return shown.length > longest ? toPlainText(content) : { text, parse_mode: 'HTML' };
}

function toPlainText(content: Content): { text: string } {
  return { text: cut(paragraphs(headingOf(content), content.text), longest) };
}
