/**
 * Microsoft Teams on loopback: sign-in, the Bot Connector with its refusals, and the requests that it posts to a bot, signed
 * with its keys.
 */
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Content } from '../../src/core/render/render.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from './http-peer.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies are checked where they are read
type Body = any;
type PlainReply = Exclude<Reply, string>;

export const bot = {
  app_id: '0d569679-ab9d-479a-b0d8-238b6e6b1149',
  app_secret: 'hush~app.secret-of-the-bot',
  tenant_id: '528dbe3f-15e0-4e37-84a1-00cc305847dd',
};
export const ann = { aad: '7faf8ab2-3d56-4244-b585-20c8a42ed2b8', id: '29:1XJKJMvc5GBtc2Jw', name: 'Ann' };

const maxBytes = 28 * 1_024;
const json = (status: number, body: object, headers = {}): PlainReply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(body),
});
export const teamsError = (status: number, code: string, message = 'no') => json(status, { error: { code, message } });
/** As documented: the code is in the text. */
export const blocked = json(403, {
  errorCode: 209,
  message: '{\r\n  "subCode": "MessageWritesBlocked",\r\n  "details": "Thread is blocked from message writes."\r\n}',
});

export interface TeamsMessage {
  conversation: string;
  card: Body;
  summary: string;
}

export interface TeamsService {
  peer: HttpPeer;
  /** The messages that exist, by their ids. */
  messages: Map<string, TeamsMessage>;
  /** Plain texts, which answer people. */
  texts: { conversation: string; text: string }[];
  /** Conversations with a person, by the id in Microsoft Entra. */
  direct: Map<string, string>;
  /** Answers the next requests to the connector, in this order. */
  next: Reply[];
  /** Tokens that were issued and still work. */
  tokens: Set<string>;
  /** The number of tokens that were issued. */
  issued: number;
  close(): Promise<void>;
}

export const settingsFor = (url: string) => ({
  ...bot,
  endpoint: `${url}/teams`,
  login_url: `${url}/login`,
  metadata_url: `${url}/metadata`,
});

