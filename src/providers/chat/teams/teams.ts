/**
 * A bot of Microsoft Teams, by the REST API of the Bot Connector:
 * https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference and
 * https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/send-proactive-messages
 */
import { Type } from 'typebox';
import { optionalBoolean, optionalString } from '../../../core/optional.ts';
import { headingOf, truncate } from '../../chat-text.ts';
import { apiUrl, endpoint, join, TimeoutMs } from '../../fields.ts';
import {
  bearer,
  type Failure,
  type HttpSend,
  type ProviderAnswer,
  pick,
  sendHttp,
  toReason,
} from '../../http-outcome.ts';
import { anyoneMayAct, shownButtons } from '../../interactions.ts';
import { type Provider, settings } from '../../provider.ts';
import { httpSender, type Outcome, type Outgoing, type SentMessage } from '../../sending.ts';
import { toCardMessage } from './card.ts';
import { clouds, requestToken, tokensOf } from './connector.ts';
import { teamsInteractions } from './interactions.ts';

const guid = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';
/** Of a chat, of a channel or of a post in it, as Teams names them. */
const conversation = '^(a|19):[!-~]{1,500}$';

const Settings = settings({
  app_id: Type.String({
    pattern: guid,
    patternHint: 'must be an ID such as 0d569679-ab9d-479a-b0d8-238b6e6b1149',
    description: 'The Microsoft App ID of the bot, also called client ID.',
    examples: ['0d569679-ab9d-479a-b0d8-238b6e6b1149'],
  }),
  app_secret: Type.String({
    secret: true,
    minLength: 8,
    maxLength: 512,
    pattern: '^[!-~]+$',
    patternHint: 'must not contain spaces',
    description: 'The value of a client secret of the app, not its ID. It expires at the date that Microsoft shows.',
  }),
  tenant_id: Type.String({
    pattern: guid,
    patternHint: 'must be an ID such as 528dbe3f-15e0-4e37-84a1-00cc305847dd',
    description: 'The ID of your Microsoft 365 tenant, also called directory ID. Only its people can press buttons.',
    examples: ['528dbe3f-15e0-4e37-84a1-00cc305847dd'],
  }),
  multi_tenant: optionalBoolean({
    description: 'Whether the bot was registered as multi-tenant, which was possible until July 2025. Default: false.',
  }),
  conversation_id: optionalString({
    pattern: conversation,
    patternHint: 'must be the ID of a channel or chat, such as 19:…@thread.tacv2',
    description:
      'The ID of the channel or chat to post to, such as 19:…@thread.tacv2. Default: the `teams` address of each recipient.',
  }),
  anyone_may_act: anyoneMayAct,
  cloud: Type.Optional(
    Type.Enum(Object.keys(clouds) as (keyof typeof clouds)[], {
      description: 'The cloud of the tenant: gcc, gcc-high and dod are those of the US government. Default: public.',
    }),
  ),
  endpoint: endpoint('that of the cloud', 'https://smba.trafficmanager.net/emea, that of a region'),
  login_url: optionalString({
    ...apiUrl,
    title: 'Sign-in URL',
    description: 'Where access tokens are requested, such as a proxy. Default: that of the cloud.',
  }),
  metadata_url: optionalString({
    ...apiUrl,
    description:
      'The OpenID document with the keys that verify requests of Microsoft, such as a proxy’s. Default: that of the cloud.',
  }),
  timeout_ms: TimeoutMs,
});

/** By their object ID in Microsoft Entra, or by the ID that Teams gives them for this bot. */
const person = new RegExp(`${guid}|^29:[!-~]{1,500}$`);
/** A channel itself: each message begins a new thread. */
const channel = /^19:[^;]+@thread\.(tacv2|skype)$/;

/** Direct conversations never change, but few are needed again soon. */
const maxCached = 10_000;
const maxSummary = 200;
const maxLabel = 100;

