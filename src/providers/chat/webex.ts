/** https://developer.webex.com/docs/api/v1/messages/create-a-message */
import type { Static } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { isEmail } from '../../core/text/text.ts';
import { toMarkdown, toPlainText, truncateBytes } from '../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import {
  bearer,
  field,
  type HttpSend,
  idInRoom,
  pick,
  readRetryAfter,
  sendHttp,
  splitIdInRoom,
} from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const defaultEndpoint = 'https://webexapis.com/v1';

const Settings = settings({
  token: secretKey('The access token of a bot.'),
  room_id: optionalString({
    minLength: 1,
    maxLength: 256,
    description: 'The ID of the space to post to. Default: the `chat` address of each recipient.',
  }),
  endpoint: endpoint(defaultEndpoint, 'https://api-usgov.webex.com/v1'),
  timeout_ms: TimeoutMs,
});

export const webex: Provider<typeof Settings> = {
  name: 'webex',
  title: 'Webex',
  medium: 'chat',
  summary: 'Messages from a bot. The address is the ID of a space, or the email address of a person.',
  settings: Settings,
  credential: { name: 'access token', hint: 'create one for the bot at developer.webex.com' },
  shows: ['formatting'],
  updates: ['update', 'retract'],
  reads: 'text',
  reach: ({ room_id }) => (room_id ? 'room' : 'address'),
  check: (options, { outbound }) => sendHttp(outbound, { ...toRequest(options, '/people/me'), method: 'GET' }),
  open(options, { outbound }) {
    const { room_id } = options;
    const call = (path: string, more: Partial<HttpSend>) =>
      sendHttp(outbound, {
        ...toRequest(options, `/messages${path}`),
        // 423: the space is locked for a moment, with Retry-After.
        classify: ({ status, headers }) =>
          status === 423 ? { retry: true, retryAfterSeconds: readRetryAfter(headers['retry-after']) ?? 1 } : undefined,
        ...more,
      });
    const toBody = (content: Content) => ({
      markdown: truncateBytes(toMarkdown(content), maxBytes.webex.text),
      // For clients that do not show Markdown.
      text: truncateBytes(toPlainText(content), maxBytes.webex.text),
    });
    return httpSender(
      ({ address, content }) =>
        call('', {
          json: {
            ...(!room_id && isEmail(address) ? { toPersonEmail: address } : { roomId: room_id ?? address }),
            ...toBody(content),
          },
          id: ({ json }) => idInRoom(pick(json, 'roomId'), pick(json, 'id')),
        }),
      {
        update: ({ messageId, address, content }) => {
          const [roomId, id] = splitIdInRoom(messageId, room_id ?? address);
          return call(`/${encodeURIComponent(id)}`, { method: 'PUT', json: { roomId, ...toBody(content) } });
        },
        retract: ({ messageId, address }) => {
          const [, id] = splitIdInRoom(messageId, room_id ?? address);
          return call(`/${encodeURIComponent(id)}`, {
            method: 'DELETE',
            classify: ({ status }) => (status === 404 ? { ok: true } : undefined),
          });
        },
      },
    );
  },
};

function toRequest({ token, endpoint = defaultEndpoint, timeout_ms }: Static<typeof Settings>, path: string): HttpSend {
  return { ...bearer(token), url: join(endpoint, path), timeoutMs: timeout_ms, errorText: field('message') };
}
