/** Span export: by every process, configured by the standard variables, without delaying messages. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, startService } from '../../src/app.ts';
import { openTraces } from '../../src/lib/telemetry/open-traces.ts';
import { readTraceSettings, type TraceSettings, type TraceVariables } from '../../src/lib/telemetry/trace-settings.ts';
import type { Traces } from '../../src/lib/telemetry/traces.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { changeLimits } from '../../src/services/configuration/limits/limits.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { checkTraces } from '../../src/services/operations/doctor/traces.ts';
import { type Ask, asker } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { closedUrl } from '../support/http-peer.ts';
import { type Collector, openCollector } from '../support/otlp.ts';
import { belfry, type Running, root, startBelfry } from '../support/process.ts';
import { sandbox } from '../support/sink.ts';

let database: TestDatabase;
let env: Record<string, string>;
let key: string;
let collector: Collector;

beforeAll(async () => {
  [database, collector] = await Promise.all([createTestDatabase(), openCollector()]);
  const config = testConfig(database.url);
  env = { DATABASE_URL: database.url, BELFRY_SECRET_KEY: config.secretKey! };
  const { deps, close } = await openRuntime(config, silent);
  const notifications = [{ name: 'n', recipients: { list: 'All' }, channels: ['sandbox'], message: { body: 'Hello' } }];
  const project = {
    slug: 'shop',
    name: 'Shop',
    distribution_lists: [{ name: 'All', members: ['ann@x.test', 'bob@x.test'] }],
    applications: [{ slug: 'web', name: 'Web', events: [{ slug: 'go', name: 'Go', notifications }] }],
  };
  const acme = { slug: 'acme', name: 'Acme', channels: [sandbox], projects: [project] };
  await applyConfiguration(deps, { organizations: [acme] }, { prune: false });
  ({ key } = await createKey(deps, 'acme', { name: 'test', permissions: ['*'] }));
  await close();
});
afterAll(async () => {
  await collector.close();
  await database.drop();
});

const caller = '00f067aa0ba902b7';
let made = 0;
const freshTrace = () => `5bf92f3577b34da6a3ce929d${(++made).toString(16).padStart(8, '0')}`;
const event = '/api/o/acme/p/shop/a/web/e/go/';

async function trigger(ask: Ask, traceparent?: string): Promise<string> {
  const headers: Record<string, string> = traceparent ? { traceparent } : {};
  const answer = await ask({ method: 'POST', path: `${event}trigger/`, headers, body: {} });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.occurrence;
}

const sent = (ask: Ask, id: string) =>
  eventually(async () => {
    const { body } = await ask({ path: `/api/o/acme/occurrence/${id}/` });
    expect(body).toMatchObject({ status: 'completed', counts: { pending: 0 } });
    return body as Record<string, unknown>;
  }, 10_000);

/** Lines of the log that say this. */
const lines = (running: Running, words: string) =>
  running
    .output()
    .split('\n')
    .filter(line => line.includes(words));

