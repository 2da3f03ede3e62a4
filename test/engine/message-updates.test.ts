/** Messages that were sent change when their occurrence is acknowledged, resolved or cancelled. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';
import { json } from '../support/wire.ts';

let world: EngineWorld;
let peer: HttpPeer;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: 'https://belfry.test' });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});
beforeEach(async () => {
  peer = await openHttpPeer(answerTo);
});
afterEach(() => peer.close());

/** Answers as Slack, Telegram and Twilio do. */
function answerTo({ path }: RecordedRequest): Reply {
  if (path.startsWith('/slack/')) return json(200, { ok: true, channel: 'D7', ts: '1503435956.000247' });
  if (path.startsWith('/bot')) return json(200, { ok: true, result: { message_id: 42, chat: { id: 7 } } });
  return json(201, { sid: 'CA1' });
}

const calls = (path: string) => peer.seen.filter(one => one.path.includes(path));
const bodiesOf = (path: string) => calls(path).map(one => JSON.parse(one.body));

const slackOf = (url: string) => ({ use: 'slack', token: 'xoxb-hush-hush-hush', endpoint: `${url}/slack` });
const voice = { use: 'twilio-voice', account_sid: `AC${'0'.repeat(32)}`, auth_token: 'x', from: '+15555550100' };
const inbox = { slug: 'app', name: 'App', type: 'inbox', providers: [{ use: 'inbox' }] };

async function alertedTenant(channels: string[], more: object = {}): Promise<[Tenant, id: string]> {
  const { url } = peer;
  const telegram = { use: 'telegram-bot', token: '123456:hush-hush_hush-hush-hush', endpoint: url };
  const tenant = await world.tenant({
    users: [
      {
        email: 'ann@x.test',
        locale: 'de',
        timezone: 'Asia/Kolkata',
        addresses: [
          { name: 'slack', value: 'U7' },
          { name: 'telegram', value: '7' },
          { name: 'voice', value: '+15555550123' },
        ],
      },
    ],
    channels: [
      { slug: 'slack', name: 'Slack', type: 'slack', providers: [slackOf(url)] },
      { slug: 'telegram', name: 'Telegram', type: 'telegram', providers: [telegram] },
      { slug: 'call', name: 'Call', type: 'voice', providers: [{ ...voice, endpoint: url }] },
      inbox,
    ],
    notifications: [
      {
        steps: [{ channels }, { after: '1h', unless: 'acknowledged', channels }],
        message: { subject: 'Disk full', body: 'On *db-1*: {{ acknowledge_url }}' },
        ...more,
      },
    ],
  });
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  return [tenant, id];
}

