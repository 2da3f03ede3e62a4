/** Outcomes of provider calls, and what follows: a retry, the next provider, the end, or an unknown outcome. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { openHttpPeer } from '../support/http-peer.ts';
import { type EngineWorld, hooks, openWorld, sandbox, secret } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { type Answer, openSmtpScript } from '../support/smtp-script.ts';

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

describe('retries', () => {
  test('unreadable secrets cost no attempt, and the message is sent once the key is back', async () => {
    const tenant = await world.tenant({ users: ann });
    const stored = await tenant.sql<{ secrets: Buffer }>(
      'select secrets from channels where organization_id = $1',
      tenant.id,
    );
    const store = (secrets: Buffer) =>
      tenant.sql('update channels set secrets = $2 where organization_id = $1', tenant.id, secrets);
    await store(Buffer.from('encrypted with a key that is gone'));
    const id = await tenant.trigger();
    const [waiting] = await tenant.until(id, 'retrying');
    expect(waiting).toMatchObject({ reason: 'channel.unreadable', attempts: 0 });
    const ready = await fetch(`${world.service.address}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready, secrets cannot be decrypted' }]);
    await store(stored[0]!.secrets);
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(tenant.received()).toHaveLength(1);
  });

  test('a 503 is retried with backoff under the same message id', async () => {
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

  test('Retry-After is respected', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer({ status: 429, headers: { 'retry-after': '120' } });
    const [delivery] = await tenant.until(await tenant.trigger(), 'retrying');
    const wait = Date.parse(String(delivery!.next_attempt_at)) - tenant.received()[0]!.at;
    expect(wait).toBeGreaterThan(118_000);
    expect(wait).toBeLessThan(125_000);
  });

  test('a delivery fails with the last attempt at the end of its retries, and a replay starts over', async () => {
    const tenant = await world.tenant({ users: ann, channels: [{ slug: 'hooks', retry: { for: '4h' } }] });
    tenant.answer({ status: 500 });
    const id = await tenant.trigger();
    const [waiting] = await tenant.until(id, 'retrying');
    const untilMs = Date.parse(String(waiting!.retry_until)) - tenant.received()[0]!.at;
    expect(untilMs / 3_600_000).toBeCloseTo(4, 2);
    await tenant.passTime(untilMs);
    await tenant.until(id, 'failed');
    expect((await tenant.deliveries(id))[0]).toMatchObject({
      attempts: 2,
      reason: 'provider.failed',
      retry_until: null,
    });
    expect(tenant.received()).toHaveLength(2);
    tenant.answer({});
    const answer = await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/replay/`);
    expect(answer.status, answer.text).toBe(200);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(await tenant.occurrence(id)).toMatchObject({ counts: { sent: 1, failed: 0 } });
    expect(await tenant.stats()).toEqual({ failed: 1, sent: 1 });
  });

  test('the circuit of a failing provider opens, and later deliveries wait without an attempt', async () => {
    const tenant = await world.tenant({ users: Array.from({ length: 12 }, (_, i) => `p${i}@x.test`) });
    tenant.answer({ status: 503 });
    await tenant.until(await tenant.trigger(), 'retrying');
    const tried = tenant.received().length;
    const later = await tenant.trigger();
    const waiting = await tenant.until(later, 'retrying');
    expect(waiting[0]).toMatchObject({ attempts: 0, detail: 'provider paused after repeated failures' });
    expect(tenant.received()).toHaveLength(tried);
    expect(await tenant.occurrence(later)).toMatchObject({ counts: { pending: 12 } });
  });

  /** A tenant with recipients at a domain whose server answers RCPT with `reply`, and one elsewhere. */
  async function mailTo(reply: Answer) {
    const server = await openSmtpScript({
      decide: ({ to, verb }) => (verb === 'RCPT' && /@grey/.test(to) ? reply : undefined),
    });
    onTestFinished(() => server.close());
    const grey = Array.from({ length: 14 }, (_, i) => `p${i}@grey.test`);
    const provider = { use: 'smtp', host: '127.0.0.1', port: server.port, from: 'a@acme.test', starttls: 'never' };
    const tenant = await world.tenant({
      users: [...grey, 'ann@x.test'],
      members: grey,
      channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
      notifications: [
        { channels: ['mail'], filter: "to == 'grey'" },
        { channels: ['mail'], recipients: { users: "starts_with(email, 'p1')" }, filter: "to == 'some'" },
        { channels: ['mail'], recipients: { users: "email == 'ann@x.test'" }, filter: "to == 'ann'" },
      ],
    });
    return { server, tenant };
  }

  test('a domain that defers every message delays no message to another one, and opens no circuit', {
    tags: ['sweep'],
  }, async () => {
    const { server, tenant } = await mailTo('450 4.2.0 greylisted');
    const deferred = await tenant.trigger({}, { to: 'grey' });
    await tenant.until(deferred, 'retrying');
    expect(await tenant.outcomes(await tenant.trigger({ priority: 'urgent' }, { to: 'ann' }))).toEqual([
      'ann@x.test sent',
    ]);
    expect(server.mails.map(({ to }) => to)).toEqual(['ann@x.test']);
    // Each of them was tried: another recipient of the domain may be accepted. On a busy machine some are tried again meanwhile.
    expect((await tenant.deliveries(deferred)).every(({ attempts }) => attempts >= 1)).toBe(true);
  });

  test('a domain that defers slowly keeps only a part of the slots', { tags: ['sweep'] }, async () => {
    const held: (() => void)[] = [];
    onTestFinished(() => {
      for (const end of held) end();
    });
    let count = 0;
    const slowly: Answer = async socket => {
      await (count++ < 5 ? sleep(1_050) : new Promise<void>(resolve => held.push(resolve)));
      socket.write('450 4.2.0 greylisted\r\n');
    };
    const { tenant } = await mailTo(slowly);
    await tenant.until(await tenant.trigger({}, { to: 'some' }), 'retrying');
    const many = await tenant.trigger({}, { to: 'grey' });
    await eventually(async () => {
      const waiting = (await tenant.deliveries(many)).filter(({ status }) => status !== 'sending');
      expect(waiting.map(({ detail }) => detail)).toContain(
        'the server of the recipient defers messages: few are sent at a time',
      );
    });
    expect(held.length).toBeLessThanOrEqual(2);
    expect(await tenant.outcomes(await tenant.trigger({ priority: 'urgent' }, { to: 'ann' }))).toEqual([
      'ann@x.test sent',
    ]);
  });
});

