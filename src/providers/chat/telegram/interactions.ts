/** https://core.telegram.org/bots/api#callbackquery and https://core.telegram.org/bots/api#setwebhook */
import { isObject } from '../../../core/json.ts';
import { truncate } from '../../chat-text.ts';
import { type Fields, parseObject, pick } from '../../feedback/payload.ts';
import { checkSignature } from '../../feedback/signatures.ts';
import { join } from '../../fields.ts';
import { jsonResponse, nothingToSay } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import type { Interaction, InteractionResponse, Interactions } from '../../provider.ts';

export function telegramInteractions(endpoint: string, secretToken = '', anyoneMayAct = false): Interactions {
  return {
    where: 'in Telegram',
    setup: `Register it: curl ${join(endpoint, '/bot<token>/setWebhook')} -d url={url} -d secret_token=<secret_token> -d 'allowed_updates=["callback_query","message"]'`,
    isReady: secretToken !== '',
    anyoneMayAct,
    // Telegram does not say when a button was pressed.
    verify: ({ headers }) =>
      checkSignature(
        headers['x-telegram-bot-api-secret-token'],
        secretToken,
        'the header X-Telegram-Bot-Api-Secret-Token',
      ),
    read(body) {
      const { callback_query: query, message, update_id } = parseObject(body);
      if (isObject(message)) return readCommand(message, update_id);
      const [id, token, user] = [pick(query, 'id'), pick(query, 'data'), pick(query, 'from', 'id')];
      if (id === undefined || token === undefined || user === undefined) return nothingToSay;
      const name = pick(query, 'from', 'username') ?? pick(query, 'from', 'first_name') ?? user;
      // The id of a private chat is that of the user.
      return { token, addresses: [user], name, answerTo: id };
    },
    // A response may contain a call of the Bot API. Without one, the button would keep showing that it is busy.
    answer: async (text, { answerTo = '', command }) =>
      command
        ? replyTo(answerTo, text ?? '')
        : jsonResponse({
            method: 'answerCallbackQuery',
            callback_query_id: answerTo,
            ...(text !== undefined && { text: truncate(text, maxCharacters.telegram.answer), show_alert: true }),
          }),
  };
}

/** Only what a person wrote, and wrote here: not what was forwarded, or posted in the name of a group. */
function readCommand(message: Fields, updateId: unknown): Interaction | InteractionResponse {
  const [, text] = /^\/oncall(?:@\w+)?(?=\s|$)([\s\S]*)$/i.exec(pick(message, 'text') ?? '') ?? [];
  const [user, chat, date] = [pick(message, 'from', 'id'), pick(message, 'chat', 'id'), pick(message, 'date')];
  const { forward_origin, sender_chat } = message;
  if (text === undefined || user === undefined || chat === undefined) return nothingToSay;
  if (forward_origin !== undefined || sender_chat !== undefined) return nothingToSay;
  return {
    command: { text, id: String(updateId), writtenAt: new Date(Number(date) * 1_000) },
    addresses: [user],
    name: pick(message, 'from', 'username') ?? pick(message, 'from', 'first_name') ?? user,
    answerTo: `${chat}/${pick(message, 'message_id')}`,
  };
}

/** A reply is shown in the topic of the message that it answers. */
function replyTo(message: string, text: string): InteractionResponse {
  const [chat_id, message_id] = message.split('/');
  return jsonResponse({
    method: 'sendMessage',
    chat_id,
    text: truncate(text, maxCharacters.telegram.text),
    reply_parameters: { message_id: Number(message_id), allow_sending_without_reply: true },
    link_preview_options: { is_disabled: true },
  });
}
