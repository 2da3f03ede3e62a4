/** Documented answers of the chat services. */
import { json } from '../compliance.ts';
import { blocked, teamsError } from '../teams.ts';
import {
  busy,
  type DocumentedAnswers,
  denied,
  gone,
  oneRecipient,
  permanent,
  plainLimit,
  secondsFromNow,
  wait,
  waitAbout,
} from './table.ts';

const oneRoom = 'a webhook posts to one room, and its status is that of the message';
const slackError = (error: string, more: object = {}) => json(200, { ok: false, error, ...more });
const discordError = (status: number, code: number) => json(status, { message: 'no', code });
const discordLimit = json(429, { message: 'You are being rate limited.', retry_after: 6.457, global: false });
const telegramError = (status: number, description: string, parameters?: object) =>
  json(status, { ok: false, error_code: status, description, parameters });
const googleError = (code: number, status: string) => json(code, { error: { code, message: 'no', status } });
const matrixError = (status: number, errcode: string, more: object = {}) =>
  json(status, { errcode, error: 'no', ...more });
const zulipError = (status: number, code: string, more: object = {}) =>
  json(status, { result: 'error', msg: 'no', code, ...more });

export const chatAnswers: Record<string, DocumentedAnswers> = {
  slack: {
    source: 'https://docs.slack.dev/reference/methods/chat.postMessage#errors',
    partial: [['a failure with status 200', slackError('msg_too_long'), permanent]],
    limit: [
      ['a limit', json(429, { ok: false, error: 'ratelimited' }, { 'retry-after': '30' }), wait(30)],
      ['a limit with status 200', slackError('rate_limited'), busy],
    ],
    credential: [
      ...[
        'invalid_auth',
        'not_authed',
        'account_inactive',
        'token_revoked',
        'token_expired',
        'not_allowed_token_type',
      ].map(error => [error, slackError(error), denied] as const),
      [
        'a scope that is missing',
        slackError('missing_scope', { needed: 'chat:write', provided: 'users:read' }),
        denied,
      ],
    ],
    gone: [
      ['an archived channel', slackError('is_archived'), gone],
      ['a disabled user', slackError('user_disabled'), gone],
      [
        'an unknown user, as with a token of another workspace',
        slackError('user_not_found'),
        { ...gone, doubt: 'check that the token is that of an app in the workspace of these members' },
      ],
    ],
    other: [
      ['a channel that the bot is not in', slackError('channel_not_found'), permanent],
      ['an outage', slackError('service_unavailable'), busy],
      ['a fault after which the message may exist', slackError('fatal_error'), { retry: true, unknown: true }],
    ],
  },
  'slack-webhook': {
    source: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors',
    partial: oneRoom,
    limit: plainLimit('rate_limited'),
    credential: [
      ['a webhook that was removed', { status: 404, body: 'no_service' }, denied],
      ['a token that is none', { status: 403, body: 'invalid_token' }, denied],
      ['a team that is none', { status: 404, body: 'no_team' }, denied],
    ],
    gone: 'the room is part of the webhook',
    other: [
      ['an archived channel', { status: 410, body: 'channel_is_archived' }, permanent],
      ['a payload that is none', { status: 400, body: 'invalid_payload' }, permanent],
    ],
  },
  teams: {
    source:
      'https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/conversation-messages#status-codes-from-bot-conversational-apis',
    partial: oneRecipient,
    limit: [
      ...plainLimit('{"error":{"code":"Throttled","message":"wait"}}'),
      ['concurrent changes of a conversation', teamsError(412, 'PreconditionFailed'), busy],
    ],
    credential: [
      ['a bot that is not registered', teamsError(401, 'BotNotRegistered'), denied],
      ['a token that is none', json(401, { message: 'Authorization has been denied for this request.' }), denied],
    ],
    gone: [
      ['a user who blocked the bot', teamsError(403, 'ConversationBlockedByUser'), gone],
      ['a conversation that is blocked', blocked, gone],
      ['a conversation that was deleted', teamsError(404, 'ConversationNotFound'), gone],
    ],
    other: [
      ['a conversation without the bot', teamsError(403, 'BotNotInConversationRoster'), permanent],
      ['an app that is not installed', teamsError(403, 'ForbiddenOperationException'), permanent],
      ['a bot that the admin disabled', teamsError(403, 'BotDisabledByAdmin'), permanent],
      ['a missing permission', teamsError(403, 'NotEnoughPermissions'), permanent],
      ['a host of another cloud', teamsError(403, 'InvalidBotApiHost'), permanent],
      ['a message that is too large', teamsError(413, 'MessageSizeTooBig'), permanent],
      ['a fault of a dependency', teamsError(502, 'ServiceError'), busy],
    ],
  },
  'teams-workflow': {
    source: 'https://learn.microsoft.com/azure/logic-apps/logic-apps-http-endpoint',
    partial: 'the workflow answers 202 before it runs, and reports nothing later',
    limit: plainLimit('{"error":{"code":"WorkflowTriggerRequestThrottled","message":"wait"}}'),
    credential: [
      ['a workflow that was deleted', json(404, { error: { code: 'WorkflowNotFound', message: 'no' } }), denied],
      ['a wrong signature', json(401, { error: { code: 'InvalidSasToken', message: 'no' } }), denied],
      ['a workflow for users only', json(403, { error: { code: 'AuthorizationFailed', message: 'no' } }), denied],
    ],
    gone: 'the room is part of the workflow',
    other: [['a wrong schema', json(400, { error: { code: 'TriggerInputSchemaMismatch', message: 'no' } }), permanent]],
  },
  'discord-webhook': {
    source: 'https://discord.com/developers/docs/topics/opcodes-and-status-codes',
    partial: oneRoom,
    limit: [['a limit in seconds', discordLimit, wait(7)]],
    credential: [
      ['a webhook that was deleted', discordError(404, 10_015), denied],
      ['a wrong token', discordError(401, 50_027), denied],
    ],
    gone: 'the room is part of the webhook',
    other: [['an empty message', discordError(400, 50_006), permanent]],
  },
  'discord-bot': {
    source: 'https://discord.com/developers/docs/topics/opcodes-and-status-codes',
    partial: oneRecipient,
    limit: [['a limit in seconds', discordLimit, wait(7)]],
    credential: [['a wrong token', json(401, { message: '401: Unauthorized', code: 0 }), denied]],
    gone: [
      ['a user who cannot be messaged', discordError(403, 50_007), gone],
      ['a user who does not exist', discordError(404, 10_013), gone],
    ],
    other: [['a missing permission in the channel', discordError(403, 50_013), permanent]],
  },
  'telegram-bot': {
    source: 'https://core.telegram.org/bots/api#making-requests',
    partial: [['a failure with status 200', json(200, { ok: false, description: 'no' }), permanent]],
    limit: [['a limit in seconds', telegramError(429, 'Too Many Requests', { retry_after: 7 }), wait(7)]],
    credential: [
      ['a wrong token', telegramError(401, 'Unauthorized'), denied],
      ['a token that is none', telegramError(404, 'Not Found'), denied],
    ],
    gone: [
      ['a user who blocked the bot', telegramError(403, 'Forbidden: bot was blocked by the user'), gone],
      ['a deleted account', telegramError(403, 'Forbidden: user is deactivated'), gone],
      ['a group without the bot', telegramError(403, 'Forbidden: bot was kicked from the group chat'), gone],
    ],
    other: [['a user who has yet to start the bot', telegramError(400, 'Bad Request: chat not found'), permanent]],
  },
  mattermost: {
    source: 'https://developers.mattermost.com/api-documentation/#/#error-handling',
    partial: oneRecipient,
    limit: [
      ...plainLimit('limit exceeded'),
      ['a limit with the seconds until its end', { status: 429, headers: { 'x-ratelimit-reset': '7' } }, wait(7)],
    ],
    credential: [['a wrong token', json(401, { id: 'api.context.session_expired.app_error', message: 'no' }), denied]],
    gone: [
      [
        'an archived channel',
        json(400, { id: 'api.post.create_post.can_not_post_to_deleted.error', message: 'no' }),
        gone,
      ],
    ],
    other: [
      ['a bot that may not post', json(403, { id: 'api.context.permissions.app_error', message: 'no' }), permanent],
    ],
  },
  rocketchat: {
    source: 'https://developer.rocket.chat/apidocs/rate-limiter',
    partial: [['a failure with status 200', json(200, { success: false, error: 'no' }), permanent]],
    limit: [
      ...plainLimit(),
      [
        'a limit with the time of its end in milliseconds',
        () =>
          json(
            429,
            { success: false, error: 'Error, too many requests.' },
            { 'x-ratelimit-reset': String(secondsFromNow(60) * 1_000) },
          ),
        waitAbout(60),
      ],
      [
        'a limit, on older servers',
        json(400, { success: false, error: 'wait', errorType: 'error-too-many-requests' }),
        busy,
      ],
    ],
    credential: [
      ['a wrong token', json(401, { status: 'error', message: 'You must be logged in to do this.' }), denied],
    ],
    gone: 'a room that does not exist is like one that the user is not in',
    other: [['an unknown room', json(400, { success: false, error: 'no', errorType: 'invalid-channel' }), permanent]],
  },
  'google-chat': {
    source: 'https://developers.google.com/workspace/chat/limits and https://cloud.google.com/apis/design/errors',
    partial: oneRoom,
    limit: [...plainLimit(), ['a quota without Retry-After', googleError(429, 'RESOURCE_EXHAUSTED'), busy]],
    credential: [
      ['a wrong key or token', googleError(403, 'PERMISSION_DENIED'), denied],
      ['a missing key', googleError(401, 'UNAUTHENTICATED'), denied],
    ],
    gone: 'the room is part of the webhook',
    other: [['a deleted space', googleError(404, 'NOT_FOUND'), permanent]],
  },
  matrix: {
    source: 'https://spec.matrix.org/latest/client-server-api/#standard-error-response',
    partial: oneRecipient,
    limit: [
      ['a limit in milliseconds', matrixError(429, 'M_LIMIT_EXCEEDED', { retry_after_ms: 6_500 }), wait(7)],
      ['a limit without a time', matrixError(429, 'M_LIMIT_EXCEEDED'), busy],
    ],
    credential: [
      ['an unknown token', matrixError(401, 'M_UNKNOWN_TOKEN'), denied],
      ['no token', matrixError(401, 'M_MISSING_TOKEN'), denied],
      ['a deactivated user', matrixError(403, 'M_USER_DEACTIVATED'), denied],
    ],
    gone: 'a room that does not exist is like one that the user is not in',
    other: [
      ['a room that the user is not in', matrixError(403, 'M_FORBIDDEN'), permanent],
      ['a message that is too large', matrixError(413, 'M_TOO_LARGE'), permanent],
    ],
  },
  zulip: {
    source: 'https://zulip.com/api/rest-error-handling',
    partial: [['a failure with status 200', zulipError(200, 'BAD_REQUEST'), permanent]],
    limit: [['a limit in seconds', zulipError(429, 'RATE_LIMIT_HIT', { 'retry-after': 6.5 }), wait(7)]],
    credential: [
      ['a wrong key', zulipError(401, 'INVALID_API_KEY'), denied],
      ['a deactivated bot', zulipError(401, 'USER_DEACTIVATED'), denied],
    ],
    gone: 'a recipient who does not exist is a BAD_REQUEST like many others',
    other: [['a channel that does not exist', zulipError(400, 'STREAM_DOES_NOT_EXIST'), permanent]],
  },
  webex: {
    source: 'https://developer.webex.com/docs/basics#api-errors',
    partial: oneRecipient,
    limit: [
      ...plainLimit('{"message":"Too many requests"}'),
      [
        'a space that is locked for a moment',
        { status: 423, headers: { 'retry-after': '7' }, body: '{"message":"wait"}' },
        wait(7),
      ],
    ],
    credential: [['a wrong token', json(401, { message: 'no', trackingId: 'ROUTER_7' }), denied]],
    gone: 'a space that does not exist is like one that the bot is not in',
    other: [['a bot that is not in the space', json(404, { message: 'no', trackingId: 'ROUTER_7' }), permanent]],
  },
  signal: {
    source: 'https://bbernhard.github.io/signal-cli-rest-api/, POST /v2/send',
    partial: oneRecipient,
    limit: [
      [
        'a challenge that must be solved',
        json(429, { account: '+15555550100', error: 'wait', challenge_tokens: ['x'] }),
        busy,
      ],
    ],
    credential: [['a proxy that knows no such user', { status: 401 }, denied]],
    gone: [['a number without Signal', json(400, { account: '+1', error: 'Unregistered user "+15555550123"' }), gone]],
  },
};
