/**
 * What Microsoft posts to a bot: pressed buttons, messages and installations.
 * https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication#connector-to-bot and
 * https://learn.microsoft.com/adaptive-cards/authoring-cards/universal-action-model
 */
import { decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose';
import type { FeedbackRequest, Verification, VerificationTools } from '../../../core/feedback/event.ts';
import { isObject } from '../../../core/json.ts';
import { acknowledgeTextsIn } from '../../../core/message/acknowledge-texts.ts';
import { fillText } from '../../../core/text/text.ts';
import { type Fields, parseObject, pick } from '../../feedback/payload.ts';
import { forged } from '../../feedback/signatures.ts';
import { join } from '../../fields.ts';
import { bearer, sendHttp } from '../../http-outcome.ts';
import { answerTimeoutMs, jsonResponse, nothingToSay } from '../../interactions.ts';
import type { Command, Interactions } from '../../provider.ts';
import { type Bot, cachedTokensOf, clouds } from './connector.ts';

interface TeamsBot extends Bot {
  anyone_may_act?: boolean;
  metadata_url?: string;
}

/** The name of this channel of the Bot Framework: the keys of some sign for others only. */
const channelId = 'msteams';
const maxSkewSeconds = 300;

export function teamsInteractions(bot: TeamsBot): Interactions {
  return {
    where: 'in Teams',
    setup:
      'Enter it as the messaging endpoint of the bot: in Azure under Configuration, or in the Developer Portal for Teams under Bot management, Configure.',
    isReady: true,
    anyoneMayAct: bot.anyone_may_act ?? false,
    verify: (request, tools) => verifyTeams(bot, request, tools),
    read(body) {
      const activity = parseObject(body);
      const token = pick(activity, 'value', 'action', 'data', 'token') ?? pick(activity, 'value', 'token');
      const isInvoke = activity.type === 'invoke' && activity.name === 'adaptiveCard/action';
      const isInstalled = activity.type === 'installationUpdate' && activity.action === 'add';
      if (activity.type !== 'message' && !isInstalled && !(isInvoke && token !== undefined)) return nothingToSay;
      const [id, user] = [pick(activity, 'from', 'id'), pick(activity, 'from', 'aadObjectId')];
      if (id === undefined) throw new Error('has no from.id');
      const { address, rooms, answerTo } = readConversation(activity, user);
      const greeting = fillText(acknowledgeTextsIn(pick(activity, 'locale')).addressHere, { address });
      const command = token === undefined ? readCommand(activity) : undefined;
      return {
        ...(command ? { command } : token === undefined ? { reply: textOf(activity), greeting } : { token }),
        addresses: [...(user === undefined ? [] : [user, user.toUpperCase()]), id, ...rooms],
        name: pick(activity, 'from', 'name') ?? id,
        // An invocation is answered by the response.
        ...(!isInvoke && { answerTo }),
      };
    },
    async answer(text, { answerTo }, { outbound }) {
      if (answerTo === undefined) {
        return jsonResponse({
          statusCode: 200,
          type: 'application/vnd.microsoft.activity.message',
          value: text ?? '',
        });
      }
      if (text === undefined) return nothingToSay;
      const found = await cachedTokensOf({ ...bot, timeout_ms: answerTimeoutMs }, outbound).get();
      if ('failure' in found) return nothingToSay;
      // What was asked for is done, whether or not the person can be shown an answer.
      await sendHttp(outbound, {
        ...bearer(found.value),
        url: answerTo,
        json: { type: 'message', from: { id: `28:${bot.app_id}` }, text, textFormat: 'plain' },
        timeoutMs: answerTimeoutMs,
      });
      return nothingToSay;
    },
  };
}

/** Returns the address of a person, a chat or a channel, and where to answer. */
function readConversation(activity: Fields, user: string | undefined) {
  const [service, id] = [pick(activity, 'serviceUrl') ?? '', pick(activity, 'conversation', 'id')];
  if (id === undefined) throw new Error('has no conversation.id');
  const isDirect = pick(activity, 'conversation', 'conversationType') === 'personal';
  return {
    address: (isDirect ? user : pick(activity, 'channelData', 'channel', 'id')) ?? id,
    // No one but this person is in the conversation with the bot.
    rooms: isDirect ? [id] : [],
    answerTo: join(service, `/v3/conversations/${encodeURIComponent(id)}/activities`),
  };
}

/** Returns what a person wrote, without the name of the bot, which has to be mentioned in chats and channels. */
function textOf(activity: Fields): string {
  return (pick(activity, 'text') ?? '').replace(/<at[^<>]*>[^<>]*<\/at>/g, '').trim();
}

/** The slash is optional, because Teams takes what begins with one for one of its commands. */
function readCommand(activity: Fields): Command | undefined {
  const id = pick(activity, 'id');
  const written = Date.parse(pick(activity, 'timestamp') ?? '');
  const [, text] = /^\/?oncall(?=\s|$)([\s\S]*)$/i.exec(textOf({ ...activity, text: nameMentioned(activity) })) ?? [];
  if (text === undefined || id === undefined) return undefined;
  return {
    text,
    id: `${pick(activity, 'conversation', 'id')} ${id}`,
    ...(Number.isFinite(written) && { writtenAt: new Date(written) }),
  };
}

const maxMentions = 20;

/** Returns the text with people, except for the bot, as `<@id>`. */
function nameMentioned(activity: Fields): string {
  const entities = Array.isArray(activity.entities) ? activity.entities.slice(0, maxMentions) : [];
  let text = pick(activity, 'text') ?? '';
  for (const entity of entities) {
    const [id, shown] = [pick(entity, 'mentioned', 'id'), pick(entity, 'text')];
    if (id === undefined || !shown || id === pick(activity, 'recipient', 'id')) continue;
    text = text.replace(shown, () => `<@${id}>`);
  }
  return text;
}

async function verifyTeams(
  { app_id, tenant_id, cloud = 'public', metadata_url }: TeamsBot,
  request: FeedbackRequest,
  { now, fetchText }: VerificationTools,
): Promise<Verification> {
  const { issuer, metadata } = clouds[cloud];
  const [, token] = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (token === undefined) return forged('the header Authorization has no token');
  let activity: Fields;
  try {
    activity = parseObject(request);
  } catch (error) {
    return forged(`the body ${(error as Error).message}`);
  }
  let jwk: EndorsedKey | undefined;
  try {
    const { kid } = decodeProtectedHeader(token);
    const keys = await fetchKeys(metadata_url ?? metadata, fetchText);
    jwk = keys.find(key => key.kty === 'RSA' && key.kid !== undefined && key.kid === kid);
  } catch (error) {
    return forged(`the keys of Microsoft cannot be used: ${(error as Error).message}`);
  }
  if (!jwk) return forged('the token is signed with an unknown key');
  if (activity.channelId !== channelId) return forged('the request is not from Teams');
  if (jwk.endorsements?.length && !jwk.endorsements.includes(channelId)) {
    return forged('the key of the token must not be used for Teams');
  }
  let claims: Fields;
  try {
    const { payload } = await jwtVerify(token, await importJWK(jwk, 'RS256'), {
      algorithms: ['RS256'],
      issuer,
      audience: app_id,
      clockTolerance: maxSkewSeconds,
      currentDate: new Date(now),
      requiredClaims: ['exp'],
    });
    claims = payload;
  } catch (error) {
    return forged(`the token is not valid: ${(error as Error).message}`);
  }
  // Answers, with a token of the bot, are sent there.
  if (typeof claims.serviceurl !== 'string' || claims.serviceurl !== activity.serviceUrl) {
    return forged('the token is for another service URL than that of the request');
  }
  const tenant = pick(activity, 'conversation', 'tenantId') ?? pick(activity, 'channelData', 'tenant', 'id');
  if (tenant?.toLowerCase() !== tenant_id.toLowerCase()) return forged('the request is from another tenant');
  // Microsoft uses a token for many requests.
  const signature = `${pick(activity, 'conversation', 'id')} ${pick(activity, 'id')}`;
  return { ok: true, once: { signature, until: (Number(claims.exp) + maxSkewSeconds) * 1_000 } };
}

type EndorsedKey = JWK & { endorsements?: unknown[] };

async function fetchKeys(url: string, fetchText: VerificationTools['fetchText']): Promise<EndorsedKey[]> {
  const location = pick(JSON.parse(await fetchText(url)), 'jwks_uri');
  if (location === undefined) throw new Error('their document has no jwks_uri');
  const found: unknown = JSON.parse(await fetchText(location));
  const keys = isObject(found) && Array.isArray(found.keys) ? found.keys : [];
  return keys.filter(isObject) as EndorsedKey[];
}