export const teams: Provider<typeof Settings> = {
  name: 'teams',
  title: 'Teams bot',
  medium: 'teams',
  summary: 'Direct messages, and posts to chats and channels of Microsoft Teams, with buttons.',
  settings: Settings,
  credential: {
    name: 'client secret',
    hint: 'create one under Certificates & secrets of the app in Microsoft Entra, and check that app and tenant are those of the bot',
    fields: ['app_id', 'app_secret', 'tenant_id'],
  },
  shows: ['formatting', 'buttons'],
  updates: ['update', 'retract'],
  reach: ({ conversation_id }) => (conversation_id ? 'room' : 'address'),
  accepts: (address, { conversation_id }) =>
    conversation_id !== undefined || person.test(address) || new RegExp(conversation).test(address),
  interactions: teamsInteractions,
  async check(options, { outbound }) {
    const token = await requestToken(options, outbound);
    return 'value' in token ? { ok: true } : token.failure;
  },
  open(options, { outbound }) {
    const { app_id, tenant_id, conversation_id, cloud = 'public', timeout_ms: timeoutMs } = options;
    const service = options.endpoint ?? clouds[cloud].service;
    const tokens = tokensOf(options, outbound);
    const directConversations = new Map<string, string>();
    const bot = { id: `28:${app_id}` };
    const tenant = { id: tenant_id };

    const call = async (path: string, request: Partial<HttpSend>): Promise<Outcome> => {
      const found = await tokens.get();
      if ('failure' in found) return found.failure;
      const { headers } = bearer(found.value);
      return sendHttp(outbound, {
        errorText,
        ...request,
        url: join(service, `/v3/conversations${path}`),
        headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
        timeoutMs,
        secrets: [found.value, options.app_secret],
        classify: answer => {
          if (answer.status === 401) tokens.forget(found.value);
          return request.classify?.(answer) ?? classify(answer);
        },
      });
    };

    /** Returns what all messages of the bot have. The first one of a thread is sent with its conversation, not to it. */
    const toActivity = ({ content }: Pick<Outgoing, 'content'>, id: string, channelData: object = {}) => ({
      from: bot,
      ...(!channel.test(id) && { conversation: { id, tenantId: tenant_id } }),
      summary: truncate(headingOf(content) || content.text, maxSummary),
      channelData: { tenant, ...channelData },
    });

    /** Returns the id of the conversation with a person. Creating one again returns the same. */
    const openDirect = async (address: string): Promise<Outcome> => {
      const known = directConversations.get(address);
      if (known) return { ok: true, id: known };
      const json = { bot, isGroup: false, members: [{ id: address }], tenantId: tenant_id, channelData: { tenant } };
      const opened = await call('', { json, id: ({ json }) => pick(json, 'id') });
      if (!opened.ok) {
        // Nothing was sent.
        const { unknown: _, ...failure } = opened;
        return { ...failure, reason: toReason(`opening a conversation: ${failure.reason}`) };
      }
      if (!opened.id) return { ok: false, retry: true, reason: 'Teams returned no conversation' };
      if (directConversations.size >= maxCached) directConversations.clear();
      directConversations.set(address, opened.id);
      return opened;
    };

    const send = async (outgoing: Outgoing): Promise<Outcome> => {
      const to = conversation_id ?? outgoing.address;
      const isDirect = person.test(to);
      const shown = shownButtons(outgoing.buttons, { callbacks: true, maxLabel });
      const room: Outcome = isDirect ? await openDirect(to) : { ok: true, id: to };
      if (!room.ok) return room;
      const id = room.id!;
      const activity = toActivity(outgoing, id, { notification: { alert: true } });
      const body = toCardMessage(outgoing.content, activity, { buttons: shown });
      if (!body) return { ok: false, retry: false, reason: 'the card is larger than 28 KB, the limit of Teams' };
      if (channel.test(id)) {
        const first: unknown = JSON.parse(body);
        return call('', {
          json: { bot, isGroup: true, tenantId: tenant_id, channelData: { channel: { id }, tenant }, activity: first },
          id: ({ json }) => toMessageId(pick(json, 'id') ?? id, pick(json, 'activityId')),
        });
      }
      const outcome = await call(`/${encodeURIComponent(id)}/activities`, {
        body,
        id: ({ json }) => toMessageId(id, pick(json, 'id')),
      });
      if (outcome.ok || !isDirect || !outcome.reason.includes(unknownConversation)) return outcome;
      // It was deleted since it was opened, so that the next attempt opens another one.
      directConversations.delete(to);
      return { ok: false, retry: true, reason: outcome.reason };
    };

    return httpSender(send, {
      update: sent => {
        const [id] = splitMessageId(sent);
        const body = toCardMessage(sent.content, toActivity(sent, id), { note: sent.note });
        const tooLarge: Outcome = { ok: false, retry: false, reason: 'the card is larger than 28 KB' };
        return body ? call(pathOf(sent), { method: 'PUT', body }) : Promise.resolve(tooLarge);
      },
      retract: sent =>
        call(pathOf(sent), {
          method: 'DELETE',
          classify: ({ json }) => (pick(json, 'error', 'code') === unknownMessage ? { ok: true } : undefined),
        }),
    });
  },
};

/** Ids of messages and of conversations may contain colons, but no space. */
function toMessageId(conversation: string, id: string | undefined): string | undefined {
  return id && `${conversation} ${id}`;
}

function splitMessageId({ messageId, address }: SentMessage): [conversation: string, id: string] {
  const [conversation = '', id] = messageId.split(' ');
  return id === undefined ? [address, conversation] : [conversation, id];
}

function pathOf(sent: SentMessage): string {
  const [conversation, id] = splitMessageId(sent);
  return `/${encodeURIComponent(conversation)}/activities/${encodeURIComponent(id)}`;
}

const unknownConversation = 'ConversationNotFound';
const unknownMessage = 'ActivityNotFoundInConversation';
/** The person blocked or removed the bot, or the conversation was deleted. */
const goneCodes = new Set(['ConversationBlockedByUser', 'MessageWritesBlocked', unknownConversation]);
const notInstalled = new Set(['BotNotInConversationRoster', 'ForbiddenOperationException']);

/** What a blocked conversation answers has its code within the text. */
function codeOf({ json }: ProviderAnswer): string | undefined {
  return pick(json, 'errorCode') === '209' ? 'MessageWritesBlocked' : pick(json, 'error', 'code');
}

function errorText(answer: ProviderAnswer): string | undefined {
  const code = codeOf(answer);
  const message = pick(answer.json, 'error', 'message') ?? pick(answer.json, 'message');
  const hint = notInstalled.has(code ?? '') ? 'install the app for the person, or in the team or chat' : undefined;
  return [code, message, hint].filter(Boolean).join(': ') || undefined;
}

/** https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/conversation-messages#status-codes-from-bot-conversational-apis */
function classify(answer: ProviderAnswer): Partial<Failure> | undefined {
  if (answer.status < 300) return undefined;
  if (goneCodes.has(codeOf(answer) ?? '')) return { retry: false, gone: true };
  // Several requests for one conversation at a time.
  return answer.status === 412 ? { retry: true } : undefined;
}