const act = (tenant: Tenant, id: string, what: string) =>
  tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/${what}/`);

const updatesOf = async (tenant: Tenant, id: string, channel: string) => {
  const delivery = (await tenant.deliveries(id)).find(one => one.channel === channel)!;
  const { body } = await tenant.ask({
    path: `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery.id}/updates/`,
  });
  return body as { change: string; action: string; outcome: string; by: string; detail: string; at: string }[];
};

const summaryOf = async (tenant: Tenant, id: string, channel: string) =>
  (await updatesOf(tenant, id, channel)).map(one => `${one.change}: ${one.action} ${one.outcome}`);

/** Waits until an update of a message has this outcome. */
const updated = (tenant: Tenant, id: string, channel: string, summary: string) =>
  eventually(async () => expect(await summaryOf(tenant, id, channel)).toContain(summary), 8_000);

/** Makes waiting updates due, such as those of a worker that died. */
async function hurryUpdates(tenant: Tenant): Promise<void> {
  await tenant.sql(
    `update message_updates set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`,
  );
  await tenant.sql(`select pg_notify('belfry_stop', '${tenant.id} ${uuidv7(Date.now())}')`);
}

test('an acknowledgement updates the messages of an escalation in place, and a resolution does it again', async () => {
  const [tenant, id] = await alertedTenant(['slack', 'telegram', 'call']);
  expect(peer.seen).toHaveLength(3);
  expect(await updatesOf(tenant, id, 'slack')).toEqual([]);
  expect((await act(tenant, id, 'acknowledge')).body).toMatchObject({ changed: true });
  await updated(tenant, id, 'slack', 'acknowledged: update done');
  await updated(tenant, id, 'telegram', 'acknowledged: update done');
  const note = /^Übernommen von API key test, \d\d:\d\d$/;
  const [slack] = bodiesOf('/slack/chat.update');
  expect(slack).toMatchObject({ channel: 'D7', ts: '1503435956.000247' });
  expect(slack.blocks.at(-1)).toEqual({
    type: 'context',
    elements: [{ type: 'plain_text', text: expect.stringMatching(note) }],
  });
  // With the same link as before.
  const [sent] = bodiesOf('/slack/chat.postMessage');
  expect(sent.text).toMatch(/https:\/\/belfry\.test\/acknowledge\/\S{20}/);
  expect(slack.text.startsWith(`${sent.text}\n\n`)).toBe(true);
  const [telegram] = bodiesOf('/editMessageText');
  expect(telegram).toMatchObject({ chat_id: '7', message_id: 42, parse_mode: 'HTML' });
  expect(telegram.text.split('\n').at(-1)).toMatch(note);
  expect(telegram).not.toHaveProperty('reply_markup');

  expect(await updatesOf(tenant, id, 'call')).toMatchObject([
    {
      change: 'acknowledged',
      action: null,
      outcome: 'unsupported',
      detail: 'Twilio Voice cannot change a message after it was sent.',
    },
  ]);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ann@x.test` });
  const explanations = why.body.answers.map((one: { explanation: string }) => one.explanation);
  expect(explanations[0]).toMatch(/It was updated at \S+, after the occurrence was acknowledged by API key test\.$/);
  expect(explanations[2]).toContain('It was not changed after the occurrence was acknowledged by API key test: Twilio');

  expect((await act(tenant, id, 'resolve')).body).toMatchObject({ changed: true });
  await updated(tenant, id, 'slack', 'resolved: update done');
  await updated(tenant, id, 'telegram', 'resolved: update done');
  expect(await summaryOf(tenant, id, 'slack')).toEqual(['acknowledged: update done', 'resolved: update done']);
  expect(bodiesOf('/editMessageText')[1].text).toMatch(/\n\nErledigt durch API key test, \d\d:\d\d$/);
  // Nothing is queued for calls, and the second step did not run.
  await eventually(async () => {
    const rows = await tenant.sql('select status from message_updates where organization_id = $1', tenant.id);
    expect(rows).toEqual([{ status: 'done' }, { status: 'done' }]);
  });
  expect(peer.seen).toHaveLength(7);
});

