/** https://api.mattermost.com/#tag/posts/operation/CreatePost, as a bot. */
import type { Static } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { escapeMarkdown, paragraphs, toMarkdown, truncate, withoutMentions } from '../chat-text.ts';
import { parseObject } from '../feedback/payload.ts';
import { genuine } from '../feedback/signatures.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import {
  bearer,
  busy,
  type Failure,
  field,
  type HttpSend,
  type ProviderAnswer,
  pick,
  readRetryAfter,
  sendHttp,
} from '../http-outcome.ts';
import { anyoneMayAct, jsonResponse, nothingToSay, shownButtons } from '../interactions.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender, type Outgoing } from '../sending.ts';
import { mattermostGroup, mattermostGroupId } from './mattermost-groups.ts';

const Settings = settings({
  server_url: serverUrl('The URL of your Mattermost server.', 'https://mattermost.acme.test'),
  token: secretKey('The access token of a bot account.'),
  channel_id: optionalString({
    pattern: '^[a-z0-9]{26}$',
    patternHint: 'must be the ID of a channel, 26 letters and digits',
    description: 'The ID of the channel to post to. Default: the `chat` address of each recipient.',
  }),
  anyone_may_act: anyoneMayAct,
  timeout_ms: TimeoutMs,
});

const max = maxCharacters.mattermost;

/** The channel was deleted or archived. A channel that is not found may only lack the bot. */
const goneErrors = new Set(['api.post.create_post.can_not_post_to_deleted.error']);

export const mattermost: Provider<typeof Settings> = {
  name: 'mattermost',
  title: 'Mattermost',
  medium: 'chat',
  summary: 'Posts to channels of Mattermost as a bot. The address is a channel ID.',
  settings: Settings,
  credential: { name: 'access token', hint: 'create one for the bot account under Integrations' },
  shows: ['formatting', 'buttons'],
  updates: ['update', 'retract'],
  reads: 'text',
  reach: ({ channel_id }) => (channel_id ? 'room' : 'address'),
  check: (options, { outbound }) => sendHttp(outbound, { ...toRequest(options, '/users/me'), method: 'GET' }),
  /**
   * The server signs nothing, but the tokens of buttons are signed by Belfry and are known to no one but the server:
   * clients do not get them.
   */
  interactions: ({ anyone_may_act = false }) => ({
    where: 'in Mattermost',
    isReady: true,
    anyoneMayAct: anyone_may_act,
    isTokenProof: true,
    verify: () => genuine,
    read(body) {
      const press = parseObject(body);
      const [token, user] = [pick(press, 'context', 'token'), pick(press, 'user_id')];
      if (token === undefined || user === undefined) throw new Error('has no context.token and user_id');
      const room = pick(press, 'channel_id');
      // A direct channel belongs to no team, and its ID is the address of its user.
      const isDirect = room !== undefined && (pick(press, 'team_id') ?? '') === '';
      return { token, addresses: [user, ...(isDirect ? [room] : [])], name: pick(press, 'user_name') ?? user };
    },
    answer: async text => (text === undefined ? nothingToSay : jsonResponse({ ephemeral_text: text })),
  }),
  userGroups: {
    id: mattermostGroupId,
    open: (group, options, { outbound, timeoutMs }) =>
      mattermostGroup(group, (path, more) =>
        sendHttp(outbound, { ...toRequest(options, path), classify, ...more, timeoutMs }),
      ),
  },
  open(options, { outbound }) {
    const { channel_id } = options;
    const call = (path: string, more: Partial<HttpSend>) =>
      sendHttp(outbound, { ...toRequest(options, `/posts${path}`), classify, ...more });
    return httpSender(
      ({ address, content, buttons, interactionUrl }) =>
        call('', {
          json: {
            channel_id: channel_id ?? address,
            message: truncate(withLinks(toMarkdown(content), buttons), max.text),
            ...toProps(buttons, interactionUrl),
          },
          id: field('id'),
        }),
      {
        // Buttons are in `props`.
        update: ({ messageId, content }) =>
          call(`/${encodeURIComponent(messageId)}/patch`, {
            method: 'PUT',
            json: { message: truncate(toMarkdown(content), max.text), props: {} },
          }),
        retract: ({ messageId }) =>
          call(`/${encodeURIComponent(messageId)}`, {
            method: 'DELETE',
            classify: ({ status }) => (status === 404 ? { ok: true } : undefined),
          }),
      },
    );
  },
};

function toRequest({ server_url, token, timeout_ms }: Static<typeof Settings>, path: string): HttpSend {
  return {
    ...bearer(token),
    url: join(server_url, `/api/v4${path}`),
    timeoutMs: timeout_ms,
    errorText: field('message'),
  };
}

/** A rate limit names the seconds until it ends. */
function classify({ status, headers, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 429 && headers['retry-after'] === undefined) return busy(readRetryAfter(headers['x-ratelimit-reset']));
  return goneErrors.has(pick(json, 'id') ?? '') ? { retry: false, gone: true } : undefined;
}

/** https://developers.mattermost.com/integrate/plugins/interactive-messages. Their ids must be letters and digits. */
function toProps(buttons: Outgoing['buttons'], url: string | undefined): { props?: object } {
  if (url === undefined) return {};
  const actions = shownButtons(buttons, { callbacks: true, maxLabel: max.label }).flatMap(
    ({ label, token, isMain }, i) =>
      token === undefined
        ? []
        : [
            {
              id: `belfry${i}`,
              type: 'button',
              name: label,
              ...(isMain && { style: 'primary' }),
              integration: { url, context: { token } },
            },
          ],
  );
  return actions.length === 0 ? {} : { props: { attachments: [{ actions }] } };
}

/** Buttons cannot open a page, so links follow the text. Their labels mention no one. */
function withLinks(text: string, buttons: Outgoing['buttons'] = []): string {
  const links = buttons.filter(({ token }) => token === undefined);
  return paragraphs(
    text,
    links
      .map(({ label, url }) => `[${withoutMentions(escapeMarkdown(label.replace(/\s+/g, ' ')))}](<${url}>)`)
      .join(' · '),
  );
}