describe('final failures', () => {
  test('a rejected message is not retried, and a replay sends only failures', async () => {
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

  test('a template that fails ends only its own delivery, with the reason', async () => {
    const tenant = await world.tenant({
      users: ann,
      notifications: [{ overrides: { hooks: { body: '{"n": {{ n }}' } } }, {}],
    });
    const id = await tenant.trigger({}, { n: 'x' });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test failed: template.failed', 'ann@x.test sent']);
    const failed = (await tenant.deliveries(id)).find(one => one.status === 'failed');
    expect(failed!.detail).toMatch(/JSON/);
  });

  test('text from a provider cannot break the outcomes of other deliveries', async () => {
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
  test('a permanent failure fails over to the next provider', async () => {
    const second = await openHttpPeer();
    const broken = { use: 'standard-webhooks', url: `${world.peer.url}/broken/hook`, secret };
    const tenant = await world.tenant({
      users: ann,
      channels: [hooks('', { providers: [broken, { use: 'standard-webhooks', url: `${second.url}/x`, secret }] })],
    });
    const before = world.peer.seen.length;
    world.peer.reply = withRule(world.peer.reply, seen => (seen.path === '/broken/hook' ? { status: 400 } : undefined));
    const id = await tenant.trigger();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(world.peer.seen.length).toBe(before + 1);
    expect(second.seen).toHaveLength(1);
    expect(second.seen[0]!.headers['webhook-id']).toBe(world.peer.seen.at(-1)!.headers['webhook-id']);
    expect((await tenant.deliveries(id))[0]).toMatchObject({ attempts: 2 });

    // Immediately: without a hint, a worker looks only once a second.
    const began = fairNow();
    for (let n = 2; n <= 6; n++) {
      await tenant.trigger();
      await eventually(() => expect(second.seen).toHaveLength(n));
    }
    expect(fairNow() - began).toBeLessThan(2_500);
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
    world.peer.reply = withRule(world.peer.reply, seen => (seen.path === '/gone/1' ? { status: 410 } : undefined));
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test failed: provider.failed']);
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test suppressed: address.disabled']);
  });

  test('is disabled with many others at once, each of them before its outcome is stored', {
    tags: ['sweep'],
  }, async () => {
    const emails = Array.from({ length: 100 }, (_, i) => `user${i}@x.test`);
    const addressOf = (email: string) => `${world.peer.url}/many/${email}`;
    const tenant = await world.tenant({
      users: emails.map(email => ({ email, addresses: [{ name: 'webhook', value: addressOf(email) }] })),
      channels: own,
    });
    const isGone = (path: string) => /^\/many\/user\d*[13579]@/.test(path);
    world.peer.reply = withRule(world.peer.reply, ({ path }) =>
      isGone(path) ? { status: 410, body: 'bye' } : undefined,
    );
    const outcomes = await tenant.outcomes(await tenant.trigger());
    expect(outcomes.filter(one => one.endsWith('failed: provider.failed'))).toHaveLength(50);
    const disabled = await tenant.sql(
      'select value, disabled_reason from addresses where organization_id = $1 and disabled_at is not null',
      tenant.id,
    );
    const expected = emails.map(addressOf).filter(value => isGone(new URL(value).pathname));
    expect(disabled.map(({ value }) => value).sort()).toEqual(expected.sort());
    expect(new Set(disabled.map(one => one.disabled_reason))).toEqual(new Set(['410: bye']));
  });

  test('is stopped only for the project whose own channel reported it', async () => {
    const hooks = { ...own[0]!, slug: 'own' };
    const value = `${world.peer.url}/gone/2`;
    const tenant = await world.tenant({
      users: [{ email: 'ann@x.test', addresses: [{ name: 'webhook', value }] }],
      channels: own,
      projectChannels: [hooks],
      notifications: [{ channels: ['own'] }],
    });
    world.peer.reply = withRule(world.peer.reply, seen => (seen.path === '/gone/2' ? { status: 410 } : undefined));
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test failed: provider.failed']);
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test suppressed: address.suppressed']);
    const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/suppressions/` });
    const entry = { target: value, reason: 'bounced', source: 'standard-webhooks', projects: ['shop'] };
    expect(body).toMatchObject([{ ...entry, detail: '410' }]);
    world.peer.reply = withRule(world.peer.reply, seen => (seen.path === '/gone/2' ? { status: 200 } : undefined));
    const path = `/api/o/${tenant.slug}/c/hooks/test/`;
    const sent = await tenant.ask({ method: 'POST', path, body: { to: value } });
    expect(sent.body, sent.text).toMatchObject({ ok: true });
    const disabled = 'select from addresses where organization_id = $1 and disabled_at is not null';
    expect(await tenant.sql(disabled, tenant.id)).toEqual([]);
  });

  test('of the whole channel disables no recipient’s address', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer({ status: 410 });
    expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ann@x.test failed: provider.failed']);
    const disabled = 'select 1 from addresses where organization_id = $1 and disabled_at is not null';
    expect(await tenant.sql(disabled, tenant.id)).toEqual([]);
  });
});

describe('a lost response', () => {
  test('is retried under the same id if the receiver deduplicates', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer((_, nth) => (nth === 1 ? 'drop' : {}));
    const id = await tenant.trigger();
    await tenant.until(id, 'retrying');
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    expect(tenant.received()).toHaveLength(2);
    expect(new Set(tenant.received().map(one => one.id)).size).toBe(1);
  });

  test('with on_unknown: hold becomes unknown until someone replays it', async () => {
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

  /** Triggers an email to Ann; the mail server stores the first copy and drops the connection. */
  async function loseFirstResponse() {
    const provider = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'shop@x.test' };
    const tenant = await world.tenant({
      users: ann,
      channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }, sandbox],
      notifications: [{ channels: ['mail'] }],
    });
    onTestFinished(() => {
      smtp.fault = undefined;
    });
    smtp.mails.length = 0;
    smtp.fault = 'drop after data';
    const id = await tenant.trigger();
    const [delivery] = await tenant.until(id, 'retrying');
    expect(delivery).toMatchObject({ reason: 'unknown', attempts: 1 });
    const attempts = async () => {
      const path = `/api/o/${tenant.slug}/occurrence/${id}/deliveries/${delivery!.id}/attempts/`;
      const { body } = await tenant.ask({ path });
      return (body as { outcome: string }[]).map(one => one.outcome);
    };
    return { tenant, id, attempts };
  }

  test('leads to at most one further copy, and the delivery and its occurrence end as unknown', async () => {
    const { tenant, id, attempts } = await loseFirstResponse();
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test unknown']);
    expect(smtp.mails).toHaveLength(2);
    expect(await attempts()).toEqual(['unknown', 'unknown']);
    expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'unknown', counts: { unknown: 1, failed: 0 } });
    const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ann@x.test` });
    expect(why.text).toContain('It may have been delivered to ann@x.test via mail in 2 attempts');
  });

  test('followed by a refusal ends as unknown, not as failed', async () => {
    const { tenant, id, attempts } = await loseFirstResponse();
    smtp.fault = { rcpt: '550 5.7.1 not today' };
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test unknown: unknown.earlier']);
    expect(await attempts()).toEqual(['unknown', 'failed']);
    expect((await tenant.deliveries(id))[0]!.detail).toContain('not today');
  });

  test('followed by a cancellation ends as unknown, not as cancelled', async () => {
    const { tenant, id } = await loseFirstResponse();
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${id}/cancel/`);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test unknown: unknown.earlier']);
    expect(smtp.mails).toHaveLength(1);
  });

  test('in all attempts ends as unknown, even if the receiver deduplicates', async () => {
    const tenant = await world.tenant({ users: ann });
    tenant.answer('drop');
    const id = await tenant.trigger();
    await tenant.until(id, 'retrying');
    await tenant.passTime(24 * 3_600_000);
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test unknown']);
    expect(tenant.received()).toHaveLength(2);
  });
});

type Reply = EngineWorld['peer']['reply'];
type FixedReply = Exclude<Reply, (...args: never) => unknown>;

/** Puts another rule before the existing ones. */
function withRule(before: Reply, rule: (seen: { path: string }) => FixedReply | undefined): Reply {
  return seen => rule(seen) ?? (typeof before === 'function' ? before(seen) : before);
}