test('a cancellation retracts messages, also from the inbox', async () => {
  const [tenant, id] = await alertedTenant(['slack', 'telegram', 'app']);
  expect((await act(tenant, id, 'cancel')).status).toBe(200);
  for (const channel of ['slack', 'telegram', 'app']) await updated(tenant, id, channel, 'cancelled: retract done');
  expect(bodiesOf('/slack/chat.delete')).toEqual([{ channel: 'D7', ts: '1503435956.000247' }]);
  expect(bodiesOf('/deleteMessage')).toEqual([{ chat_id: '7', message_id: 42 }]);
  const messages = await tenant.ask({ path: `/api/o/${tenant.slug}/u/ann@x.test/inbox/` });
  expect(messages.body).toEqual([]);
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/activity/?state=retracted` });
  expect(body.map(({ state, status }: { state: string; status: string }) => `${status}, ${state}`)).toEqual(
    Array(3).fill('sent, retracted'),
  );
});

test('the inbox shows who acknowledged, and no buttons', async () => {
  const actions = [{ name: 'mine', label: 'I take it', acknowledge: true }];
  const [tenant, id] = await alertedTenant(['app'], { message: { subject: 'Disk full', body: 'On db-1', actions } });
  const path = `/api/o/${tenant.slug}/u/ann@x.test/inbox/`;
  const before = (await tenant.ask({ path })).body[0];
  expect(before).toMatchObject({ body: 'On db-1', actions: [{ name: 'mine' }] });
  await act(tenant, id, 'acknowledge');
  await updated(tenant, id, 'app', 'acknowledged: update done');
  const after = (await tenant.ask({ path })).body[0];
  expect(after.body).toMatch(/^On db-1\n\nÜbernommen von API key test, \d\d:\d\d$/);
  expect(after.actions).toEqual([]);
});

test('an update that is limited is tried again after the time that the provider asks for', async () => {
  const [tenant, id] = await alertedTenant(['slack']);
  peer.reply = seen =>
    calls('chat.update').length === 1
      ? json(429, { ok: false, error: 'ratelimited' }, { 'retry-after': '3600' })
      : answerTo(seen);
  await act(tenant, id, 'acknowledge');
  await updated(tenant, id, 'slack', 'acknowledged: update retrying');
  const [{ seconds }] = (await tenant.sql<{ seconds: number }>(
    `select extract(epoch from due_at - now())::int as seconds from message_updates where organization_id = $1`,
    tenant.id,
  )) as [{ seconds: number }];
  expect(seconds).toBeGreaterThan(3_500);
  await hurryUpdates(tenant);
  await updated(tenant, id, 'slack', 'acknowledged: update done');
  expect(await updatesOf(tenant, id, 'slack')).toMatchObject([
    { outcome: 'retrying', detail: '429: ratelimited' },
    { outcome: 'done', detail: null },
  ]);
});

test('an update that the provider refuses is on record as failed', async () => {
  const [tenant, id] = await alertedTenant(['slack']);
  // The reason is cut in the middle of a character.
  peer.reply = json(200, { ok: false, error: `${'x'.repeat(293)}😀😀` });
  await act(tenant, id, 'acknowledge');
  await updated(tenant, id, 'slack', 'acknowledged: update failed');
  expect(await updatesOf(tenant, id, 'slack')).toMatchObject([
    { detail: expect.stringMatching(/^200: x{293}\ufffd…$/) },
  ]);
  expect(calls('chat.update')).toHaveLength(1);
});

test('a later change waits for the earlier one in flight, and wins', async () => {
  const [tenant, id] = await alertedTenant(['slack']);
  peer.reply = 'hang';
  await act(tenant, id, 'acknowledge');
  await eventually(() => expect(calls('chat.update')).toHaveLength(1));
  await act(tenant, id, 'resolve');
  await eventually(async () => {
    const rows = await tenant.sql(
      'select change, claimed from message_updates where organization_id = $1 and delivery_id > 0',
      tenant.id,
    );
    expect(rows).toEqual([{ change: 'resolved', claimed: true }]);
  });
  expect(calls('chat.update')).toHaveLength(1);
  peer.reply = answerTo;
  // As when the worker has died: its claim ends, and its late outcome has no effect.
  await hurryUpdates(tenant);
  await updated(tenant, id, 'slack', 'resolved: update done');
  expect(bodiesOf('chat.update').at(-1).text).toMatch(/Erledigt durch/);
});

test('the update that a dead worker had claimed is made by another', async () => {
  const [tenant, id] = await alertedTenant(['slack']);
  await tenant.post(`/api/o/${tenant.slug}/c/slack/pause/`);
  await act(tenant, id, 'acknowledge');
  const waiting = () =>
    tenant.sql(
      `select attempts from message_updates
       where organization_id = $1 and delivery_id > 0 and status = 'waiting' and claims > 0 and not claimed`,
      tenant.id,
    );
  await eventually(async () => expect(await waiting()).toMatchObject([{ attempts: 0 }]));
  await tenant.post(`/api/o/${tenant.slug}/c/slack/resume/`);
  // Claimed by a worker that no longer exists.
  await tenant.sql(
    'update message_updates set claimed = true, claims = claims + 1, attempts = 1 where organization_id = $1',
    tenant.id,
  );
  await hurryUpdates(tenant);
  await updated(tenant, id, 'slack', 'acknowledged: update done');
  expect(calls('chat.update')).toHaveLength(1);
});

test('more messages than a worker updates at once are all updated, and those of another organization too', {
  tags: ['sweep'],
}, async () => {
  const users = Array.from({ length: 300 }, (_, i) => `user-${i}@x.test`);
  const tenants = await Promise.all(
    [users, users.slice(0, 3)].map(some =>
      world.tenant({ users: some, channels: [inbox], notifications: [{ channels: ['app'] }] }),
    ),
  );
  const counts = await Promise.all(
    tenants.map(async tenant => {
      const id = await tenant.trigger();
      await tenant.outcomes(id);
      await act(tenant, id, 'resolve');
      return eventually(async () => {
        const rows = await tenant.sql<{ status: string; count: number }>(
          'select status, count(*)::int from message_updates where organization_id = $1 group by 1',
          tenant.id,
        );
        expect(rows.map(({ status }) => status)).toEqual(['done']);
        return rows[0]!.count;
      }, 30_000);
    }),
  );
  expect(counts).toEqual([300, 3]);
});
