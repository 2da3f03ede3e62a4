/** https://core.telegram.org/bots/api#callbackquery and https://core.telegram.org/bots/api#setwebhook */
import { truncate } from '../../chat-text.ts';
import { parseObject, pick } from '../../feedback/payload.ts';
import { checkSignature } from '../../feedback/signatures.ts';
import { join } from '../../fields.ts';
import { jsonResponse, nothingToSay } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import type { Interactions } from '../../provider.ts';

export function telegramInteractions(endpoint: string, secretToken = '', anyoneMayAct = false): Interactions {
  return {
    where: 'in Telegram',
    setup: `Register it: curl ${join(endpoint, '/bot<token>/setWebhook')} -d url={url} -d secret_token=<secret_token> -d 'allowed_updates=["callback_query"]'`,
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
      const { callback_query: query } = parseObject(body);
      const [id, token, user] = [pick(query, 'id'), pick(query, 'data'), pick(query, 'from', 'id')];
      if (id === undefined || token === undefined || user === undefined) return nothingToSay;
      const name = pick(query, 'from', 'username') ?? pick(query, 'from', 'first_name') ?? user;
      // The id of a private chat is that of the user.
      return { token, addresses: [user], name, answerTo: id };
    },
    // A response may contain a call of the Bot API. Without one, the button would keep showing that it is busy.
    answer: async (text, { answerTo }) =>
      jsonResponse({
        method: 'answerCallbackQuery',
        callback_query_id: answerTo,
        ...(text !== undefined && { text: truncate(text, maxCharacters.telegram.answer), show_alert: true }),
      }),
  };
}
