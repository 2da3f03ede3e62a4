/** Compliance cases of the HTTP providers other than email, with the responses of their APIs. */
import { generateKeyPairSync } from 'node:crypto';
import { discordBot } from '../../src/providers/chat/discord/discord-bot.ts';
import { discordWebhook } from '../../src/providers/chat/discord/discord-webhook.ts';
import { slack } from '../../src/providers/chat/slack/slack.ts';
import { slackWebhook } from '../../src/providers/chat/slack/slack-webhook.ts';
import { teams } from '../../src/providers/chat/teams/teams.ts';
import { teamsWorkflow } from '../../src/providers/chat/teams/teams-workflow.ts';
import { telegramBot } from '../../src/providers/chat/telegram/telegram-bot.ts';
import { generateVapidKeys, vapid } from '../../src/providers/push/webpush/vapid.ts';
import { twilio } from '../../src/providers/sms/twilio.ts';
import { vonage } from '../../src/providers/sms/vonage.ts';
import { standardWebhooks } from '../../src/providers/webhook/standard-webhooks.ts';
import { base64, type ComplianceCase, json } from './compliance.ts';
import { signInUrl } from './compliance-push.ts';
import { bot } from './teams.ts';

/** A push subscription, with the private key that only the browser has. */
export function createBrowser() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')]);
  const auth = Buffer.alloc(16, 7);
  const keys = { p256dh: point.toString('base64url'), auth: auth.toString('base64url') };
  const subscribe = (endpoint: string) => JSON.stringify({ endpoint, expirationTime: null, keys });
  return { privateKey, publicKey, point, auth, subscribe };
}

export const account = `AC${'0123456789abcdef'.repeat(2)}`;
export const vapidKeys = generateVapidKeys();
const browser = createBrowser();

