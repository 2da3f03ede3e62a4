/**
 * https://docs.slack.dev/reference/methods/chat.postMessage, as a bot. Slack answers 200 to nearly everything: the code in
 * `error` decides.
 */
import { Type } from 'typebox';
import { isEmail } from '../../../core/text/text.ts';
import { endpoint, join, TimeoutMs, webhookSecret } from '../../fields.ts';
import { uploadFailure } from '../../http-files.ts';
import {
  bearer,
  type Failure,
  field,
  type HttpSend,
  idInRoom,
  type ProviderAnswer,
  pick,
  sendHttp,
  splitIdInRoom,
  toReason,
} from '../../http-outcome.ts';
import { anyoneMayAct, shownButtons } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import { type Provider, settings } from '../../provider.ts';
import { type Attachment, httpSender, type Outcome, type Sender, type SentMessage } from '../../sending.ts';
import { slackInteractions } from './interactions.ts';
import { type Message, toMessage } from './message.ts';
import { slackGroup, slackGroupId } from './user-groups.ts';

const defaultEndpoint = 'https://slack.com/api';

const Settings = settings({
  token: Type.String({
    secret: true,
    pattern: '^xox[a-z]-[A-Za-z0-9-]{8,256}$',
    patternHint: 'must be a token such as xoxb-…',
    description:
      'The bot token, xoxb-…, with the scope chat:write, and users:read.email if addresses are email addresses.',
  }),
  signing_secret: webhookSecret(
    'The signing secret of the app, which verifies that a button was pressed in Slack. Without it, messages have no buttons.',
  ),
  anyone_may_act: anyoneMayAct,
  endpoint: endpoint(defaultEndpoint, 'that of GovSlack'),
  timeout_ms: TimeoutMs,
});

/** Rate limits, and workspaces that are being migrated. */
const temporaryErrors = new Set([
  'ratelimited',
  'rate_limited',
  'service_unavailable',
  'team_added_to_org',
  'org_login_required',
]);
/** According to Slack, the request may have been carried out in part. */
const ambiguousErrors = new Set(['internal_error', 'fatal_error', 'request_timeout']);
/** The user or the channel was closed. `channel_not_found` may only mean that the bot was not invited. */
const goneErrors = new Set(['is_archived', 'user_disabled']);
/** Slack gives this answer also for every member of another workspace. */
const unknownUser = 'user_not_found';
const unknownUserDoubt = 'check that the token is that of an app in the workspace of these members';

/** The token is wrong, was revoked, belongs to a deleted account, is of another kind, or lacks a scope. */
const deniedErrors = new Set([
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'not_allowed_token_type',
  'missing_scope',
]);

/** Long enough to send to a list of recipients, short enough for an email that moves to another user. */
const cacheMs = 60 * 60 * 1000;
const maxCached = 50_000;