export async function openTeams(): Promise<TeamsService> {
  let count = 0;
  const peer = await openHttpPeer(seen => {
    if (seen.path.startsWith('/login/')) return signIn(seen);
    if (seen.path === '/metadata') return json(200, { issuer, jwks_uri: `${peer.url}/keys` });
    if (seen.path === '/keys') return json(200, { keys: published });
    if (!service.tokens.has(seen.headers.authorization?.replace(/^Bearer /, '') ?? '')) {
      return json(401, { message: 'Authorization has been denied for this request.' });
    }
    const forced = service.next.shift();
    return forced ?? connect(seen);
  });
  const service: TeamsService = {
    peer,
    messages: new Map(),
    texts: [],
    direct: new Map(),
    next: [],
    tokens: new Set(),
    issued: 0,
    close: () => peer.close(),
  };

  function signIn({ path, body }: RecordedRequest): Reply {
    const form = new URLSearchParams(body);
    if (path !== `/login/${bot.tenant_id}/oauth2/v2.0/token`) {
      return json(400, { error: 'invalid_request', error_description: 'AADSTS90002: Tenant not found.' });
    }
    const isRight =
      form.get('grant_type') === 'client_credentials' &&
      form.get('client_id') === bot.app_id &&
      form.get('client_secret') === bot.app_secret &&
      form.get('scope') === 'https://api.botframework.com/.default';
    if (!isRight) {
      return json(401, { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret.' });
    }
    const access_token = `hush-token-${++service.issued}`;
    service.tokens.add(access_token);
    return json(200, { token_type: 'Bearer', expires_in: 3_599, ext_expires_in: 3_599, access_token });
  }

  function connect({ method, path, body }: RecordedRequest): Reply {
    if (body.length > maxBytes * 2) return teamsError(413, 'MessageSizeTooBig', 'Message size too large.');
    const [, conversation, id] =
      /^\/teams\/v3\/conversations(?:\/([^/]+)\/activities(?:\/([^/]+))?)?$/
        .exec(path)
        ?.map(part => part && decodeURIComponent(part)) ?? [];
    if (conversation === undefined) return method === 'POST' ? create(JSON.parse(body)) : { status: 405 };
    if (method === 'POST') return add(conversation, JSON.parse(body));
    if (id === undefined || service.messages.get(id)?.conversation !== conversation) {
      return teamsError(404, 'ActivityNotFoundInConversation', 'Conversation not found.');
    }
    if (method === 'PUT') return add(conversation, JSON.parse(body), id);
    service.messages.delete(id);
    return { status: 200 };
  }

  function create({ bot: sender, isGroup, members, tenantId, channelData, activity }: Body): Reply {
    if (sender?.id !== `28:${bot.app_id}` || tenantId !== bot.tenant_id) return teamsError(400, 'BadArgument');
    if (isGroup === true && /^19:.*@thread\.tacv2$/.test(channelData?.channel?.id)) {
      const conversation = `${channelData.channel.id};messageid=${++count}`;
      if (activity?.conversation) return teamsError(400, 'BadArgument', 'a thread that has yet to begin');
      const added = add(conversation, activity) as PlainReply;
      return added.status === 201 ? json(201, { id: conversation, activityId: JSON.parse(added.body!).id }) : added;
    }
    if (isGroup !== false || members?.length !== 1) return teamsError(400, 'BadArgument');
    const id = service.direct.get(members[0].id.toLowerCase());
    return id === undefined
      ? teamsError(403, 'ForbiddenOperationException', "Bot is not installed in user's personal scope")
      : json(201, { id });
  }

  function add(conversation: string, activity: Body, id = `1:${++count}`): Reply {
    const isKnown = conversation.startsWith('19:') || [...service.direct.values()].includes(conversation);
    if (!isKnown) return teamsError(404, 'ConversationNotFound', 'Conversation not found.');
    if (activity.type !== 'message' || activity.from?.id !== `28:${bot.app_id}`) return teamsError(400, 'BadArgument');
    if (activity.text !== undefined) {
      // With an attachment, Teams would make two messages of it, and return the id of neither.
      if (activity.attachments) return teamsError(400, 'BadArgument', 'the message would be split');
      service.texts.push({ conversation, text: activity.text });
      return json(201, { id });
    }
    if (Buffer.byteLength(JSON.stringify(activity)) > maxBytes) return teamsError(413, 'MessageSizeTooBig');
    const [{ contentType, content: card }] = activity.attachments;
    const isCard = contentType === 'application/vnd.microsoft.card.adaptive' && card.type === 'AdaptiveCard';
    const isComplete = isCard && card.version === '1.5' && Array.isArray(card.body);
    if (!isComplete || !actionsOf(card).every(isAction)) return teamsError(400, 'BadSyntax', 'a card that is none');
    service.messages.set(id, { conversation, card, summary: activity.summary });
    return json(201, { id });
  }
  return service;
}

export const actionsOf = (card: Body): Body[] =>
  card.body.flatMap((element: Body) => (element.type === 'ActionSet' ? element.actions : []));

function isAction({ type, title, data, url, fallback, ...more }: Body): boolean {
  if (typeof title !== 'string' || title === '' || Object.keys(more).some(name => name !== 'style')) return false;
  if (type === 'Action.OpenUrl') return URL.canParse(url) && data === undefined;
  const { type: old, ...same } = fallback ?? {};
  return type === 'Action.Execute' && old === 'Action.Submit' && same.title === title && same.data.token === data.token;
}

const issuer = 'https://api.botframework.com';
const keys = {
  teams: await generateKeyPair('RS256', { extractable: true }),
  /** Signs for another channel of the Bot Framework. */
  webchat: await generateKeyPair('RS256', { extractable: true }),
  unpublished: await generateKeyPair('RS256', { extractable: true }),
};
const published = await Promise.all(
  (['teams', 'webchat'] as const).map(async name => ({
    ...(await exportJWK(keys[name].publicKey)),
    kid: name,
    use: 'sig',
    endorsements: [name === 'teams' ? 'msteams' : name],
  })),
);

interface Forgery {
  key?: keyof typeof keys;
  kid?: string;
  claims?: object;
  /** Seconds from now at which the token expires. */
  expiresIn?: number;
  authorization?: string;
}

interface Context {
  url: string;
  user?: { aad?: string; id: string; name: string };
  conversation?: object;
  more?: object;
}

const direct = { conversationType: 'personal', id: 'a:ann', tenantId: bot.tenant_id };

/** Returns a request of the Bot Connector, with a new id. */
export async function post(
  activity: object,
  { url, user = ann, conversation = direct, more = {} }: Context,
  { key = 'teams', kid = key, claims = {}, expiresIn = 3_600, authorization }: Forgery = {},
) {
  const serviceUrl = `${url}/teams`;
  const now = Math.floor(Date.now() / 1_000);
  const token = await new SignJWT({ serviceurl: serviceUrl, nbf: now - 3_600, ...claims })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
    .setExpirationTime(now + expiresIn)
    .setIssuer((claims as { iss?: string }).iss ?? issuer)
    .setAudience((claims as { aud?: string }).aud ?? bot.app_id)
    .sign(keys[key].privateKey);
  const body = {
    id: `f:${randomUUID()}`,
    channelId: 'msteams',
    serviceUrl,
    from: { id: user.id, name: user.name, aadObjectId: user.aad },
    recipient: { id: `28:${bot.app_id}` },
    conversation,
    channelData: { tenant: { id: bot.tenant_id } },
    locale: 'en-US',
    ...activity,
    ...more,
  };
  return {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: authorization ?? `Bearer ${token}` },
  };
}

export const pressed = (token: string) => ({
  type: 'invoke',
  name: 'adaptiveCard/action',
  value: { action: { type: 'Action.Execute', title: 'Acknowledge', data: { token } }, trigger: 'manual' },
});
/** Older clients. */
export const submitted = (token: string) => ({ type: 'message', value: { token } });

export const cardContent = (text: string): Content => ({
  title: 'Fire',
  text,
  card: {
    type: 'AdaptiveCard',
    version: '1.5',
    body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] }],
  },
  missing: [],
});
