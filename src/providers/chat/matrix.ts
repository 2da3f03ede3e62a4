/** https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid */

import { optionalBoolean, optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { escapeAngles } from '../../core/text/text.ts';
import { headingOf, toPlainText, truncateBytes } from '../chat-text.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { uploadFailure } from '../http-files.ts';
import { bearer, field, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { type Attachment, httpSender, type Outcome, type Outgoing } from '../sending.ts';

const Settings = settings({
  server_url: serverUrl('The URL of the homeserver.', 'https://matrix.acme.test'),
  access_token: secretKey('The access token of the user who posts.'),
  room_id: optionalString({
    maxLength: 255,
    pattern: '^!\\S+$',
    patternHint: 'must be a room ID, which starts with !',
    description: 'The room to post to. Default: the `chat` address of each recipient.',
  }),
  notice: optionalBoolean({
    description: 'Whether to send notices, which other bots ignore, instead of texts. Default: false.',
  }),
  timeout_ms: TimeoutMs,
});

/** Without this field, servers look for names in the text, and `@room` notifies everyone. */
const noMentions = { 'm.mentions': {} };

export const matrix: Provider<typeof Settings> = {
  name: 'matrix',
  title: 'Matrix',
  medium: 'chat',
  summary: 'Posts to rooms of Matrix. The address is a room ID.',
  settings: Settings,
  credential: { name: 'access token', hint: 'sign in as the user who posts to get a new one' },
  shows: ['formatting'],
  // By the transaction ID.
  dedupes: true,
  updates: ['update', 'retract'],
  attaches: true,
  reach: ({ room_id }) => (room_id ? 'room' : 'address'),
  check: ({ server_url, access_token, timeout_ms }, { outbound }) =>
    sendHttp(outbound, {
      ...bearer(access_token),
      method: 'GET',
      url: join(server_url, '/_matrix/client/v3/account/whoami'),
      timeoutMs: timeout_ms,
      errorText: field('errcode'),
      classify,
    }),
  open({ server_url, access_token, room_id, notice = false, timeout_ms }, { outbound }) {
    const call = {
      ...bearer(access_token),
      timeoutMs: timeout_ms,
      errorText: ({ json }: ProviderAnswer) =>
        [pick(json, 'errcode'), pick(json, 'error')].filter(Boolean).join(' ') || undefined,
      classify,
    };
    // The server stores an event once for each transaction id, so that a retry repeats nothing.
    const put = async (address: string, rest: string[], body: object): Promise<Outcome> => {
      const path = ['rooms', room_id ?? address, ...rest].map(encodeURIComponent).join('/');
      return sendHttp(outbound, {
        ...call,
        method: 'PUT',
        url: join(server_url, `/_matrix/client/v3/${path}`),
        json: body,
        id: field('event_id'),
      });
    };
    const toEvent = (content: Content) => ({
      msgtype: notice ? 'm.notice' : 'm.text',
      ...toBody(content),
      ...noMentions,
    });

    /** Returns the URI of a file that no room has yet. */
    const upload = async (attachment: Attachment): Promise<Outcome> => {
      const { name, contentType, file } = attachment;
      const uploaded = await sendHttp(outbound, {
        ...call,
        url: join(server_url, `/_matrix/media/v3/upload?filename=${encodeURIComponent(name)}`),
        headers: { ...call.headers, 'content-type': contentType },
        body: file.bytes,
        id: field('content_uri'),
      });
      return uploaded.ok ? uploaded : uploadFailure(uploaded, attachment);
    };

    const send = async ({ id, address, content, attachments = [] }: Outgoing): Promise<Outcome> => {
      if (!(room_id ?? address).startsWith('!'))
        return { ok: false, retry: false, reason: 'the address is not a room ID, which starts with !' };
      const uris: string[] = [];
      for (const attachment of attachments) {
        const uploaded = await upload(attachment);
        if (!uploaded.ok) return uploaded;
        uris.push(uploaded.id ?? '');
      }
      const post = (transaction: string, event: object) => put(address, ['send', 'm.room.message', transaction], event);
      const outcome = await post(id, toEvent(content));
      if (!outcome.ok) return outcome;
      for (const [i, attachment] of attachments.entries()) {
        const sent = await post(`${id}.${i}`, toFile(attachment, uris[i]!));
        if (!sent.ok) return sent;
      }
      return outcome;
    };

    return httpSender(send, {
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

function toFile({ name, contentType, file }: Attachment, url: string): object {
  const msgtype = contentType.startsWith('image/') ? 'm.image' : 'm.file';
  const info = { mimetype: contentType, size: file.bytes.length };
  return { msgtype, body: name, filename: name, url, info, ...noMentions };
}

function toBody(content: Content): { body: string; format?: string; formatted_body?: string } {
  const body = truncateBytes(toPlainText(content), maxBytes.matrix.text);
  const heading = headingOf(content);
  // Matrix allows no styles.
  const html = content.html?.replace(/ (?:style|class)="[^"]*"/g, '').trim() ?? '';
  const formatted = heading && html ? `<p><strong>${escapeAngles(heading)}</strong></p>${html}` : html;
  if (!formatted || Buffer.byteLength(formatted) > maxBytes.matrix.text) return { body };
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
