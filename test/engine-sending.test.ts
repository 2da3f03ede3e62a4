/** What providers answer, and what the engine makes of it: again, the next provider, the end, or nobody knows. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './support/api.ts';
import { openHttpPeer } from './support/http-peer.ts';
import { type EngineWorld, hooks, openWorld, sandbox, secret } from './support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from './support/smtp.ts';

let world: EngineWorld;
let smtp: SmtpPeer;

beforeAll(async () => {
  [world, smtp] = await Promise.all([openWorld(), openSmtpPeer({ starttls: false })]);
});
afterEach(() => world.checkLedger());
afterAll(async () => {
  await world.close();
  await smtp.close();
});

const ann = ['ann@x.test'];

describe('trying again', () => {
  test('after a 503 it waits its backoff, and the message keeps its id', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer((_, nth) => (nth < 3 ? { status: 503, body: 'busy' } : {}));
    const id = await tenant.trigger();
    const [first] = await tenant.until(id, 'retrying');
    const wait = Date.parse(String(first!.next_attempt_at)) - tenant.received()[0]!.at;
    expect(wait).toBeGreaterThan(2_400);
    expect(wait).toBeLessThan(6_000);
    expect(first).toMatchObject({ attempts: 1, reason: 'provider.failed', detail: '503: busy' });
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'sending', counts: { pending: 1, sent: 0 } });

    await tenant.hurry();
    await eventually(() => expect(tenant.received()).toHaveLength(2));
    await tenant.until(id, 'retrying');
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect((await tenant.deliveries(id))[0]).toMatchObject({
      attempts: 3,
      detail: null,
      provider: 'standard-webhooks',
    });
    expect(new Set(tenant.received().map(one => one.id)).size).toBe(1);
  });

  test('Retry-After is honoured', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer({ status: 429, headers: { 'retry-after': '120' } });
    const [delivery] = await tenant.until(await tenant.trigger(), 'retrying');
    const wait = Date.parse(String(delivery!.next_attempt_at)) - tenant.received()[0]!.at;
    expect(wait).toBeGreaterThan(118_000);
    expect(wait).toBeLessThan(125_000);
  });

  test('it gives up after eight attempts, and a replay begins anew', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer({ status: 500 });
    const id = await tenant.trigger();
    await eventually(async () => {
      await tenant.hurry();
      expect((await tenant.deliveries(id))[0]).toMatchObject({ status: 'failed', attempts: 8 });
    }, 20_000);
    expect(tenant.received()).toHaveLength(8);
    tenant.answer({});
    const answer = await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect(answer.status, answer.text).toBe(200);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(await tenant.occurrence(id)).toMatchObject({ counts: { sent: 1, failed: 0 } });
    expect(await tenant.stats()).toEqual({ failed: 1, sent: 1 });
  });

  test('a provider that keeps failing rests: what comes then waits without an attempt', async () => {
    const tenant = await world.tenant({ users: Array.from({ length: 12 }, (_, i) => `p${i}@x.test`) });
    tenant.answer({ status: 503 });
    await tenant.until(await tenant.trigger(), 'retrying');
    const tried = tenant.received().length;
    const later = await tenant.trigger();
    const waiting = await tenant.until(later, 'retrying');
    expect(waiting[0]).toMatchObject({ attempts: 0, detail: 'the provider rests after failing repeatedly' });
    expect(tenant.received()).toHaveLength(tried);
    expect(await tenant.occurrence(later)).toMatchObject({ counts: { pending: 12 } });
  });
});

describe('the end', () => {
  test('a refusal of the message is final, and a replay sends failures alone', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test', 'ben@x.test'] });
    tenant.answer(seen => (seen.body.includes('ann') ? { status: 422, body: 'no such order' } : {}));
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test failed: provider.failed', 'ben@x.test sent']);
    const failed = (await tenant.deliveries(id)).find(one => one.status === 'failed');
    expect(failed).toMatchObject({ attempts: 1, detail: '422: no such order' });
    tenant.answer({});
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent', 'ben@x.test sent']);
    expect(
      tenant
        .received()
        .map(one => one.to)
        .sort(),
    ).toEqual(['ann@x.test', 'ann@x.test', 'ben@x.test']);
  });

  test('a template that fails marks its delivery, with the reason, and harms no other', async () => {
    const tenant = await world.tenant({
      users: ann,
      notifications: [{ overrides: { hooks: { body: '{"n": {{ n }}' } } }, {}],
    });
    const id = await tenant.trigger({}, { n: 'x' });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test failed: template.failed', 'ann@x.test sent']);
    const failed = (await tenant.deliveries(id)).find(one => one.status === 'failed');
    expect(failed!.detail).toMatch(/JSON/);
  });

  test('what a provider says cannot spoil the record of other outcomes', async () => {
    const odd = await openHttpPeer({ body: '{"id":"a\\u0000b\\ud800"}' });
    const provider = { use: 'resend', api_key: 're_test', from: 'shop@x.test', endpoint: odd.url };
    const mail = { slug: 'mail', name: 'Mail', type: 'email', providers: [provider] };
    const tenant = await world.tenant({ users: ann, channels: [mail], notifications: [{ channels: ['mail'] }] });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test sent']);
    expect(odd.seen).toHaveLength(1);
    await odd.close();
  });
});

describe('several providers', () => {
  test('a permanent failure moves on to the next one', async () => {
    const second = await openHttpPeer();
    const broken = { use: 'standard-webhooks', url: `${world.peer.url}/broken/hook`, secret };
    const tenant = await world.tenant({
      users: ann,
      channels: [hooks('', { providers: [broken, { use: 'standard-webhooks', url: `${second.url}/x`, secret }] })],
    });
    const before = world.peer.seen.length;
    world.peer.reply = wrap(world.peer.reply, seen => (seen.path === '/broken/hook' ? { status: 400 } : undefined));
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(world.peer.seen.length).toBe(before + 1);
    expect(second.seen).toHaveLength(1);
    expect(second.seen[0]!.headers['webhook-id']).toBe(world.peer.seen.at(-1)!.headers['webhook-id']);
    expect((await tenant.deliveries(id))[0]).toMatchObject({ attempts: 2 });

    // At once: by itself a worker looks no more than once a second.
    const began = Date.now();
    for (let n = 2; n <= 6; n++) {
      await tenant.trigger();
      await eventually(() => expect(second.seen).toHaveLength(n));
    }
    expect(Date.now() - began).toBeLessThan(2_500);
    await second.close();
  });
});

describe('an address that is gone', () => {
  const own = [{ slug: 'hooks', name: 'Hooks', type: 'webhook', providers: [{ use: 'standard-webhooks', secret }] }];

  test('is disabled by a 410 and not used again', async () => {
    const tenant = await world.tenant({
      users: [{ email: 'ann@x.test', addresses: [{ name: 'webhook', value: `${world.peer.url}/gone/1` }] }],
      channels: own,
    });
    world.peer.reply = wrap(world.peer.reply, seen => (seen.path === '/gone/1' ? { status: 410 } : undefined));
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test failed: provider.failed']);
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test suppressed: address.disabled']);
  });

  test('of the whole channel takes no recipient’s address along', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer({ status: 410 });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test failed: provider.failed']);
    const disabled = 'select 1 from addresses where organization_id = $1 and disabled_at is not null';
    expect(await tenant.sql(disabled, tenant.id)).toEqual([]);
  });
});

describe('an answer that was lost', () => {
  test('where the receiver can tell twins apart it is sent again under the same id', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer((_, nth) => (nth === 1 ? 'drop' : {}));
    const id = await tenant.trigger();
    await tenant.until(id, 'retrying');
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(tenant.received()).toHaveLength(2);
    expect(new Set(tenant.received().map(one => one.id)).size).toBe(1);
  });

  test('on_unknown: hold keeps it as unknown until a person replays it', async () => {
    const provider = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'shop@x.test' };
    const tenant = await world.tenant({
      users: ann,
      channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }, sandbox],
      notifications: [{ channels: ['mail'] }],
    });
    await tenant.sql(`update channels set on_unknown = 'hold' where organization_id = $1`, tenant.id);
    smtp.fault = 'drop after data';
    const id = await eventually(async () => {
      const next = await tenant.trigger();
      expect(await tenant.outcomes(next)).toEqual(['ann@x.test unknown']);
      return next;
    });
    expect(await tenant.occurrence(id)).toMatchObject({ status: 'completed', counts: { unknown: 1, sent: 0 } });
    smtp.fault = undefined;
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(smtp.mails).toHaveLength(2);
    expect(smtp.mails[0]!.headers['message-id']).toBe(smtp.mails[1]!.headers['message-id']);
  });
});

type ReplyOf = EngineWorld['peer']['reply'];
type Ruled = Exclude<ReplyOf, (...given: never) => unknown>;

/** Another rule before the ones that are there. */
function wrap(before: ReplyOf, rule: (seen: { path: string }) => Ruled | undefined): ReplyOf {
  return seen => rule(seen) ?? (typeof before === 'function' ? before(seen) : before);
}
