/**
 * Traces from the caller's span through every process to the receiver of a webhook.
 *
 * @module-tag sweep
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type CollectedSpan, type Collector, openCollector } from '../support/otlp.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let collector: Collector;
let world: EngineWorld;

beforeAll(async () => {
  collector = await openCollector();
  world = await openWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
});
afterEach(() => expect(collector.mistakes).toEqual([]));
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await collector.close();
});

const ann = { users: ['ann@x.test'] };
const caller = '00f067aa0ba902b7';
let traces = 0;
/** An id that no other test has. */
const freshTrace = () => `4bf92f3577b34da6a3ce929d${(++traces).toString(16).padStart(8, '0')}`;
const one = ['deliver', 'render', 'send', 'settle'];

async function trigger(tenant: Tenant, traceparent: string, body: object = {}): Promise<string> {
  const path = `${tenant.event}trigger/`;
  const answer = await tenant.ask({ method: 'POST', path, headers: { traceparent }, body });
  expect(answer.status, answer.text).toBe(201);
  expect(answer.body).toEqual({ occurrence: expect.any(String) });
  return answer.body.occurrence;
}

const named = (spans: CollectedSpan[], name: string) => spans.filter(span => span.name === name);
const parentOf = (spans: CollectedSpan[], child: CollectedSpan) =>
  spans.find(span => span.spanId === child.parentSpanId)?.name ?? child.parentSpanId;
/** Returns what the webhooks of a tenant received. */
const toldPeer = (tenant: Tenant) =>
  world.peer.seen.filter(seen => seen.path.startsWith(`/${tenant.slug}/`)).map(seen => seen.headers.traceparent);

