/** Teams, Discord and Telegram on the wire, and their errors. */
import { describe, expect, it } from 'vitest';
import { chatCases } from '../support/compliance-chat.ts';
import type { RecordedRequest } from '../support/http-peer.ts';
import { json, openWire } from '../support/wire.ts';

const { 'teams-workflow': teams, 'discord-webhook': discord, 'telegram-bot': telegram, slack } = chatCases;
const discordBot = chatCases['discord-bot'];
const wire = openWire();
const bodyOf = (seen: RecordedRequest) => JSON.parse(seen.body);

describe('a Teams workflow', () => {
  it('receives the card in its envelope', async () => {
    const card = { type: 'AdaptiveCard', version: '1.5', body: [] };
    const { seen, outcome } = await wire.send(teams, { content: { card } });
    expect(seen.method).toBe('POST');
    expect(seen.path).toBe(
      '/workflows/hushworkflowhush/triggers/manual/paths/invoke?api-version=1&sig=hush-hush_hush-hush',
    );
    expect(seen.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(bodyOf(seen)).toEqual({
      type: 'message',
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: card }],
    });
    expect(outcome).toEqual({ ok: true });
  });

  it('receives a plain card if there is none', async () => {
    const { content } = bodyOf((await wire.send(teams)).seen).attachments[0];
    expect(content).toMatchObject({ type: 'AdaptiveCard', version: '1.5' });
    expect(JSON.stringify(content.body)).toMatch(/Order 7 is paid.*Hello Jane/);
  });

  it('receives shortened text instead of a card that it would accept but never show', async () => {
    const card = { type: 'AdaptiveCard', version: '1.5', body: ['x'.repeat(30_000)] };
    const { outcome, seen } = await wire.send(teams, { content: { card, text: 'ü'.repeat(15_000) } });
    expect(outcome).toMatchObject({ ok: true });
    expect(Buffer.byteLength(seen.body)).toBeLessThanOrEqual(28 * 1_024);
    expect(JSON.stringify(bodyOf(seen).attachments[0].content.body)).toMatch(/Order 7 is paid.*ü…/);
  });
});

describe('a Discord webhook', () => {
  it('receives markup that mentions no one, and is asked for the outcome', async () => {
    const { seen } = await wire.send(discord, { content: { markup: 'Hello **Jane** @everyone' } });
    expect([seen.method, seen.path]).toEqual([
      'POST',
      '/api/v10/webhooks/223704706495545344/hush-hush_hush-hush?wait=true',
    ]);
    expect(seen.headers['content-type']).toBe('application/json');
    expect(bodyOf(seen)).toEqual({
      content: '**Order 7 is paid**\n\nHello **Jane** @\u200beveryone',
      allowed_mentions: { parse: [] },
    });
  });

  it('receives escaped plain text', async () => {
    const { seen } = await wire.send(discord, { content: { title: '*a*', text: '# b `c` [d](e)' } });
    expect(bodyOf(seen).content).toBe('**\\*a\\***\n\n\\# b \\`c\\` \\[d\\]\\(e\\)');
  });

  it('can post into a thread under another name', async () => {
    const { seen } = await wire.send(discord, { settings: { thread_id: '42', username: 'Belfry' } });
    expect(new URLSearchParams(seen.path.split('?')[1]).get('thread_id')).toBe('42');
    expect(bodyOf(seen).username).toBe('Belfry');
  });

  it('receives at most 2000 characters, without splitting one', async () => {
    const { seen } = await wire.send(discord, { content: { title: '', markup: `${'x'.repeat(1998)}😀😀` } });
    const { content } = bodyOf(seen);
    expect(content).toBe(`${'x'.repeat(1998)}…`);
    const exact = await wire.send(discord, { content: { title: '', markup: 'y'.repeat(2000) } });
    expect(bodyOf(exact.seen).content).toBe('y'.repeat(2000));
  });

  it('that was deleted is not retried', async () => {
    const reply = json(404, { message: 'Unknown Webhook', code: 10015 });
    const { outcome } = await wire.send(discord, { reply });
    expect(outcome).toEqual({ ok: false, retry: false, denied: true, reason: '404: Unknown Webhook' });
  });
});

