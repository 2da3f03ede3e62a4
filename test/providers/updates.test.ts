/** How providers update and retract messages, on the wire. */
import { describe, expect, it } from 'vitest';
import { addNote } from '../../src/core/render/note.ts';
import { providers } from '../../src/providers/index.ts';
import type { SentMessage } from '../../src/providers/sending.ts';
import { type ComplianceCase, exampleId as id } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { pushCases } from '../support/compliance-push.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { bot, teamsError } from '../support/teams.ts';
import { json, openWire } from '../support/wire.ts';

const wire = openWire();
const cases = { ...chatCases, ...serviceCases, ...pushCases } as unknown as Record<string, ComplianceCase>;
const note = 'Acknowledged by Jane_*<!here>, 10:04';
const markdown = '**Order 7 is paid**\n\nHello Jane\n\nAcknowledged by Jane\\_\\*\\<!here\\>, 10:04';
const plain = `Order 7 is paid\n\nHello Jane\n\n${note}`;

async function change(name: string, action: 'update' | 'retract', sent: Partial<SentMessage> = {}, reply?: object) {
  const suite = cases[name]!;
  const peer = wire.peer();
  peer.seen.length = 0;
  peer.reply = reply ?? suite.answers.accepted;
  const outgoing = wire.toOutgoing(suite);
  const content = addNote(outgoing.content, note, suite.provider.medium);
  const sender = wire.open(suite);
  const messageId = suite.answers.id ?? id;
  const outcome = await sender[action]!({ ...outgoing, content, messageId, note, change: 'acknowledged', ...sent });
  await sender.close();
  const seen = peer.seen.at(-1)!;
  const isForm = seen.headers['content-type'] === 'application/x-www-form-urlencoded';
  const body = isForm ? Object.fromEntries(new URLSearchParams(seen.body)) : seen.body && JSON.parse(seen.body);
  return { outcome, request: `${seen.method} ${seen.path}`, body, headers: seen.headers };
}

const slackText = '*Order 7 is paid*\n\nHello Jane\n\nAcknowledged by Jane_*&lt;!here&gt;, 10:04';
const matrixMessage = { msgtype: 'm.text', body: plain, 'm.mentions': {} };
const slackId = { channel: 'C0123456789', ts: '1503435956.000247' };
const room = '/_matrix/client/v3/rooms/!room7%3Aacme.test';

const teamsMessage = `/v3/conversations/19%3Aroom%40thread.v2/activities/1632474074231`;
const cardBlock = (text: string, weight?: string) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text, ...(weight && { weight }) }],
});

const updated: Record<string, [request: string, body: unknown]> = {
  slack: ['POST /api/chat.update', { ...slackId, blocks: [], text: slackText }],
  'telegram-bot': [
    'POST /bot123456:hush-hush_hush-hush-hush/editMessageText',
    {
      chat_id: '987654321',
      message_id: 42,
      text: '<b>Order 7 is paid</b>\n\nHello Jane\n\nAcknowledged by Jane_*&lt;!here&gt;, 10:04',
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    },
  ],
  'discord-webhook': [
    'PATCH /api/v10/webhooks/223704706495545344/hush-hush_hush-hush/messages/1234567890',
    { content: markdown, allowed_mentions: { parse: [] }, components: [] },
  ],
  'discord-bot': [
    'PATCH /channels/41771983423143937/messages/1234567890',
    { content: markdown, allowed_mentions: { parse: [] }, components: [] },
  ],
  teams: [
    `PUT ${teamsMessage}`,
    {
      type: 'message',
      from: { id: `28:${bot.app_id}` },
      conversation: { id: '19:room@thread.v2', tenantId: bot.tenant_id },
      summary: 'Order 7 is paid',
      channelData: { tenant: { id: bot.tenant_id } },
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            type: 'AdaptiveCard',
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            version: '1.5',
            body: [cardBlock('Order 7 is paid', 'Bolder'), cardBlock(`Hello Jane\n\n${note}`, 'Default')],
          },
        },
      ],
    },
  ],
  mattermost: ['PUT /api/v4/posts/post7/patch', { message: markdown, props: {} }],
  rocketchat: ['POST /api/v1/chat.update', { roomId: 'room7', msgId: 'jC9chsFddTvsbFQG7', text: markdown }],
  matrix: [
    `PUT ${room}/send/m.room.message/${id}.acknowledged`,
    {
      ...matrixMessage,
      body: `* ${plain}`,
      'm.new_content': matrixMessage,
      'm.relates_to': { rel_type: 'm.replace', event_id: '$YUwRidLecu:acme.test' },
    },
  ],
  zulip: ['PATCH /api/v1/messages/42', { content: markdown }],
  webex: ['PUT /v1/messages/Y2lzY29zcGFyazovL3Vz', { roomId: 'r7', markdown, text: plain }],
  pagerduty: ['POST /v2/enqueue', { routing_key: 'hush'.repeat(8), event_action: 'acknowledge', dedup_key: id }],
  opsgenie: [`POST /v2/alerts/${id}/acknowledge?identifierType=alias`, { source: 'Belfry', note }],
  ntfy: [
    'POST /',
    {
      topic: 'jane-7',
      title: 'Order 7 is paid',
      message: `Hello Jane\n\n${note}`,
      priority: 2,
      sequence_id: 'hwQ2YpKdmg',
    },
  ],
};

