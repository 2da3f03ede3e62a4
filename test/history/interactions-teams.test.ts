/** Buttons and messages in Microsoft Teams: what is verified, who may act, and what is answered. */
import { createHmac } from 'node:crypto';
import { exportSPKI, generateKeyPair } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { SignedDocuments } from '../../src/services/history/feedback/requests.ts';
import { eventually } from '../support/eventually.ts';
import { openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';
import {
  actionsOf,
  ann,
  bot,
  openTeams,
  post,
  pressed,
  settingsFor,
  submitted,
  type TeamsService,
} from '../support/teams.ts';

const origin = 'https://belfry.test';
let world: EngineWorld;
let service: TeamsService;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: origin });
  service = await openTeams();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await service.close();
});
beforeEach(() => {
  service.messages.clear();
  service.texts.length = 0;
  service.direct.set(ann.aad, 'a:ann');
});

const people = {
  users: [
    // As Microsoft Entra shows it in some places.
    { email: 'ann@x.test', addresses: [{ name: 'teams', value: ann.aad.toUpperCase() }] },
    { email: 'room@x.test', addresses: [{ name: 'teams', value: '19:room@thread.tacv2' }] },
  ],
  members: ['ann@x.test'],
};

async function openTenant(settings: object = {}, more: object = {}): Promise<Tenant> {
  const provider = { use: 'teams', ...settingsFor(service.peer.url), ...settings };
  const channels = [{ slug: 'teams', name: 'Teams', type: 'teams', providers: [provider] }];
  const steps = [{ channels: ['teams'] }, { after: '1h', unless: 'acknowledged', channels: ['teams'] }];
  const message = { subject: 'Fire', body: 'In the cellar' };
  return world.tenant({ ...people, channels, notifications: [{ steps, message }], ...more });
}

async function start(tenant: Tenant): Promise<string> {
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  return id;
}

type Posted = Awaited<ReturnType<typeof post>>;

async function deliver(tenant: Tenant, { body, headers }: Posted) {
  const { body: shown } = await tenant.ask({ path: `/api/o/${tenant.slug}/c/teams/` });
  const [{ url, ready }] = shown.interactions;
  expect(ready).toBe(true);
  const response = await fetch(world.service.address + new URL(url).pathname, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text() };
}

const context = (more: object = {}) => ({ url: service.peer.url, ...more });
const buttonOf = (title: string): string =>
  actionsOf([...service.messages.values()].at(-1)!.card).find(one => one.title === title).data.token;
const said = (text: string) => JSON.parse(text);

test('a button acknowledges, the answer is private, and the card says so and loses its buttons', async () => {
  const tenant = await openTenant();
  const id = await start(tenant);
  const [messageId, { conversation, card }] = [...service.messages][0]!;
  expect(conversation).toBe('a:ann');
  expect(actionsOf(card).map(one => one.title)).toEqual(['Acknowledge', 'Resolve', 'Snooze 1 h']);
  const token = buttonOf('Acknowledge');
  const eve = { aad: '00000000-0000-4000-8000-000000000000', id: '29:eve', name: 'Eve' };
  const unknown = await deliver(tenant, await post(pressed(token), context({ user: eve })));
  expect(said(unknown.text)).toMatchObject({ statusCode: 200, value: expect.stringContaining(`teams ${eve.aad}`) });
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });

  const { status, text } = await deliver(tenant, await post(pressed(token), context()));
  expect(status).toBe(200);
  expect(said(text)).toEqual({
    statusCode: 200,
    type: 'application/vnd.microsoft.activity.message',
    value: expect.stringMatching(/^Acknowledged by ann@x\.test in Teams on .* No one else is alerted\.$/),
  });
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test in Teams' });
  await eventually(async () => {
    const { card: updated } = service.messages.get(messageId)!;
    expect(actionsOf(updated)).toEqual([]);
    expect(JSON.stringify(updated)).toContain('Acknowledged by ann@x.test in Teams, ');
  });
  expect(service.texts).toEqual([]);
});