describe('a Telegram bot', () => {
  it('sends HTML to a chat', async () => {
    const { seen } = await wire.send(telegram, { content: { title: 'a < b', markup: 'Hello <b>Jane</b>' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/bot123456:hush-hush_hush-hush-hush/sendMessage']);
    expect(seen.headers['content-type']).toBe('application/json');
    expect(bodyOf(seen)).toEqual({
      chat_id: '987654321',
      text: '<b>a &lt; b</b>\n\nHello <b>Jane</b>',
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    });
  });

  it('escapes plain text, and shows previews if configured', async () => {
    const { seen } = await wire.send(telegram, { settings: { link_preview: true }, content: { text: '1 < 2 & <b>' } });
    expect(bodyOf(seen)).toMatchObject({
      text: '<b>Order 7 is paid</b>\n\n1 &lt; 2 &amp; &lt;b&gt;',
      link_preview_options: { is_disabled: false },
    });
  });

  it('omits markup if the message must be truncated', async () => {
    const content = { title: 'T', text: 'x'.repeat(5000), markup: `<b>${'x'.repeat(5000)}</b>` };
    const body = bodyOf((await wire.send(telegram, { content })).seen);
    expect(body).not.toHaveProperty('parse_mode');
    expect(body.text).toBe(`T\n\n${'x'.repeat(4092)}…`);
    const marked = { title: '', text: 'x', markup: `<b>${'&amp;'.repeat(4096)}</b>` };
    expect(bodyOf((await wire.send(telegram, { content: marked })).seen).parse_mode).toBe('HTML');
  });

  const refuse = (code: number, description: string, parameters?: object) =>
    json(code, { ok: false, error_code: code, description, parameters });

  it('sends again without markup if Telegram cannot parse it', async () => {
    const reply = ({ body }: RecordedRequest) =>
      body.includes('parse_mode') ? refuse(400, "Bad Request: can't parse entities: x") : telegram.answers.accepted;
    const { outcome, all } = await wire.send(telegram, { content: { markup: '<b>oops' }, reply });
    expect(outcome).toMatchObject({ ok: true });
    expect(bodyOf(all[1]!)).toMatchObject({ chat_id: '987654321', text: 'Order 7 is paid\n\nHello Jane' });
    expect(all).toHaveLength(2);
  });

  it('follows a group to its new id', async () => {
    const moved = refuse(400, 'Bad Request: group chat was upgraded', { migrate_to_chat_id: -1001234 });
    const reply = ({ body }: RecordedRequest) => (body.includes('-1001234') ? telegram.answers.accepted : moved);
    const { outcome, all } = await wire.send(telegram, { reply });
    expect(outcome).toMatchObject({ ok: true });
    expect(all.map(seen => bodyOf(seen).chat_id)).toEqual(['987654321', '-1001234']);
  });

  it.each(['Forbidden: bot was blocked by the user', 'Forbidden: user is deactivated', 'Forbidden: bot was kicked'])(
    'gives an address up after "%s"',
    async description => {
      const { outcome } = await wire.send(telegram, { reply: refuse(403, description) });
      expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: `403: ${description}` });
    },
  );

  it.each([
    [400, 'Bad Request: chat not found'],
    [401, 'Unauthorized'],
    [403, "Forbidden: bot can't send messages to the user"],
  ])('keeps the address after %d "%s"', async (code, description) => {
    const { outcome, all } = await wire.send(telegram, { reply: refuse(code, description) });
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: `${code}: ${description}` });
    expect(outcome).not.toHaveProperty('gone');
    expect(all).toHaveLength(1);
  });
});

describe('a Discord bot', () => {
  it('opens a direct channel with each user once', async () => {
    const peer = wire.peer();
    peer.seen.length = 0;
    peer.reply = ({ path }) => (path.endsWith('/@me/channels') ? json(200, { id: '99' }) : discordBot.answers.accepted);
    const { channel_id: _, ...settings } = discordBot.settings(peer.url);
    const sender = wire.open({ ...discordBot, settings: () => settings });
    const outgoing = { ...wire.toOutgoing(discordBot), address: '80351110224678912' };
    for (const _ of [1, 2]) expect(await sender.send(outgoing)).toEqual({ ok: true, id: '99:1234567890' });
    const paths = peer.seen.map(({ path }) => path);
    expect(paths).toEqual(['/users/@me/channels', '/channels/99/messages', '/channels/99/messages']);
    expect(bodyOf(peer.seen[0]!)).toEqual({ recipient_id: '80351110224678912' });
    await sender.close();
  });
});

it('a message whose buttons are refused is sent without them', async () => {
  const outgoing = { buttons: [{ label: 'Plan', url: 'http://localhost/' }] };
  const refuseButtons = (refusal: object, accepted: object) => (seen: RecordedRequest) =>
    /"(reply_markup|components|actions)"/.test(seen.body) ? refusal : accepted;
  const refusals = {
    telegram: json(400, { ok: false, description: "Bad Request: inline keyboard button URL 'x' is invalid" }),
    discord: json(400, { message: 'Invalid Form Body', code: 50035 }),
    slack: json(200, { ok: false, error: 'invalid_blocks' }),
  };
  const sent = [
    await wire.send(telegram, { outgoing, reply: refuseButtons(refusals.telegram, telegram.answers.accepted) }),
    await wire.send(discordBot, { outgoing, reply: refuseButtons(refusals.discord, discordBot.answers.accepted) }),
    await wire.send(slack, {
      settings: { signing_secret: 's' },
      outgoing,
      reply: refuseButtons(refusals.slack, slack.answers.accepted),
    }),
  ];
  for (const { outcome, all } of sent) {
    expect(outcome).toMatchObject({ ok: true });
    expect(all).toHaveLength(2);
  }
});
