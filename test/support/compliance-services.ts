/** Compliance cases of chat, push and alerting services, with the requests and responses of their APIs. */
import { apprise } from '../../src/providers/any/apprise.ts';
import { googleChat } from '../../src/providers/chat/google-chat.ts';
import { matrix } from '../../src/providers/chat/matrix.ts';
import { mattermost } from '../../src/providers/chat/mattermost.ts';
import { rocketchat } from '../../src/providers/chat/rocketchat.ts';
import { signal } from '../../src/providers/chat/signal.ts';
import { webex } from '../../src/providers/chat/webex.ts';
import { zulip } from '../../src/providers/chat/zulip.ts';
import { gotify } from '../../src/providers/push/gotify.ts';
import { ntfy } from '../../src/providers/push/ntfy.ts';
import { pushover } from '../../src/providers/push/pushover.ts';
import { opsgenie } from '../../src/providers/webhook/opsgenie.ts';
import { pagerduty } from '../../src/providers/webhook/pagerduty.ts';
import { base64, type ComplianceCase, exampleId as id, json } from './compliance.ts';

const type = 'application/json';
const markdown = '**Order 7 is paid**\n\nHello Jane';
const plain = 'Order 7 is paid\n\nHello Jane';
const channelId = 'x'.repeat(26);
const pushoverKey = 'u'.repeat(30);
const routingKey = 'hush'.repeat(8);

