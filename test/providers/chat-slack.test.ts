/** Slack on the wire, and its error codes. */
import { describe, expect, it } from 'vitest';
import { chatCases } from '../support/compliance-chat.ts';
import type { RecordedRequest, Reply } from '../support/http-peer.ts';
import { json, openWire } from '../support/wire.ts';

const { slack, 'slack-webhook': slackWebhook } = chatCases;
const wire = openWire();
const bodyOf = (seen: RecordedRequest) => JSON.parse(seen.body);

describe('a Slack webhook', () => {
  it('receives blocks, and markup as their fallback', async () => {
    const card = [{ type: 'rich_text', elements: [] }];
    const { seen } = await wire.send(slackWebhook, { content: { markup: 'Hello *Jane*', card } });
    expect([seen.method, seen.path]).toEqual(['POST', '/services/T00000000/B00000000/hushhushhushhushhushhush']);
    expect(seen.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(seen.headers).not.toHaveProperty('authorization');
    expect(bodyOf(seen)).toEqual({ text: '*Order 7 is paid*\n\nHello *Jane*', blocks: card });
  });

  it('receives text that mentions no one', async () => {
    const { seen } = await wire.send(slackWebhook, { content: { title: 'a <b> & *c*', text: '<!channel> 1 > 0' } });
    expect(bodyOf(seen)).toEqual({ text: 'a &lt;b&gt; &amp; *c*\n\n&lt;!channel&gt; 1 &gt; 0' });
  });

  it('receives no title that only repeats the first line', async () => {
    const { seen } = await wire.send(slackWebhook, { content: { title: 'Hello Jane', text: 'Hello Jane\n\nBye' } });
    expect(bodyOf(seen)).toEqual({ text: 'Hello Jane\n\nBye' });
    const long = await wire.send(slackWebhook, { content: { title: 'Hello…', text: 'Hello Jane, this is long' } });
    expect(bodyOf(long.seen)).toEqual({ text: 'Hello Jane, this is long' });
  });

  it('reports an error by its code', async () => {
    const { outcome } = await wire.send(slackWebhook, { reply: { status: 404, body: 'no_service' } });
    expect(outcome).toEqual({ ok: false, retry: false, denied: true, reason: '404: no_service' });
  });
});

describe('a Slack bot', () => {
  it('posts to a channel or a user by id', async () => {
    const { seen, all } = await wire.send(slack, { content: { markup: '_hi_' }, outgoing: { address: 'U024BE7LH' } });
    expect(all).toHaveLength(1);
    expect([seen.method, seen.path]).toEqual(['POST', '/api/chat.postMessage']);
    expect(seen.headers.authorization).toBe('Bearer xoxb-hush-hush-hush');
    expect(seen.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(bodyOf(seen)).toEqual({ channel: 'U024BE7LH', text: '*Order 7 is paid*\n\n_hi_' });
  });

  const refuse = (error: string, status = 200, headers = {}) => json(status, { ok: false, error }, headers);

  it.each(['is_archived', 'user_disabled'])('gives up the address after %s', async error => {
    const { outcome } = await wire.send(slack, { reply: refuse(error) });
    expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: `200: ${error}` });
  });

  it.each(['invalid_auth', 'channel_not_found', 'not_in_channel', 'msg_too_long'])(
    'treats %s as permanent',
    async error => {
      const { outcome } = await wire.send(slack, { reply: refuse(error) });
      expect(outcome).toMatchObject({ ok: false, retry: false, reason: `200: ${error}` });
    },
  );

  it.each(['ratelimited', 'service_unavailable', 'team_added_to_org'])('retries after %s', async error => {
    const { outcome } = await wire.send(slack, { reply: refuse(error) });
    expect(outcome).toEqual({ ok: false, retry: true, reason: `200: ${error}` });
  });

  it('waits for the time in Retry-After', async () => {
    const { outcome } = await wire.send(slack, { reply: refuse('ratelimited', 429, { 'retry-after': '30' }) });
    expect(outcome).toEqual({ ok: false, retry: true, retryAfterSeconds: 30, reason: '429: ratelimited' });
  });

  it.each(['internal_error', 'fatal_error'])('treats the outcome after %s as unknown', async error => {
    const { outcome } = await wire.send(slack, { reply: refuse(error) });
    expect(outcome).toEqual({ ok: false, retry: true, unknown: true, reason: `200: ${error}` });
  });
});

describe('a Slack bot with an email address', () => {
  const person = json(200, { ok: true, user: { id: 'U777', name: 'jane' } });
  const isLookup = ({ path }: RecordedRequest) => path.startsWith('/api/users.lookupByEmail');
  const byLookup = (lookup: Reply) => (seen: RecordedRequest) => (isLookup(seen) ? lookup : slack.answers.accepted);
  const jane = wire.toOutgoing.bind(null, slack, { outgoing: { address: 'jane+x@acme.test' } });

  it('looks up the user', async () => {
    const outgoing = { address: 'jane+x@acme.test' };
    const { outcome, all } = await wire.send(slack, { outgoing, reply: byLookup(person) });
    expect(outcome).toMatchObject({ ok: true });
    expect(all.map(({ method, path }) => [method, path])).toEqual([
      ['GET', '/api/users.lookupByEmail?email=jane%2Bx%40acme.test'],
      ['POST', '/api/chat.postMessage'],
    ]);
    expect(all[0]!.headers.authorization).toBe('Bearer xoxb-hush-hush-hush');
    expect(bodyOf(all[1]!).channel).toBe('U777');
  });

  it('looks up a user once for many messages, concurrent and later ones', async () => {
    const peer = wire.peer();
    peer.seen.length = 0;
    peer.reply = byLookup(person);
    const sender = wire.open(slack);
    await Promise.all([1, 2, 3].map(() => sender.send(jane())));
    await sender.send(jane());
    expect(peer.seen.filter(isLookup)).toHaveLength(1);
    expect(peer.seen).toHaveLength(5);
  });

  it('looks up again after a failure', async () => {
    const peer = wire.peer();
    const sender = wire.open(slack);
    for (const lookup of [
      json(200, { ok: false, error: 'users_not_found' }),
      { status: 503 },
      json(200, { ok: true }),
    ]) {
      peer.reply = byLookup(lookup);
      expect(await sender.send(jane())).toMatchObject({ ok: false });
    }
    peer.reply = byLookup(person);
    expect(await sender.send(jane())).toMatchObject({ ok: true });
  });

  it('keeps the address of a user who does not exist yet', async () => {
    const reply = byLookup(json(200, { ok: false, error: 'users_not_found' }));
    const { outcome } = await wire.send(slack, { outgoing: { address: 'jane+x@acme.test' }, reply });
    const reason = 'looking up jane+x@acme.test: 200: users_not_found';
    expect(outcome).toEqual({ ok: false, retry: false, reason });
  });

  it('keeps the reason short, however long the address is', async () => {
    const address = `${'j'.repeat(60)}@${`${'a'.repeat(60)}.`.repeat(3)}test`;
    const reply = byLookup(json(200, { ok: false, error: 'word '.repeat(99) }));
    const { outcome } = await wire.send(slack, { outgoing: { address }, reply });
    expect(outcome.ok || outcome.reason.length).toBe(300);
  });

  it('knows that nothing was sent when the lookup fails', async () => {
    const outgoing = { address: 'jane+x@acme.test' };
    const { outcome } = await wire.send(slack, { outgoing, reply: byLookup('drop') });
    expect(outcome).toMatchObject({ ok: false, retry: true });
    expect(outcome).not.toHaveProperty('unknown');
  });
});