test('separate API and worker processes export one trace, and their logs contain its id', {
  tags: ['sweep'],
}, async () => {
  const own = {
    ...env,
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-token=a%20b, x-other=c',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  const api = await startBelfry({ ...own, OTEL_SERVICE_NAME: 'api' }, ['--role', 'api']);
  const worker = await startBelfry({ ...own, OTEL_SERVICE_NAME: 'worker' }, ['--role', 'worker']);
  const { deps, close } = await openRuntime(testConfig(database.url), silent);
  try {
    const ask = asker(api.address, key);
    // One of two is beyond it, which the engine logs.
    const { organization } = (await deps.tenantCache.resolvePath({ org: 'acme' }))!;
    await changeLimits(deps, organization, { deliveries_per_trigger: 1 });
    const traceId = freshTrace();
    const id = await trigger(ask, `00-${traceId}-${caller}-01`);
    await sent(ask, id);
    const spans = await collector.trace(traceId, 'accept', 'expand', 'deliver', 'render', 'send', 'settle');
    const byName = Object.fromEntries(spans.map(span => [span.name, span]));
    expect(byName.accept!.parentSpanId).toBe(caller);
    expect(byName.expand).toMatchObject({
      parentSpanId: byName.accept!.spanId,
      attributes: { 'belfry.reason': 'limit.fan_out' },
    });
    expect(byName.deliver!.parentSpanId).toBe(byName.accept!.spanId);
    expect(byName.send!.parentSpanId).toBe(byName.deliver!.spanId);
    const environment = { 'deployment.environment.name': 'test' };
    for (const { name, resource } of spans) {
      expect(resource).toEqual({ ...environment, 'service.name': name === 'accept' ? 'api' : 'worker' });
    }
    expect(collector.headers.at(-1)).toMatchObject({ 'x-token': 'a b', 'x-other': 'c' });

    const [request] = lines(api, '"route":"/api/o/:org/p/:prj/a/:app/e/:evt/trigger/"');
    expect(JSON.parse(request!)).toMatchObject({ status: 201, trace_id: traceId });
    const [limited] = await eventually(() => {
      const found = lines(worker, 'limit of deliveries');
      expect(found).toHaveLength(1);
      return found;
    });
    expect(JSON.parse(limited!)).toMatchObject({ occurrence: id, trace_id: traceId });
    for (const line of lines(api, '"route":"/api/o/:org/occurrence/')) expect(line).not.toContain('trace_id');
    await changeLimits(deps, organization, { deliveries_per_trigger: null });
  } finally {
    await close();
    const ends = await Promise.all([api.end('SIGTERM'), worker.end('SIGTERM')]);
    expect(ends.map(end => end.code)).toEqual([0, 0]);
  }
});

test('a stop exports the remaining spans', { tags: ['sweep'] }, async () => {
  const running = await startBelfry({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const ask = asker(running.address, key);
  const traceId = freshTrace();
  const id = await trigger(ask, `00-${traceId}-${caller}-01`);
  await sent(ask, id);
  const { code, ms } = await running.end('SIGTERM');
  expect(code).toBe(0);
  expect(ms).toBeLessThan(5_000);
  // Nothing is waited for any more: both threads have exported.
  const names = collector.spans.filter(span => span.traceId === traceId).map(span => span.name);
  const each = ['deliver', 'render', 'send', 'settle'];
  expect(names.sort()).toEqual(['accept', 'expand', ...each, ...each].sort());
});

const complaint = 'spans cannot be exported';

/** Messages are sent, and each thread logs the failure once, however often it happens. */
async function sendInVain(ask: Ask, told: () => string[]): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const ids = await Promise.all(Array.from({ length: 20 }, () => trigger(ask)));
    for (const id of ids) expect(await sent(ask, id)).toMatchObject({ counts: { sent: 2 } });
    await eventually(() => expect(told()).toHaveLength(2), 10_000);
  }
  // Something is left to export when it stops.
  await trigger(ask);
}

// The library's own variable: else it tries for ten seconds before it gives a batch up.
const impatient = { OTEL_EXPORTER_OTLP_TIMEOUT: '300' };

test('an unreachable collector delays nothing, not even the exit', { tags: ['sweep'] }, async () => {
  const running = await startBelfry({ ...env, ...impatient, OTEL_EXPORTER_OTLP_ENDPOINT: await closedUrl() });
  try {
    await sendInVain(asker(running.address, key), () => lines(running, complaint));
    expect(JSON.parse(lines(running, complaint)[0]!)).toMatchObject({ level: 'warn', err: { code: 'ECONNREFUSED' } });
    expect(lines(running, '"level":"error"')).toEqual([]);
  } finally {
    const { code, ms } = await running.end('SIGTERM');
    expect(code).toBe(0);
    expect(ms).toBeLessThan(6_000);
  }
});

test.each(['hang', 'refuse'] as const)(
  'a collector that answers by %s delays nothing',
  { tags: ['sweep'] },
  async answer => {
    const broken = await openCollector();
    broken.answer = answer;
    const told: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => told.push(line) });
    // Threads that start from now on read it.
    Object.assign(process.env, impatient);
    const service = await startService(testConfig(database.url, { OTEL_EXPORTER_OTLP_ENDPOINT: broken.url }), log);
    try {
      await sendInVain(asker(service.address, key), () => told.filter(line => line.includes(complaint)));
      broken.answer = 'take';
      await eventually(async () => {
        await trigger(asker(service.address, key));
        expect(new Set(broken.spans.map(span => span.name))).toEqual(
          new Set(['accept', 'expand', 'deliver', 'render', 'send', 'settle']),
        );
      }, 10_000);
      broken.answer = answer;
      await trigger(asker(service.address, key));
    } finally {
      delete process.env.OTEL_EXPORTER_OTLP_TIMEOUT;
      const beganAt = fairNow();
      await service.stop();
      expect(fairNow() - beganAt).toBeLessThan(5_000);
      await broken.close();
    }
  },
);