describe('the trace of a trigger', () => {
  test("continues the caller's trace, with a span for every step", async () => {
    const tenant = await world.tenant(ann);
    const traceId = freshTrace();
    const id = await trigger(tenant, `00-${traceId}-${caller}-01`, { context: { n: 'a secret word' } });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    const spans = await collector.trace(traceId, 'accept', 'expand', ...one);

    expect(spans.map(span => `${span.name} ${span.kind} < ${parentOf(spans, span)}`)).toEqual([
      `accept server < ${caller}`,
      'expand internal < accept',
      'deliver internal < accept',
      'render internal < deliver',
      'send client < deliver',
      'settle internal < deliver',
    ]);
    const [delivery] = await tenant.deliveries(id);
    const event = { 'belfry.organization': tenant.slug, 'belfry.event': 'shop/web/go', 'belfry.occurrence': id };
    expect(Object.fromEntries(spans.map(span => [span.name, span.attributes]))).toEqual({
      accept: event,
      expand: { ...event, 'belfry.deliveries': 1, 'belfry.suppressed': 0 },
      deliver: {
        ...event,
        'belfry.delivery': delivery!.id,
        'belfry.attempt': 1,
        'belfry.channel': 'hooks',
        'belfry.channel.type': 'webhook',
        'belfry.provider': 'standard-webhooks',
        'belfry.status': 'sent',
      },
      render: {},
      send: { 'belfry.provider': 'standard-webhooks' },
      settle: {},
    });
    expect(spans.map(span => [span.isError, span.resource])).toEqual(
      spans.map(() => [false, { 'service.name': 'belfry' }]),
    );
    const everything = JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    expect(everything).not.toMatch(/@|\bann\b|secret/);

    // The receiver goes on below the call, and people find the trace by the occurrence.
    expect(toldPeer(tenant)).toEqual([`00-${traceId}-${named(spans, 'send')[0]!.spanId}-01`]);
    expect(await tenant.occurrence(id)).toMatchObject({ trace_id: traceId });
    const list = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/?limit=1` });
    expect(list.body).toMatchObject([{ identifier: id, trace_id: traceId }]);
  });

  test.each([
    ['is absent', undefined],
    ['is not one', 'hello'],
    ['has no trace', `00-${'0'.repeat(32)}-${caller}-01`],
    ['has no span', `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`],
    ['is too long for its version', `00-${'a'.repeat(32)}-${caller}-01-more`],
    ['is of the version that is none', `ff-${'a'.repeat(32)}-${caller}-01`],
    ['is in capitals', `00-${'A'.repeat(32)}-${caller}-01`],
    ['is there twice', [`00-${'a'.repeat(32)}-${caller}-01`, `00-${'b'.repeat(32)}-${caller}-01`]],
    ['is very long', 'x'.repeat(8_000)],
  ])('is a new one if traceparent %s', async (_, traceparent) => {
    const tenant = await world.tenant(ann);
    const headers: Record<string, string | string[]> = traceparent === undefined ? {} : { traceparent };
    const answer = await tenant.ask({ method: 'POST', path: `${tenant.event}trigger/`, headers, body: {} });
    expect(answer.status).toBe(201);
    await tenant.outcomes(answer.body.occurrence);
    const { trace_id } = await tenant.occurrence(answer.body.occurrence);
    expect(trace_id).toMatch(/^[\da-f]{32}$/);
    expect(trace_id).not.toMatch(/^(a+|b+|0+)$/);
    const [root] = await collector.trace(trace_id!, 'accept', 'expand', ...one);
    expect(root).toMatchObject({ name: 'accept', parentSpanId: '' });
  });

  test('continues a traceparent of a future version as far as its format is known', async () => {
    const tenant = await world.tenant(ann);
    const traceId = freshTrace();
    await tenant.outcomes(await trigger(tenant, `01-${traceId}-${caller}-01-what-comes`));
    const [root] = await collector.trace(traceId, 'accept', 'expand', ...one);
    expect(root!.parentSpanId).toBe(caller);
  });

  test('that the caller does not sample has no spans, but is propagated', async () => {
    const tenant = await world.tenant(ann);
    const traceId = freshTrace();
    const id = await trigger(tenant, `00-${traceId}-${caller}-00`);
    await tenant.outcomes(id);
    expect(toldPeer(tenant)).toEqual([`00-${traceId}-${caller}-00`]);
    expect(await tenant.occurrence(id)).toMatchObject({ trace_id: traceId });
    // Whatever is exported after it has come, so it would have come as well.
    const after = freshTrace();
    await tenant.outcomes(await trigger(tenant, `00-${after}-${caller}-01`));
    await collector.trace(after, 'accept', 'expand', ...one);
    expect(collector.spans.filter(span => span.traceId === traceId)).toEqual([]);
  });

  test('continues with every retry, and marks the failed attempt', async () => {
    const tenant = await world.tenant(ann);
    tenant.answer((_, nth) => (nth === 1 ? { status: 503, body: 'no room for ann@x.test' } : {}));
    const traceId = freshTrace();
    const id = await trigger(tenant, `00-${traceId}-${caller}-01`);
    await tenant.until(id, 'retrying');
    await tenant.hurry();
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
    const spans = await collector.trace(traceId, 'accept', 'expand', ...one, ...one);
    const [first, second] = named(spans, 'deliver');
    expect(first).toMatchObject({
      isError: true,
      attributes: {
        'belfry.attempt': 1,
        'belfry.status': 'retrying',
        'belfry.reason': 'provider.failed',
        'error.type': 'provider.failed',
      },
    });
    expect(second).toMatchObject({ isError: false, attributes: { 'belfry.attempt': 2, 'belfry.status': 'sent' } });
    expect([first, second].map(span => parentOf(spans, span!))).toEqual(['accept', 'accept']);
    expect(named(spans, 'send').map(span => [span.isError, span.attributes['belfry.retry']])).toEqual([
      [true, true],
      [false, undefined],
    ]);
    expect(toldPeer(tenant)).toEqual(named(spans, 'send').map(span => `00-${traceId}-${span.spanId}-01`));
    expect(JSON.stringify(spans.map(span => span.attributes))).not.toContain('@');
  });

  test('contains why a message was not rendered or not sent', async () => {
    const tenant = await world.tenant({
      users: ['ann@x.test', { email: 'bob@x.test', locked: true }],
      notifications: [{ overrides: { hooks: { body: '{"n": {{ n }}' } } }],
    });
    const traceId = freshTrace();
    const id = await trigger(tenant, `00-${traceId}-${caller}-01`, { context: { n: 'x' } });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test failed: template.failed', expect.stringContaining('bob')]);
    const spans = await collector.trace(traceId, 'accept', 'expand', 'deliver', 'render', 'settle');
    expect(named(spans, 'render')[0]).toMatchObject({ isError: true, attributes: { 'error.type': 'template.failed' } });
    expect(named(spans, 'deliver')[0]!.attributes).toMatchObject({
      'belfry.status': 'failed',
      'belfry.reason': 'template.failed',
    });
    expect(named(spans, 'expand')[0]!.attributes).toMatchObject({ 'belfry.deliveries': 2, 'belfry.suppressed': 1 });
  });

  test('of a rejected trigger contains the reason', async () => {
    const tenant = await world.tenant({ ...ann, event: { active: false } });
    const traceId = freshTrace();
    const path = `${tenant.event}trigger/`;
    const headers = { traceparent: `00-${traceId}-${caller}-01` };
    expect((await tenant.ask({ method: 'POST', path, headers, body: {} })).status).toBe(400);
    const [span] = await collector.trace(traceId, 'accept');
    expect(span).toMatchObject({ isError: true, attributes: { 'error.type': 'event.inactive' } });
    expect(span!.attributes).not.toHaveProperty('belfry.occurrence');
  });
});

test('every trigger of a batch has its own trace', async () => {
  const tenant = await world.tenant({ ...ann, channels: [{ slug: 'hooks' }] });
  const traceIds = Array.from({ length: 60 }, freshTrace);
  // Every third is not sampled.
  const flag = (i: number) => (i % 3 === 0 ? '00' : '01');
  const ids = await Promise.all(traceIds.map((traceId, i) => trigger(tenant, `00-${traceId}-${caller}-${flag(i)}`)));
  for (const id of ids) await tenant.outcomes(id);
  for (const [i, traceId] of traceIds.entries()) {
    const spans = await collector.trace(traceId, ...(flag(i) === '01' ? ['accept', 'expand', ...one] : []));
    expect(new Set(spans.flatMap(span => span.attributes['belfry.occurrence'] ?? []))).toEqual(
      new Set(flag(i) === '01' ? [ids[i]] : []),
    );
  }
});

test('steps belong to the trace of the trigger, whenever they run', async () => {
  const tenant = await world.tenant({
    ...ann,
    notifications: [{ steps: [{ channels: ['hooks'] }, { after: '1h', channels: ['hooks'] }] }],
  });
  const traceId = freshTrace();
  const id = await trigger(tenant, `00-${traceId}-${caller}-01`);
  await collector.trace(traceId, 'accept', 'expand', 'step', ...one);
  await tenant.sql(`update steps set due_at = now() where status = 'waiting' and organization_id = ${tenant.id}`);
  await tenant.sql('notify belfry_work');
  const spans = await collector.trace(traceId, 'accept', 'expand', 'step', 'step', ...one, ...one);
  expect(named(spans, 'step').map(span => [parentOf(spans, span), span.attributes])).toEqual(
    [1, 2].map(step => [
      'accept',
      {
        'belfry.organization': tenant.slug,
        'belfry.event': 'shop/web/go',
        'belfry.occurrence': id,
        'belfry.step': step,
        'belfry.deliveries': 1,
        'belfry.suppressed': 0,
      },
    ]),
  );
  expect(named(spans, 'deliver').map(span => span.attributes['belfry.step'])).toEqual([1, 2]);
});

test('a digest belongs to the trace of one item, and links to the others', async () => {
  const tenant = await world.tenant({ ...ann, notifications: [{ digest: { every: '1h', max: 100 } }] });
  const traceIds = Array.from({ length: 70 }, freshTrace);
  const ids: string[] = [];
  for (const traceId of traceIds) ids.push(await trigger(tenant, `00-${traceId}-${caller}-01`));
  for (const id of ids) await tenant.until(id, 'pending');
  const sets = `organization_id = ${tenant.id}`;
  await tenant.sql(`update digests set closes_at = now() where ${sets}`);
  await tenant.sql(`update deliveries set due_at = now() where ${sets} and due_at <> '9999-12-31Z'`);
  await tenant.sql('notify belfry_work');
  for (const id of ids) expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent']);
  const deliver = await eventually(() => {
    const own = collector.spans.filter(span => span.name === 'deliver' && traceIds.includes(span.traceId));
    expect(own).toHaveLength(1);
    return own[0]!;
  }, 5_000);
  // Bounded, and never to itself.
  expect(deliver.links).toHaveLength(64);
  const linked = deliver.links.map(link => link.traceId);
  expect(new Set(linked).size).toBe(64);
  expect(linked).not.toContain(deliver.traceId);
  for (const { traceId, spanId } of deliver.links) {
    const [accept] = await collector.trace(traceId, 'accept', 'expand');
    expect(accept!.spanId).toBe(spanId);
  }
  expect(deliver.attributes['belfry.digest']).toBe((await tenant.deliveries(ids[0]!))[0]!.digest);
});