test('buttons snooze and resolve, also those of a client that submits them', async () => {
  const tenant = await openTenant();
  const id = await start(tenant);
  const [snooze, resolve] = [buttonOf('Snooze 1 h'), buttonOf('Resolve')];
  expect(said((await deliver(tenant, await post(pressed(snooze), context()))).text).value).toMatch(/^Snoozed by ann/);
  expect(await tenant.occurrence(id)).toMatchObject({ snoozed_by: 'ann@x.test in Teams' });
  expect(await deliver(tenant, await post(submitted(resolve), context()))).toEqual({ status: 200, text: '' });
  expect(service.texts).toEqual([
    { conversation: 'a:ann', text: expect.stringMatching(/^Resolved by ann@x\.test in Teams/) },
  ]);
  expect(await tenant.occurrence(id)).toMatchObject({ resolved_by: 'ann@x.test in Teams' });
});

test('a request that Microsoft did not sign for this bot, now and for this tenant, is refused', async () => {
  const tenant = await openTenant();
  const id = await start(tenant);
  const activity = pressed(buttonOf('Acknowledge'));
  const signed = await post(activity, context());
  const [header, payload] = signed.headers.authorization.slice('Bearer '.length).split('.') as [string, string];
  const unsigned = `${Buffer.from('{"alg":"none","kid":"teams"}').toString('base64url')}.${payload}.`;
  const { publicKey } = await generateKeyPair('RS256', { extractable: true });
  const symmetric = `${Buffer.from('{"alg":"HS256","kid":"teams"}').toString('base64url')}.${payload}`;
  const withPublicKey = createHmac('sha256', await exportSPKI(publicKey))
    .update(symmetric)
    .digest('base64url');
  const as = (authorization: string) => post(activity, context(), { authorization });
  const other = { ...ann };
  const forged: Record<string, Posted> = {
    'no token': { ...signed, headers: { 'content-type': 'application/json' } as never },
    'no bearer': await as(signed.headers.authorization.replace('Bearer', 'Basic')),
    unsigned: await as(`Bearer ${unsigned}`),
    'a symmetric signature': await as(`Bearer ${symmetric}.${withPublicKey}`),
    'another signature': await as(`Bearer ${header}.${payload}.${'A'.repeat(342)}`),
    'a key that is not published': await post(activity, context(), { key: 'unpublished' }),
    'a key under the name of another': await post(activity, context(), { key: 'unpublished', kid: 'teams' }),
    'a key for another channel': await post(activity, context(), { key: 'webchat' }),
    'another issuer': await post(activity, context(), { claims: { iss: 'https://api.botframework.us' } }),
    'another bot': await post(activity, context(), { claims: { aud: bot.tenant_id } }),
    'too old': await post(activity, context(), { expiresIn: -301 }),
    'not valid yet': await post(activity, context(), { claims: { nbf: Math.floor(Date.now() / 1_000) + 330 } }),
    'another service URL': await post(activity, context(), { claims: { serviceurl: 'https://evil.test/' } }),
    'no service URL': await post(activity, context({ more: { serviceUrl: undefined } }), {
      claims: { serviceurl: undefined },
    }),
    'another channel': await post(activity, context({ more: { channelId: 'webchat' } })),
    'another tenant': await post(activity, context({ user: other, conversation: { id: 'a:x', tenantId: bot.app_id } })),
    'no JSON': { ...signed, body: 'hello' },
  };
  for (const [what, request] of Object.entries(forged)) {
    const answer = await deliver(tenant, request);
    expect([what, answer.status, said(answer.text).code]).toEqual([what, 401, 'interaction.refused']);
  }
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_at: null });
  expect(service.texts).toEqual([]);
  // Clocks may differ.
  expect((await deliver(tenant, await post(activity, context(), { expiresIn: -200 }))).status).toBe(200);
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'ann@x.test in Teams' });
});