describe('sampling', () => {
  const open = async (more: Partial<TraceVariables>): Promise<Traces> => {
    const read = readTraceSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: '',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_SERVICE_NAME: '',
      OTEL_RESOURCE_ATTRIBUTES: '',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: '',
      ...more,
    });
    if (!read || 'mistakes' in read) throw new Error('not read');
    return (await openTraces(read.settings, { info() {}, warn() {} }))!;
  };
  const [yes, no] = [`00-${'c'.repeat(32)}-${caller}-01`, `00-${'c'.repeat(32)}-${caller}-00`];

  test.each([
    ['always_on', '', [true, true, true]],
    ['always_off', '', [false, false, false]],
    ['traceidratio', '1', [true, true, true]],
    ['traceidratio', '0', [false, false, false]],
    ['parentbased_always_on', '', [true, true, false]],
    ['parentbased_always_off', '', [false, true, false]],
    ['parentbased_traceidratio', '0', [false, true, false]],
    ['parentbased_traceidratio', '1', [true, true, false]],
  ])('by %s with %s: alone, below one that is sampled, and below one that is not', async (sampler, arg, expected) => {
    const traces = await open({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg });
    const begun = [undefined, yes, no].map(given => traces.begin('x', given));
    expect(begun.map(({ span }) => span !== undefined)).toEqual(expected);
    // Without a span of ours: nothing for a new trace, else the caller's own place in it, not sampled.
    const handed = begun.map(({ span, traceparent }) => (span ? 'own' : traceparent));
    expect(handed).toEqual(expected.map((isSampled, i) => (isSampled ? 'own' : [undefined, no, no][i])));
    await traces.close();
  });

  test('by a ratio samples about that ratio', async () => {
    const traces = await open({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' });
    const begun = Array.from({ length: 4_000 }, () => traces.begin('x', undefined));
    const sampled = begun.filter(({ span }) => span).length;
    expect(sampled).toBeGreaterThan(800);
    expect(sampled).toBeLessThan(1_200);
    // What goes on with one decides the same.
    for (const { span, traceparent } of begun) {
      expect(traces.resume('y', traceparent) !== undefined).toBe(span !== undefined);
    }
    await traces.close();
  });
});

describe('without an endpoint', () => {
  test('no trace context is accepted, stored or shown', { tags: ['sweep'] }, async () => {
    const running = await startBelfry({ ...env, OTEL_TRACES_SAMPLER: 'nonsense' });
    try {
      const ask = asker(running.address, key);
      const id = await trigger(ask, `00-${freshTrace()}-${caller}-01`);
      expect(await sent(ask, id)).not.toHaveProperty('trace_id');
      expect(running.output()).not.toContain('trace_id');
    } finally {
      await running.end('SIGTERM');
    }
  });

  test('no tracing library is loaded: one file imports them, lazily', () => {
    const src = path.join(root, 'src');
    const texts = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => ({ file, text: readFileSync(path.join(src, file), 'utf8') }));
    const of = (form: RegExp) => texts.filter(({ text }) => form.test(text)).map(({ file }) => file);
    expect(of(/'@opentelemetry\//)).toEqual(['lib/telemetry/opentelemetry.ts']);
    expect(of(/from '[./]+\/opentelemetry\.ts'/)).toEqual([]);
    expect(of(/await import\('\.\/opentelemetry\.ts'\)/)).toEqual(['lib/telemetry/open-traces.ts']);
  });
});

describe('doctor', () => {
  const settings = (url: string, protocol: 'http/protobuf' | 'http/json' = 'http/protobuf'): TraceSettings => ({
    ...{ url: `${url}/v1/traces`, protocol, headers: {}, resource: {} },
    ...{ sampler: 'always_on', ratio: 1 },
  });

  test('checks the collector if one is configured', { tags: ['sweep'] }, async () => {
    const doctor = async (more: Record<string, string>) => {
      const { stdout } = await belfry(['doctor', '--json'], { ...env, ...more });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string }[] };
      return checks.find(({ name }) => name === 'traces');
    };
    expect(await doctor({})).toBeUndefined();
    expect(await doctor({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).toEqual({
      name: 'traces',
      ok: true,
      detail: `exported to ${collector.url}/v1/traces`,
    });
  });

  test.each(['http/protobuf', 'http/json'] as const)('sends an empty export by %s', async protocol => {
    const before = collector.spans.length;
    expect(await checkTraces(settings(collector.url, protocol))).toMatchObject({ ok: true });
    expect([collector.spans.length, collector.mistakes]).toEqual([before, []]);
  });

  test('says what to do if the collector does not answer or rejects the export', async () => {
    const gone = await closedUrl();
    expect(await checkTraces(settings(gone))).toMatchObject({
      ok: false,
      detail: `${gone}/v1/traces does not answer (ECONNREFUSED): check OTEL_EXPORTER_OTLP_ENDPOINT`,
    });
    collector.answer = 'refuse';
    const refused = await checkTraces(settings(collector.url));
    collector.answer = 'take';
    expect(refused).toMatchObject({ ok: false, detail: expect.stringContaining('OTEL_EXPORTER_OTLP_HEADERS') });
    const elsewhere = await checkTraces(settings(`${collector.url}/elsewhere`));
    expect(elsewhere).toMatchObject({ ok: false, detail: expect.stringContaining('answers 400') });
    collector.mistakes.length = 0;
  });
});