export const chatCases = {
  twilio: {
    provider: twilio,
    settings: url => ({
      account_sid: account,
      auth_token: 'hush-token',
      from: '+15555550100',
      endpoint: url,
    }),
    address: '+15555550123',
    secrets: ['hush-token', base64(`${account}:hush-token`)],
    answers: {
      accepted: json(201, { sid: 'SM0123456789abcdef', status: 'queued', error_code: null }),
      id: 'SM0123456789abcdef',
      refused: words => json(400, { code: 21612, message: words, more_info: 'https://www.twilio.com', status: 400 }),
    },
  } satisfies ComplianceCase<typeof twilio.settings>,

  vonage: {
    provider: vonage,
    settings: url => ({ api_key: 'abcd1234', api_secret: 'hush-secret', from: 'Acme', endpoint: url }),
    address: '+447700900000',
    secrets: ['hush-secret', base64('abcd1234:hush-secret')],
    answers: {
      accepted: json(202, { message_uuid: 'aaaaaaaa-bbbb-4ccc-8ddd-0123456789ab' }),
      id: 'aaaaaaaa-bbbb-4ccc-8ddd-0123456789ab',
      refused: words =>
        json(422, {
          type: 'https://developer.vonage.com/api-errors/messages#1120',
          title: 'Invalid sender',
          detail: words,
          instance: 'bf0ca0bf927b3b52e3cb03217e1a1ddf',
        }),
    },
  } satisfies ComplianceCase<typeof vonage.settings>,

  slack: {
    provider: slack,
    settings: url => ({ token: 'xoxb-hush-hush-hush', endpoint: `${url}/api` }),
    address: 'C0123456789',
    secrets: ['xoxb-hush-hush-hush'],
    answers: {
      accepted: json(200, { ok: true, channel: 'C0123456789', ts: '1503435956.000247' }),
      id: 'C0123456789:1503435956.000247',
      refused: words => json(200, { ok: false, error: words }),
      denied: json(200, { ok: false, error: 'invalid_auth' }),
      // A 200 alone does not mean success.
      garbled: { ok: false, retry: true, unknown: true },
    },
  } satisfies ComplianceCase<typeof slack.settings>,

  'slack-webhook': {
    provider: slackWebhook,
    settings: url => ({ url: `${url}/services/T00000000/B00000000/hushhushhushhushhushhush` }),
    address: 'room team',
    secrets: ['hushhushhushhushhushhush'],
    answers: {
      accepted: { status: 200, body: 'ok' },
      refused: words => ({ status: 400, body: words }),
      denied: { status: 404, body: 'no_service' },
    },
  } satisfies ComplianceCase<typeof slackWebhook.settings>,

  teams: {
    provider: teams,
    settings: url => ({ ...bot, endpoint: url, login_url: signInUrl }),
    address: '19:room@thread.v2',
    secrets: ['hush-access', bot.app_secret],
    answers: {
      accepted: json(201, { id: '1632474074231' }),
      id: '19:room@thread.v2 1632474074231',
      refused: words => json(400, { error: { code: 'BadArgument', message: words } }),
      denied: json(401, { error: { code: 'BotNotRegistered', message: 'No registration found for this bot.' } }),
      // The token endpoint is another server.
      checked: null,
    },
    request: {
      path: '/v3/conversations/19%3Aroom%40thread.v2/activities',
      headers: { authorization: 'Bearer hush-access', 'content-type': 'application/json; charset=utf-8' },
      body: {
        type: 'message',
        from: { id: `28:${bot.app_id}` },
        conversation: { id: '19:room@thread.v2', tenantId: bot.tenant_id },
        summary: 'Order 7 is paid',
        channelData: { tenant: { id: bot.tenant_id }, notification: { alert: true } },
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            content: {
              type: 'AdaptiveCard',
              $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
              version: '1.5',
              body: ['Order 7 is paid', 'Hello Jane'].map((text, i) => ({
                type: 'RichTextBlock',
                inlines: [{ type: 'TextRun', text, weight: i === 0 ? 'Bolder' : 'Default' }],
              })),
            },
          },
        ],
      },
    },
  } satisfies ComplianceCase<typeof teams.settings>,

  'teams-workflow': {
    provider: teamsWorkflow,
    settings: url => ({
      url: `${url}/workflows/hushworkflowhush/triggers/manual/paths/invoke?api-version=1&sig=hush-hush_hush-hush`,
    }),
    address: 'room team',
    secrets: ['hush-hush_hush-hush', 'hushworkflowhush'],
    answers: {
      accepted: { status: 202 },
      refused: words => json(400, { error: { code: 'TriggerInputSchemaMismatch', message: words } }),
    },
  } satisfies ComplianceCase<typeof teamsWorkflow.settings>,

  'discord-webhook': {
    provider: discordWebhook,
    settings: url => ({ url: `${url}/api/webhooks/223704706495545344/hush-hush_hush-hush` }),
    address: 'room team',
    secrets: ['hush-hush_hush-hush'],
    answers: {
      accepted: json(200, { id: '1234567890', type: 0, content: 'Hello' }),
      id: '1234567890',
      refused: words => json(400, { message: words, code: 50006 }),
      denied: json(404, { message: 'Unknown Webhook', code: 10015 }),
      throttled: json(429, { message: 'You are being rate limited.', retry_after: 6.457, global: false }),
    },
  } satisfies ComplianceCase<typeof discordWebhook.settings>,

  'discord-bot': {
    provider: discordBot,
    settings: url => ({ token: 'hush-hush_hush-hush', channel_id: '41771983423143937', endpoint: url }),
    address: 'room team',
    secrets: ['hush-hush_hush-hush'],
    answers: {
      accepted: json(200, { id: '1234567890', type: 0, content: 'Hello' }),
      id: '41771983423143937:1234567890',
      refused: words => json(400, { message: words, code: 50006 }),
      throttled: json(429, { message: 'You are being rate limited.', retry_after: 6.457, global: false }),
    },
    request: {
      path: '/channels/41771983423143937/messages',
      headers: { authorization: 'Bot hush-hush_hush-hush', 'content-type': 'application/json' },
      body: { content: '**Order 7 is paid**\n\nHello Jane', allowed_mentions: { parse: [] } },
    },
  } satisfies ComplianceCase<typeof discordBot.settings>,

  'telegram-bot': {
    provider: telegramBot,
    settings: url => ({ token: '123456:hush-hush_hush-hush-hush', endpoint: url }),
    address: '987654321',
    secrets: ['123456:hush-hush_hush-hush-hush', 'hush-hush_hush-hush-hush'],
    answers: {
      accepted: json(200, { ok: true, result: { message_id: 42, chat: { id: 987654321 }, date: 1700000000 } }),
      id: '987654321:42',
      refused: words => json(400, { ok: false, error_code: 400, description: words }),
      denied: json(404, { ok: false, error_code: 404, description: 'Not Found' }),
      throttled: json(429, { ok: false, error_code: 429, description: 'busy', parameters: { retry_after: 7 } }),
    },
  } satisfies ComplianceCase<typeof telegramBot.settings>,

  'standard-webhooks': {
    provider: standardWebhooks,
    settings: url => ({ url: `${url}/hook`, secret: `whsec_${base64('hush-hush-hush-hush-hush')}` }),
    address: 'jane@acme.test',
    secrets: [base64('hush-hush-hush-hush-hush')],
    answers: { accepted: { status: 204 }, refused: words => ({ status: 422, body: words }) },
  } satisfies ComplianceCase<typeof standardWebhooks.settings>,

  vapid: {
    provider: vapid,
    settings: () => ({ subject: 'mailto:ops@acme.test', ...vapidKeys }),
    address: url => browser.subscribe(`${url}/push/hush-subscription-hush`),
    secrets: ['hush-subscription-hush', vapidKeys.private_key],
    answers: {
      accepted: { status: 201, headers: { location: 'https://push.test/m/message-7' } },
      id: 'message-7',
      refused: words => ({ status: 403, body: words }),
    },
  } satisfies ComplianceCase<typeof vapid.settings>,
};
