/** The Teams bot against a strict connector: conversations, cards, updates, and what Teams refuses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Button } from '../../src/core/message/buttons.ts';
import { addNote } from '../../src/core/render/note.ts';
import { createOutbound, type Outbound } from '../../src/lib/network/outbound.ts';
import { teams } from '../../src/providers/chat/teams/teams.ts';
import type { Sender } from '../../src/providers/sending.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { render } from '../support/render.ts';
import {
  actionsOf,
  ann,
  blocked,
  bot,
  cardContent,
  openTeams,
  settingsFor,
  type TeamsService,
  teamsError,
} from '../support/teams.ts';

let service: TeamsService;
let outbound: Outbound;
let sender: Sender;
beforeAll(async () => {
  service = await openTeams();
  outbound = createOutbound({ allow: ['127.0.0.0/8'], timeoutMs: 5_000 });
});
afterAll(async () => {
  await outbound?.close();
  await service?.close();
});
beforeEach(() => {
  service.messages.clear();
  service.direct.clear();
  service.direct.set(ann.aad, 'a:ann');
  service.next = [];
  service.peer.seen.length = 0;
  service.issued = 0;
  sender = teams.open(settingsFor(service.peer.url), { outbound });
});

const room = '19:room@thread.v2';
const channel = '19:693ecdb923ac4458a5c23661b505fc84@thread.tacv2';
const content = cardContent('In the cellar');
const send = (address: string, more: object = {}) => sender.send(exampleOutgoing({ address, content, ...more }));
const requests = () => service.peer.seen.map(({ method, path }) => `${method} ${decodeURIComponent(path)}`);
const only = () => [...service.messages.entries()][0]!;

const buttons: Button[] = [
  { label: 'Acknowledge', token: 't-a', choice: 'a', url: 'https://belfry.test/acknowledge/7' },
  { label: 'Resolve', token: 't-r', choice: 'r' },
  { label: 'Plan', url: 'https://acme.test/plan' },
];

describe('a message', () => {
  it('to a person opens a conversation once, and asks for one token', async () => {
    const outcomes = await Promise.all([send(ann.aad), send(ann.aad)]);
    expect(outcomes).toEqual([{ ok: true, id: expect.stringMatching(/^a:ann 1:\d+$/) }, expect.anything()]);
    await send(ann.aad);
    expect(requests().filter(one => one.includes('/login/'))).toEqual([
      `POST /login/${bot.tenant_id}/oauth2/v2.0/token`,
    ]);
    expect(requests().at(-1)).toBe('POST /teams/v3/conversations/a:ann/activities');
    const opened = service.peer.seen.filter(({ path }) => path === '/teams/v3/conversations');
    expect(JSON.parse(opened[0]!.body)).toEqual({
      bot: { id: `28:${bot.app_id}` },
      isGroup: false,
      members: [{ id: ann.aad }],
      tenantId: bot.tenant_id,
      channelData: { tenant: { id: bot.tenant_id } },
    });
    expect(service.messages.size).toBe(3);
    expect(only()[1]).toMatchObject({ conversation: 'a:ann', summary: 'Fire', card: content.card });
  });

  it('to a channel begins a thread, and one to a chat is added to it', async () => {
    expect(await send(channel)).toEqual({
      ok: true,
      id: expect.stringMatching(/^19:.*@thread\.tacv2;messageid=\d+ 1:\d+$/),
    });
    expect(await send(room)).toEqual({ ok: true, id: expect.stringMatching(/^19:room@thread\.v2 1:\d+$/) });
    expect(requests().slice(1)).toEqual([
      'POST /teams/v3/conversations',
      `POST /teams/v3/conversations/${room}/activities`,
    ]);
  });

  it('has buttons that old clients submit, and links', async () => {
    await send(room, { buttons });
    expect(actionsOf(only()[1].card)).toEqual([
      {
        type: 'Action.Execute',
        title: 'Acknowledge',
        data: { token: 't-a' },
        style: 'positive',
        fallback: { type: 'Action.Submit', title: 'Acknowledge', data: { token: 't-a' }, style: 'positive' },
      },
      {
        type: 'Action.Execute',
        title: 'Resolve',
        data: { token: 't-r' },
        fallback: { type: 'Action.Submit', title: 'Resolve', data: { token: 't-r' } },
      },
      { type: 'Action.OpenUrl', title: 'Plan', url: 'https://acme.test/plan' },
    ]);
  });

  it('that is too large becomes text that fits, with its buttons', async () => {
    expect(await send(room, { content: cardContent('ü'.repeat(30_000)), buttons })).toMatchObject({ ok: true });
    expect(actionsOf(only()[1].card)).toHaveLength(3);
    expect(JSON.stringify(only()[1].card)).toContain('ü…');
  });

  it('goes to the conversation of the settings', async () => {
    const conversation_id = room;
    sender = teams.open({ ...settingsFor(service.peer.url), conversation_id }, { outbound });
    expect(await send('room team')).toMatchObject({ ok: true });
    expect(only()[1].conversation).toBe(room);
  });

  it('to an address that Teams does not know by its form is left to the next provider', () => {
    const settings = settingsFor('https://x.test');
    const accepted = [ann.aad, ann.id, channel, room, 'a:1pL6i0oY3C0K8oAj8', 'jane@acme.test', 'https://x.test', ''];
    expect(accepted.map(address => teams.accepts!(address, settings))).toEqual([
      ...[true, true, true, true, true],
      ...[false, false, false],
    ]);
    expect(teams.accepts!('', { ...settings, conversation_id: room })).toBe(true);
  });
});

describe('a change of a message', () => {
  it('replaces the card with one that ends with the note and has no buttons, and removes it', async () => {
    const rendered = render({ subject: 'Fire', body: 'In the **cellar**' }, { medium: 'teams', scope: {} });
    for (const address of [ann.aad, channel]) {
      service.messages.clear();
      const outgoing = exampleOutgoing({ address, content: rendered, buttons });
      const sent = await sender.send(outgoing);
      const messageId = sent.ok ? sent.id! : '';
      const note = 'Acknowledged by <at>Jane</at>, 10:04';
      const change = {
        ...outgoing,
        content: addNote(rendered, note, 'teams'),
        messageId,
        note,
        change: 'acknowledged',
      } as const;
      expect(await sender.update!(change)).toMatchObject({ ok: true });
      const { card } = only()[1];
      expect(actionsOf(card)).toEqual([]);
      expect(card.body.at(-1)).toEqual({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: note }] });
      expect(JSON.stringify(card)).toContain('cellar');
      expect(await sender.retract!(change)).toEqual({ ok: true });
      expect(service.messages.size).toBe(0);
      expect(await sender.retract!(change)).toEqual({ ok: true });
      expect(await sender.update!(change)).toMatchObject({ ok: false, retry: false });
    }
  });
});

it('a change of a message that is too large keeps the note', async () => {
  const large = addNote(cardContent('ü'.repeat(30_000)), 'Acknowledged by Jane', 'teams');
  const outgoing = exampleOutgoing({ address: room, content: cardContent('In the cellar') });
  const sent = await sender.send(outgoing);
  const change = { ...outgoing, content: large, note: 'Acknowledged by Jane', change: 'acknowledged' } as const;
  expect(await sender.update!({ ...change, messageId: sent.ok ? sent.id! : '' })).toMatchObject({ ok: true });
  expect(JSON.stringify(only()[1].card)).toMatch(/ü…\\n\\nAcknowledged by Jane"/);
});

describe('Teams refuses', () => {
  it('too many messages, and says how long to wait', async () => {
    service.next = [{ ...teamsError(429, 'Throttled'), headers: { 'retry-after': '17' } }];
    expect(await send(room)).toMatchObject({ ok: false, retry: true, retryAfterSeconds: 17 });
    service.next = [teamsError(412, 'PreconditionFailed')];
    expect(await send(room)).toMatchObject({ ok: false, retry: true });
    // While a conversation is opened, nothing was sent.
    service.next = ['drop'];
    const outcome = await send(ann.aad);
    expect(outcome).toMatchObject({ ok: false, retry: true });
    expect(outcome).not.toHaveProperty('unknown');
    service.next = ['drop'];
    expect(await send(room)).toMatchObject({ ok: false, retry: true, unknown: true });
  });

  it('a person without the app, whose address stays, and one who blocked it, whose address does not', async () => {
    service.direct.clear();
    expect(await send(ann.aad)).toEqual({
      ok: false,
      retry: false,
      reason: expect.stringMatching(/^opening a conversation: 403: ForbiddenOperationException: .*install the app/),
    });
    service.next = [teamsError(403, 'BotNotInConversationRoster')];
    const outcome = await send(room);
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('install the app') });
    expect(outcome).not.toHaveProperty('gone');
    for (const reply of [blocked, teamsError(403, 'ConversationBlockedByUser')]) {
      service.next = [reply];
      expect(await send(room)).toMatchObject({ ok: false, retry: false, gone: true });
    }
    service.next = [teamsError(404, 'ConversationNotFound')];
    expect(await send(room)).toMatchObject({ ok: false, gone: true });
  });

  it('a conversation that was deleted, and the next attempt opens another', async () => {
    await send(ann.aad);
    service.direct.set(ann.aad, 'a:other');
    const outcome = await send(ann.aad);
    expect(outcome).toMatchObject({ ok: false, retry: true });
    expect(outcome).not.toHaveProperty('gone');
    expect(await send(ann.aad)).toMatchObject({ ok: true, id: expect.stringContaining('a:other ') });
  });

  it('a wrong secret or directory before anything is sent', async () => {
    const wrong = [{ app_secret: 'hush-another-secret' }, { tenant_id: bot.app_id }, { multi_tenant: true }];
    for (const change of wrong) {
      const settings = { ...settingsFor(service.peer.url), ...change };
      sender = teams.open(settings, { outbound });
      const outcome = await send(room);
      expect(outcome).toMatchObject({ ok: false, retry: false, denied: true });
      expect(outcome).toMatchObject({ reason: expect.stringMatching(/^signing in to Microsoft: 40[01]: AADSTS\d+/) });
      expect(await teams.check!(settings, { outbound })).toEqual(outcome);
    }
    expect(await teams.check!(settingsFor(service.peer.url), { outbound })).toEqual({ ok: true });
    expect(service.messages.size).toBe(0);
  });

  it('a token that was revoked, and the next attempt asks for another', async () => {
    await send(room);
    service.tokens.clear();
    expect(await send(room)).toMatchObject({ ok: false, denied: true });
    expect(await send(room)).toMatchObject({ ok: true });
    expect(service.issued).toBe(2);
  });

  it.each(['drop', 'nonsense', 'garbage', 'slow'])('nothing, but its sign-in fails: %s', async fault => {
    const { peer } = await openBroken(fault);
    sender = teams.open({ ...settingsFor(service.peer.url), login_url: peer.url, timeout_ms: 500 }, { outbound });
    const outcome = await send(room);
    expect(outcome).toMatchObject({ ok: false, retry: true });
    expect(outcome).not.toHaveProperty('unknown');
    expect(service.messages.size).toBe(0);
    await peer.close();
  });
});

async function openBroken(fault: string) {
  const { openHttpPeer } = await import('../support/http-peer.ts');
  const garbage = { status: 200, body: '{"access_token":7}' };
  const reply = fault === 'garbage' ? garbage : fault === 'slow' ? 'hang' : (fault as 'drop' | 'nonsense');
  return { peer: await openHttpPeer(reply) };
}