export const slack: Provider<typeof Settings> = {
  name: 'slack',
  title: 'Slack bot',
  medium: 'slack',
  summary: 'Direct messages and channels. The address is a channel ID, a member ID or an email address.',
  settings: Settings,
  credential: {
    name: 'bot token',
    hint: 'copy the Bot User OAuth Token of your app at api.slack.com/apps, under OAuth & Permissions',
    fields: ['token'],
  },
  shows: ['formatting', 'buttons'],
  updates: ['update', 'retract'],
  attaches: true,
  check: ({ token, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, { ...bearer(token), url: join(endpoint, '/auth.test'), timeoutMs, errorText, classify }),
  interactions: ({ token, endpoint = defaultEndpoint, signing_secret, anyone_may_act = false }) =>
    slackInteractions({ token, endpoint, signing_secret, anyone_may_act }),
  userGroups: {
    id: slackGroupId,
    refusesEmpty: true,
    open: (group, { token, endpoint = defaultEndpoint }, { outbound, timeoutMs }) =>
      slackGroup(group, (method, { headers, ...more }) =>
        sendHttp(outbound, {
          ...{ errorText, classify, timeoutMs, secrets: [token] },
          url: join(endpoint, `/${method}`),
          headers: { ...bearer(token).headers, ...headers },
          ...more,
        }),
      ),
  },
  open({ token, signing_secret, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const call = { ...bearer(token), timeoutMs: timeout_ms, errorText, classify };
    const lookups = new Map<string, { outcome: Promise<Outcome>; until: number }>();

    /** Concurrent lookups of the same user share one request; only successful ones are cached. */
    const lookUp = (email: string): Promise<Outcome> => {
      const now = performance.now();
      const cached = lookups.get(email);
      if (cached && cached.until > now) return cached.outcome;
      if (lookups.size >= maxCached) lookups.clear();
      const outcome = sendHttp(outbound, {
        ...call,
        method: 'GET',
        url: join(endpoint, `/users.lookupByEmail?email=${encodeURIComponent(email)}`),
        id: field('user', 'id'),
      });
      lookups.set(email, { outcome, until: now + cacheMs });
      const forget = () => lookups.delete(email);
      outcome.then(result => (result.ok && result.id ? undefined : forget()), forget);
      return outcome;
    };

    const post = (method: string, json: object, more: Partial<HttpSend> = {}): Promise<Outcome> =>
      sendHttp(outbound, {
        ...call,
        url: join(endpoint, `/${method}`),
        headers: { ...call.headers, 'content-type': 'application/json; charset=utf-8' },
        json,
        ...more,
      });
    /** Returns the id of a file that is not shared with anyone yet. */
    const upload = async (attachment: Attachment): Promise<Outcome> => {
      const { name, file } = attachment;
      let target: string | undefined;
      const begun = await sendHttp(outbound, {
        ...call,
        url: join(endpoint, '/files.getUploadURLExternal'),
        form: { filename: name, length: String(file.bytes.length) },
        id: ({ json }) => {
          target = pick(json, 'upload_url');
          return pick(json, 'file_id');
        },
      });
      if (!begun.ok) return uploadFailure(begun, attachment);
      if (!begun.id || !target) return { ok: false, retry: true, reason: 'Slack returned no URL for the upload' };
      const headers = { 'content-type': 'application/octet-stream' };
      // The URL is a secret, and its response is not JSON.
      const options = { timeoutMs: timeout_ms, secrets: [token, target] };
      const sent = await sendHttp(outbound, { ...options, url: target, headers, body: file.bytes });
      return sent.ok ? begun : uploadFailure(sent, attachment);
    };

    /** Shares uploaded files in one message with the text. */
    const sendFiles = async (
      channel: string,
      message: Message,
      attachments: readonly Attachment[],
    ): Promise<Outcome> => {
      const files: { id: string; title: string }[] = [];
      for (const attachment of attachments) {
        const uploaded = await upload(attachment);
        if (!uploaded.ok) return uploaded;
        files.push({ id: uploaded.id!, title: attachment.name });
      }
      const text = message.blocks ? { blocks: message.blocks } : { initial_comment: message.text };
      // Takes the ids of channels and of users. Slack does not say which message this becomes, so it cannot be changed.
      return post('files.completeUploadExternal', { files, channels: channel, ...text });
    };

    const send = (channel: string, message: Message, attachments?: readonly Attachment[]): Promise<Outcome> => {
      if (attachments) return sendFiles(channel, message, attachments);
      const id: HttpSend['id'] = ({ json }) => idInRoom(pick(json, 'channel'), pick(json, 'ts'));
      return post('chat.postMessage', { channel, ...message }, { id });
    };
    const find = ({ messageId, address }: SentMessage) => {
      const [channel, ts] = splitIdInRoom(messageId, address);
      return { channel, ts };
    };
    const updates: Pick<Sender, 'update' | 'retract'> = {
      // Without `blocks`, Slack keeps the previous ones.
      update: sent => post('chat.update', { ...find(sent), blocks: [], ...toMessage(sent.content) }),
      retract: sent =>
        post('chat.delete', find(sent), {
          classify: answer => (errorOf(answer) === 'message_not_found' ? { ok: true } : classify(answer)),
        }),
    };

    return httpSender(async ({ address, content, buttons, attachments }) => {
      // Slack marks every button of an app that cannot receive interactions, even if it only opens a page.
      const shown = signing_secret
        ? shownButtons(buttons, { callbacks: true, maxLabel: maxCharacters.slack.label })
        : [];
      const sendAll = async (channel: string) => {
        const outcome = await send(channel, toMessage(content, shown), attachments);
        const isRefused = shown.length > 0 && !outcome.ok && outcome.reason.includes('invalid_blocks');
        return isRefused ? send(channel, toMessage(content), attachments) : outcome;
      };
      if (!isEmail(address)) return sendAll(address);
      const user = await lookUp(address);
      if (user.ok) {
        return user.id ? sendAll(user.id) : { ok: false, retry: true, reason: 'Slack returned no user' };
      }
      // A failed lookup has sent nothing, and a user who does not exist today may exist tomorrow.
      const { unknown: _, gone: __, doubt: ___, ...failure } = user;
      return { ...failure, reason: toReason(`looking up ${address}: ${failure.reason}`) };
    }, updates);
  },
};

function errorOf({ json }: ProviderAnswer): string | undefined {
  return pick(json, 'error');
}

/** Names the scope that is missing. */
function errorText(answer: ProviderAnswer): string | undefined {
  const [error, needed] = [errorOf(answer), pick(answer.json, 'needed')];
  return error === 'missing_scope' && needed ? `${error}: the app needs ${needed}` : error;
}

function classify(answer: ProviderAnswer): { ok: true } | Partial<Failure> | undefined {
  const error = errorOf(answer);
  if (error === undefined) {
    if (answer.status >= 300 || (answer.json as { ok?: unknown } | undefined)?.ok === true) return undefined;
    return { retry: true, unknown: true, reason: 'the response could not be read' };
  }
  if (temporaryErrors.has(error)) return { retry: true };
  if (ambiguousErrors.has(error)) return { retry: true, unknown: true };
  if (deniedErrors.has(error)) return { retry: false, denied: true };
  if (error === unknownUser) return { retry: false, gone: true, doubt: unknownUserDoubt };
  return goneErrors.has(error) ? { retry: false, gone: true } : { retry: false };
}