const retracted: Record<string, [request: string, body: unknown]> = {
  slack: ['POST /api/chat.delete', slackId],
  'telegram-bot': ['POST /bot123456:hush-hush_hush-hush-hush/deleteMessage', { chat_id: '987654321', message_id: 42 }],
  'discord-webhook': ['DELETE /api/v10/webhooks/223704706495545344/hush-hush_hush-hush/messages/1234567890', ''],
  'discord-bot': ['DELETE /channels/41771983423143937/messages/1234567890', ''],
  teams: [`DELETE ${teamsMessage}`, ''],
  mattermost: ['DELETE /api/v4/posts/post7', ''],
  rocketchat: ['POST /api/v1/chat.delete', { roomId: 'room7', msgId: 'jC9chsFddTvsbFQG7' }],
  matrix: [`PUT ${room}/redact/%24YUwRidLecu%3Aacme.test/${id}.acknowledged`, {}],
  zulip: ['DELETE /api/v1/messages/42', {}],
  webex: ['DELETE /v1/messages/Y2lzY29zcGFyazovL3Vz', ''],
  ntfy: ['DELETE /jane-7/hwQ2YpKdmg', ''],
};

const named = (action: 'update' | 'retract') =>
  Object.values(providers).flatMap(({ name, updates }) => (updates?.includes(action) ? [name] : []));

describe('a provider', () => {
  it('is covered here if it can change messages', () => {
    expect([...Object.keys(updated), 'fcm', 'apns', 'inbox'].sort()).toEqual(named('update').sort());
    expect([...Object.keys(retracted), 'inbox'].sort()).toEqual(named('retract').sort());
  });

  it.each(Object.entries(updated))(
    '%s updates a message with the documented request',
    async (name, [request, body]) => {
      const found = await change(name, 'update');
      expect(found).toMatchObject({ outcome: { ok: true }, request });
      expect(found.body).toEqual(body);
    },
  );

  it.each(Object.entries(retracted))(
    '%s retracts a message with the documented request',
    async (name, [request, body]) => {
      const found = await change(name, 'retract');
      expect(found).toMatchObject({ outcome: { ok: true }, request });
      expect(found.body).toEqual(body);
    },
  );

  it.each(Object.keys(updated))('%s reports when a rate limit ends, and what it refuses', async name => {
    const { answers } = cases[name]!;
    const busy = answers.throttled ?? { status: 429, headers: { 'retry-after': '7' } };
    expect((await change(name, 'update', {}, busy)).outcome).toMatchObject({ retry: true, retryAfterSeconds: 7 });
    const { outcome } = await change(name, 'update', {}, answers.refused('too old'));
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('too old') });
  });
});

it.each([
  ['slack', json(200, { ok: false, error: 'message_not_found' })],
  ['telegram-bot', json(400, { ok: false, description: 'Bad Request: message to delete not found' })],
  ['discord-webhook', json(404, { message: 'Unknown Message', code: 10008 })],
  ['discord-bot', json(404, { message: 'Unknown Message', code: 10008 })],
  ['teams', teamsError(404, 'ActivityNotFoundInConversation')],
  ['mattermost', json(404, { id: 'app.post.get.app_error', message: 'gone' })],
  ['webex', json(404, { message: 'gone' })],
])('%s treats a message that is already gone as retracted', async (name, reply) => {
  expect((await change(name, 'retract', {}, reply)).outcome).toEqual({ ok: true });
});

it('Telegram treats a message that already has this text as updated', async () => {
  const reply = json(400, { ok: false, description: 'Bad Request: message is not modified: specified new message' });
  expect((await change('telegram-bot', 'update', {}, reply)).outcome).toEqual({ ok: true });
});

it.each([
  ['resolved', 'resolve', 'close'],
  ['cancelled', 'resolve', 'close'],
] as const)('an alert ends when its occurrence is %s', async (what, event_action, path) => {
  expect((await change('pagerduty', 'update', { change: what })).body).toMatchObject({ event_action, dedup_key: id });
  const { request } = await change('opsgenie', 'update', { change: what });
  expect(request).toBe(`POST /v2/alerts/${id}/${path}?identifierType=alias`);
});

it('a push message is replaced by one with the same id that makes no sound', async () => {
  const fcm = await change('fcm', 'update');
  expect(fcm.body.message).toMatchObject({
    notification: { body: `Hello Jane\n\n${note}` },
    android: { priority: 'NORMAL', notification: { tag: id } },
    apns: {
      headers: { 'apns-priority': '5', 'apns-collapse-id': id },
      payload: { aps: { 'interruption-level': 'passive' } },
    },
  });
  expect(fcm.body.message.android.notification).not.toHaveProperty('sound');
  const apns = await change('apns', 'update');
  expect(apns.headers).toMatchObject({ 'apns-collapse-id': id, 'apns-priority': '5' });
  const alert = { title: 'Order 7 is paid', body: `Hello Jane\n\n${note}` };
  expect(apns.body.aps).toEqual({ alert, 'interruption-level': 'passive' });
});

it('a message that an earlier version sent is found by its address', async () => {
  expect((await change('slack', 'update', { messageId: '1.2', address: 'C7' })).body).toMatchObject({
    channel: 'C7',
    ts: '1.2',
  });
});
