/** https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid */
import { Type } from 'typebox';
import type { Content } from '../../core/render/render.ts';
import { escapeAngles, headingOf, toPlainText, truncateBytes } from '../chat-text.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender, type Outcome } from '../sending.ts';

const Settings = settings({
  server_url: serverUrl('The URL of the homeserver.', 'https://matrix.acme.test'),
  access_token: secretKey('The access token of the user who posts.'),
  room_id: Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^!\\S+$',
      patternHint: 'must be a room ID, which starts with !',
      description: 'The room to post to. Default: the `chat` address of each recipient.',
    }),
  ),
  notice: Type.Optional(
    Type.Boolean({
      description: 'Whether to send notices, which other bots ignore, instead of texts. Default: false.',
    }),
  ),
  timeout_ms: TimeoutMs,
});

/** An event may have 65,536 bytes in all. */
const maxBytes = 20_000;

export const matrix: Provider<typeof Settings> = {
  name: 'matrix',
  title: 'Matrix',
  medium: 'chat',
  summary: 'Posts to rooms of Matrix. The address is a room ID.',
  settings: Settings,
  shows: ['formatting'],
  // By the transaction ID.
  dedupes: true,
  updates: ['update', 'retract'],
  reach: ({ room_id }) => (room_id ? 'room' : 'address'),
  open({ server_url, access_token, room_id, notice = false, timeout_ms }, { outbound }) {
    const put = async (address: string, rest: string[], body: object): Promise<Outcome> => {
      const room = room_id ?? address;
      if (!room.startsWith('!'))
        return { ok: false, retry: false, reason: 'the address is not a room ID, which starts with !' };
      const path = ['rooms', room, ...rest].map(encodeURIComponent).join('/');
      return sendHttp(outbound, {
        method: 'PUT',
        url: join(server_url, `/_matrix/client/v3/${path}`),
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        timeoutMs: timeout_ms,
        secrets: [access_token],
        id: ({ json }) => pick(json, 'event_id'),
        errorText: ({ json }) => [pick(json, 'errcode'), pick(json, 'error')].filter(Boolean).join(' ') || undefined,
        classify,
      });
    };
    const toEvent = (content: Content) => ({ msgtype: notice ? 'm.notice' : 'm.text', ...toBody(content) });
    return httpSender(({ id, address, content }) => put(address, ['send', 'm.room.message', id], toEvent(content)), {
      update: ({ id, address, content, messageId, change }) => {
        const event = toEvent(content);
        // Clients without replacements show the asterisk.
        return put(address, ['send', 'm.room.message', `${id}.${change}`], {
          ...event,
          body: `* ${event.body}`,
          'm.new_content': event,
          'm.relates_to': { rel_type: 'm.replace', event_id: messageId },
        });
      },
      retract: ({ id, address, messageId, change }) => put(address, ['redact', messageId, `${id}.${change}`], {}),
    });
  },
};

function toBody(content: Content): { body: string; format?: string; formatted_body?: string } {
  const body = truncateBytes(toPlainText(content), maxBytes);
  const heading = headingOf(content);
  // Matrix allows no styles.
  const html = content.html?.replace(/ (?:style|class)="[^"]*"/g, '').trim() ?? '';
  const formatted = heading && html ? `<p><strong>${escapeAngles(heading)}</strong></p>${html}` : html;
  if (!formatted || Buffer.byteLength(formatted) > maxBytes) return { body };
  return { body, format: 'org.matrix.custom.html', formatted_body: formatted };
}

function classify({ status, json }: ProviderAnswer) {
  const code = pick(json, 'errcode');
  if (code === 'M_LIMIT_EXCEEDED') {
    // Older servers send no Retry-After.
    const waitMs = Number(pick(json, 'retry_after_ms'));
    return waitMs >= 0 ? { retry: true, retryAfterSeconds: Math.ceil(waitMs / 1000) } : { retry: true };
  }
  if (code === 'M_UNKNOWN_TOKEN' || code === 'M_MISSING_TOKEN') return { retry: false, denied: true as const };
  return status === 403 && code === 'M_USER_DEACTIVATED' ? { retry: false, denied: true as const } : undefined;
}