test('a person who writes to the bot or adds it is answered with the address of that chat', async () => {
  const tenant = await openTenant();
  const channel = '19:room@thread.tacv2';
  const group = '19:group@thread.v2';
  const mentioned = { type: 'message', text: '<at>Belfry</at> hello' };
  const thread = { conversationType: 'channel', id: `${channel};messageid=1`, tenantId: bot.tenant_id };
  const posts = [
    await post({ type: 'message', text: 'Hello' }, context()),
    await post({ type: 'installationUpdate', action: 'add' }, context()),
    await post(mentioned, context({ conversation: thread, more: { channelData: { channel: { id: channel } } } })),
    await post({ ...mentioned, locale: 'de-DE' }, context({ conversation: { id: group, tenantId: bot.tenant_id } })),
    // Without anything to say.
    await post({ type: 'installationUpdate', action: 'remove' }, context()),
    await post({ type: 'conversationUpdate', membersAdded: [{ id: ann.id }] }, context()),
    await post({ type: 'messageReaction' }, context()),
    await post({ type: 'invoke', name: 'composeExtension/query', value: {} }, context()),
  ];
  const before = service.issued;
  for (const one of posts) expect(await deliver(tenant, one)).toEqual({ status: 200, text: '' });
  const english = 'Belfry sends messages to this chat if its address is: ';
  expect(service.texts).toEqual([
    { conversation: 'a:ann', text: english + ann.aad },
    { conversation: 'a:ann', text: english + ann.aad },
    { conversation: thread.id, text: english + channel },
    { conversation: group, text: `Belfry schickt Nachrichten in diesen Chat, wenn dies die Adresse ist: ${group}` },
  ]);
  // All of these answers had the same token.
  expect(service.issued - before).toBeLessThanOrEqual(1);
});

test('a reply acknowledges the newest open alert of the person, and repeating it does not acknowledge another', async () => {
  const tenant = await openTenant();
  const older = await start(tenant);
  const newer = await start(tenant);
  const reply = await post({ type: 'message', text: 'ack' }, context());
  await deliver(tenant, reply);
  await deliver(tenant, reply);
  expect(service.texts).toEqual([
    { conversation: 'a:ann', text: expect.stringMatching(/^Acknowledged by ann@x\.test in Teams/) },
  ]);
  expect(await tenant.occurrence(newer)).toMatchObject({ acknowledged_by: 'ann@x.test in Teams' });
  expect(await tenant.occurrence(older)).toMatchObject({ acknowledged_at: null });
});

test('in a channel, everyone may act if the settings say so', async () => {
  const room = { members: ['room@x.test'] };
  const tenant = await openTenant({ anyone_may_act: true }, room);
  const id = await start(tenant);
  const { conversation } = [...service.messages.values()][0]!;
  expect(conversation).toMatch(/^19:room@thread\.tacv2;messageid=\d+$/);
  const where = { conversationType: 'channel', id: conversation, tenantId: bot.tenant_id };
  const token = buttonOf('Acknowledge');
  await deliver(
    tenant,
    await post(pressed(token), context({ conversation: where, user: { id: '29:eve', name: 'Eve' } })),
  );
  expect(await tenant.occurrence(id)).toMatchObject({ acknowledged_by: 'Eve in Teams' });
});

test('the keys of a signature are fetched once an hour, and used for a day if they cannot be fetched', async () => {
  const peer = await openHttpPeer({ body: 'first' });
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
  const documents = new SignedDocuments(outbound);
  const hour = 3_600_000;
  expect(await Promise.all([documents.read(peer.url, 0), documents.read(peer.url, hour - 1)])).toEqual([
    'first',
    'first',
  ]);
  expect(peer.seen).toHaveLength(1);
  peer.reply = { status: 503 };
  expect(await Promise.all([documents.read(peer.url, hour), documents.read(peer.url, hour)])).toEqual([
    'first',
    'first',
  ]);
  expect(await documents.read(peer.url, hour + 59_000)).toBe('first');
  expect(peer.seen).toHaveLength(2);
  peer.reply = { body: 'second' };
  expect(await documents.read(peer.url, hour + 61_000)).toBe('second');
  peer.reply = { body: 'x'.repeat(600_000) };
  await expect(documents.read(peer.url, 30 * hour)).rejects.toThrow(/did not send the whole document/);
  peer.reply = { status: 404 };
  await expect(documents.read(peer.url, 30 * hour)).rejects.toThrow('its server answered 404');
  await outbound.close();
  await peer.close();
});