export const serviceCases = {
  mattermost: {
    provider: mattermost,
    settings: url => ({ server_url: url, token: 'hush-token' }),
    address: channelId,
    secrets: ['hush-token'],
    answers: {
      accepted: json(201, { id: 'post7', channel_id: channelId, message: 'Hello' }),
      id: 'post7',
      refused: words => json(400, { id: 'api.context.invalid_body_param.app_error', message: words, status_code: 400 }),
    },
    request: {
      path: '/api/v4/posts',
      headers: { authorization: 'Bearer hush-token', 'content-type': type },
      body: { channel_id: channelId, message: markdown },
    },
  } satisfies ComplianceCase<typeof mattermost.settings>,

  rocketchat: {
    provider: rocketchat,
    settings: url => ({ server_url: url, user_id: 'user7', token: 'hush-token' }),
    address: '@jane',
    secrets: ['hush-token'],
    answers: {
      accepted: json(200, {
        ts: 1481748965123,
        channel: 'jane',
        message: { _id: 'jC9chsFddTvsbFQG7', rid: 'room7' },
        success: true,
      }),
      id: 'room7:jC9chsFddTvsbFQG7',
      refused: words => json(400, { success: false, error: words, errorType: 'invalid-channel' }),
    },
    request: {
      path: '/api/v1/chat.postMessage',
      headers: { 'x-auth-token': 'hush-token', 'x-user-id': 'user7', 'content-type': type },
      body: { channel: '@jane', text: markdown },
    },
  } satisfies ComplianceCase<typeof rocketchat.settings>,

  'google-chat': {
    provider: googleChat,
    settings: url => ({ url: `${url}/v1/spaces/AAAA/messages?key=hush-hush-hush-key&token=hush-hush-hush-token` }),
    address: 'room team',
    secrets: ['hush-hush-hush-key', 'hush-hush-hush-token'],
    answers: {
      accepted: json(200, { name: 'spaces/AAAA/messages/BBBB.CCCC', text: 'Hello' }),
      id: 'spaces/AAAA/messages/BBBB.CCCC',
      refused: words => json(400, { error: { code: 400, message: words, status: 'INVALID_ARGUMENT' } }),
    },
    request: {
      path: '/v1/spaces/AAAA/messages?key=hush-hush-hush-key&token=hush-hush-hush-token',
      headers: { 'content-type': 'application/json; charset=UTF-8' },
      body: { text: '*Order 7 is paid*\n\nHello Jane' },
    },
  } satisfies ComplianceCase<typeof googleChat.settings>,

  matrix: {
    provider: matrix,
    settings: url => ({ server_url: url, access_token: 'syt_hush_hush' }),
    address: '!room7:acme.test',
    secrets: ['syt_hush_hush'],
    answers: {
      accepted: json(200, { event_id: '$YUwRidLecu:acme.test' }),
      id: '$YUwRidLecu:acme.test',
      refused: words => json(403, { errcode: 'M_FORBIDDEN', error: words }),
      denied: json(401, { errcode: 'M_UNKNOWN_TOKEN', error: 'Unrecognised access token' }),
      throttled: json(429, { errcode: 'M_LIMIT_EXCEEDED', error: 'Too many requests', retry_after_ms: 6_500 }),
    },
    request: {
      method: 'PUT',
      path: `/_matrix/client/v3/rooms/!room7%3Aacme.test/send/m.room.message/${id}`,
      headers: { authorization: 'Bearer syt_hush_hush', 'content-type': type },
      body: {
        msgtype: 'm.text',
        body: plain,
        format: 'org.matrix.custom.html',
        formatted_body: '<p><strong>Order 7 is paid</strong></p><p>Hello <b>Jane</b></p>',
        'm.mentions': {},
      },
    },
  } satisfies ComplianceCase<typeof matrix.settings>,

  zulip: {
    provider: zulip,
    settings: url => ({ server_url: url, bot_email: 'bot@acme.test', api_key: 'hush-key' }),
    address: 'jane@acme.test',
    secrets: ['hush-key', base64('bot@acme.test:hush-key')],
    answers: {
      accepted: json(200, { id: 42, msg: '', result: 'success' }),
      id: '42',
      refused: words => json(400, { code: 'BAD_REQUEST', msg: words, result: 'error' }),
      throttled: json(429, {
        code: 'RATE_LIMIT_HIT',
        msg: 'API usage exceeded rate limit',
        result: 'error',
        'retry-after': 6.5,
      }),
    },
    request: {
      path: '/api/v1/messages',
      headers: {
        authorization: `Basic ${base64('bot@acme.test:hush-key')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: { type: 'direct', to: '["jane@acme.test"]', content: markdown },
    },
  } satisfies ComplianceCase<typeof zulip.settings>,

  webex: {
    provider: webex,
    settings: url => ({ token: 'hush-token', endpoint: `${url}/v1` }),
    address: 'jane@acme.test',
    secrets: ['hush-token'],
    answers: {
      accepted: json(200, { id: 'Y2lzY29zcGFyazovL3Vz', roomId: 'r7', roomType: 'direct' }),
      id: 'r7:Y2lzY29zcGFyazovL3Vz',
      refused: words => json(400, { message: words, errors: [{ description: words }], trackingId: 'ROUTER_7' }),
    },
    request: {
      path: '/v1/messages',
      headers: { authorization: 'Bearer hush-token', 'content-type': type },
      body: { toPersonEmail: 'jane@acme.test', markdown, text: plain },
    },
  } satisfies ComplianceCase<typeof webex.settings>,

  signal: {
    provider: signal,
    settings: url => ({ server_url: url, from: '+15555550100', user: 'belfry', password: 'hush-hush' }),
    address: '+15555550123',
    secrets: ['hush-hush', base64('belfry:hush-hush')],
    answers: {
      accepted: json(201, { timestamp: '1700000000000' }),
      id: '1700000000000',
      refused: words => json(400, { account: '+15555550100', error: words }),
    },
    request: {
      path: '/v2/send',
      headers: { authorization: `Basic ${base64('belfry:hush-hush')}`, 'content-type': type },
      body: { message: plain, number: '+15555550100', recipients: ['+15555550123'] },
    },
  } satisfies ComplianceCase<typeof signal.settings>,

  ntfy: {
    provider: ntfy,
    settings: url => ({ token: 'tk_hush_hush', priority: 4, endpoint: url }),
    address: 'jane-7',
    secrets: ['tk_hush_hush'],
    answers: {
      accepted: json(200, { id: 'hwQ2YpKdmg', time: 1700000000, event: 'message', topic: 'jane-7' }),
      id: 'hwQ2YpKdmg',
      refused: words => json(400, { code: 40009, http: 400, error: words, link: 'https://ntfy.sh/docs' }),
    },
    request: {
      path: '/',
      headers: { authorization: 'Bearer tk_hush_hush', 'content-type': type },
      body: { topic: 'jane-7', title: 'Order 7 is paid', message: 'Hello Jane', priority: 4 },
    },
  } satisfies ComplianceCase<typeof ntfy.settings>,

  gotify: {
    provider: gotify,
    settings: url => ({ server_url: url, token: 'Ahush.hush' }),
    address: 'room team',
    secrets: ['Ahush.hush'],
    answers: {
      accepted: json(200, { id: 25, appid: 5, message: 'Hello', date: '2030-01-02T03:04:05Z' }),
      id: '25',
      refused: words => json(400, { error: 'Bad Request', errorCode: 400, errorDescription: words }),
    },
    request: {
      path: '/message',
      headers: { 'x-gotify-key': 'Ahush.hush', 'content-type': type },
      body: { title: 'Order 7 is paid', message: 'Hello Jane' },
    },
  } satisfies ComplianceCase<typeof gotify.settings>,

  pushover: {
    provider: pushover,
    settings: url => ({ token: 'hush5'.repeat(6), priority: 1, sound: 'bike', ttl_seconds: 60, endpoint: url }),
    address: pushoverKey,
    secrets: ['hush5'.repeat(6)],
    answers: {
      accepted: json(200, { status: 1, request: '647d2300-702c-4b38-8b2f-d56326ae460b' }),
      id: '647d2300-702c-4b38-8b2f-d56326ae460b',
      refused: words => json(400, { status: 0, request: 'r', errors: [words] }),
      denied: json(400, { status: 0, token: 'invalid', errors: ['application token is invalid'] }),
    },
    request: {
      path: '/1/messages.json',
      headers: { 'content-type': type },
      body: {
        token: 'hush5'.repeat(6),
        user: pushoverKey,
        message: 'Hello Jane',
        title: 'Order 7 is paid',
        timestamp: 1893553445,
        priority: 1,
        sound: 'bike',
        ttl: 60,
      },
    },
  } satisfies ComplianceCase<typeof pushover.settings>,

  pagerduty: {
    provider: pagerduty,
    settings: url => ({ routing_key: routingKey, severity: 'critical', endpoint: url }),
    address: 'room team',
    secrets: [routingKey],
    answers: {
      accepted: json(202, { status: 'success', message: 'Event processed', dedup_key: id }),
      id,
      refused: words => json(400, { status: 'invalid event', message: 'Event object is invalid', errors: [words] }),
    },
    request: {
      path: '/v2/enqueue',
      headers: { 'content-type': type },
      body: {
        routing_key: routingKey,
        event_action: 'trigger',
        dedup_key: id,
        payload: {
          summary: 'Order 7 is paid',
          source: 'acme/order-paid',
          severity: 'critical',
          timestamp: '2030-01-02T03:04:05.000Z',
          custom_details: { text: 'Hello Jane' },
        },
        client: 'Belfry',
      },
    },
  } satisfies ComplianceCase<typeof pagerduty.settings>,

  opsgenie: {
    provider: opsgenie,
    settings: url => ({ api_key: 'hush-key', priority: 'P1', endpoint: url }),
    address: 'room team',
    secrets: ['hush-key'],
    answers: {
      accepted: json(202, { result: 'Request will be processed', took: 0.302, requestId: '43a29c5c-3dbf' }),
      id: '43a29c5c-3dbf',
      refused: words => json(422, { message: words, took: 0.1, requestId: 'r' }),
    },
    request: {
      path: '/v2/alerts',
      headers: { authorization: 'GenieKey hush-key', 'content-type': type },
      body: {
        message: 'Order 7 is paid',
        alias: id,
        description: 'Hello Jane',
        source: 'Belfry',
        entity: 'order-paid',
        priority: 'P1',
      },
    },
  } satisfies ComplianceCase<typeof opsgenie.settings>,

  apprise: {
    provider: apprise,
    settings: url => ({
      server_url: url,
      config_key: 'hush-config',
      user: 'belfry',
      password: 'hush-hush',
      tag: 'ops',
    }),
    address: 'room team',
    secrets: ['hush-config', 'hush-hush', base64('belfry:hush-hush')],
    answers: {
      accepted: json(200, { error: null, details: [] }),
      refused: words => json(400, { error: words }),
    },
    request: {
      path: '/notify/hush-config',
      headers: { authorization: `Basic ${base64('belfry:hush-hush')}`, accept: type, 'content-type': type },
      body: {
        title: 'Order 7 is paid',
        body: '<p>Hello <b>Jane</b></p>',
        format: 'html',
        type: 'info',
        tag: 'ops',
      },
    },
  } satisfies ComplianceCase<typeof apprise.settings>,
};
