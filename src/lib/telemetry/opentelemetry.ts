/** Implements `Traces` with OpenTelemetry. Only `close` waits for the collector, and only briefly. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DiagLogLevel,
  diag,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceSettings } from './trace-settings.ts';
import type { Attributes, Span, Traces, TracesLog } from './traces.ts';

/** Spans that wait to be exported: a busy second of a worker, some 15 MB. Further spans are dropped. */
const maxWaiting = 16_384;
/** The library's default. Serializing a batch takes a few milliseconds. */
const maxPerBatch = 512;
const exportIntervalMs = 1_000;
/** How long `close` waits for the last export. */
const flushTimeoutMs = 1_500;
const dropLogIntervalMs = 60_000;

export async function openOpenTelemetry(settings: TraceSettings, log: TracesLog): Promise<Traces> {
  const { url, headers, protocol, resource } = settings;
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  logDroppedSpans(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resource),
    sampler: samplerOf(settings),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: withFailureLogs(new OTLPTraceExporter({ url, headers }), url, log),
        maxQueueSize: maxWaiting,
        maxExportBatchSize: maxPerBatch,
        scheduledDelayMillis: exportIntervalMs,
      }),
    ],
  });
  const tracer = provider.getTracer('belfry');

  return {
    begin(name, callerTraceparent) {
      const parent = callerTraceparent === undefined ? null : parseTraceParent(callerTraceparent);
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, contextOf(parent));
      if (span.isRecording()) {
        return { span: new OpenTelemetrySpan(tracer, span), traceparent: toTraceparent(span.spanContext()) };
      }
      // Child spans still belong to the caller's span, as there is none of ours.
      return parent ? { traceparent: toTraceparent({ ...parent, traceFlags: TraceFlags.NONE }) } : {};
    },

    resume(name, traceparent) {
      const parent = traceparent ? parseTraceParent(traceparent) : null;
      if (!parent || !(parent.traceFlags & TraceFlags.SAMPLED)) return undefined;
      const span = tracer.startSpan(name, {}, contextOf(parent));
      return span.isRecording() ? new OpenTelemetrySpan(tracer, span) : undefined;
    },

    async close() {
      const flushed = provider.shutdown().catch(() => {});
      const timer = new AbortController();
      const timeout = sleep(flushTimeoutMs, true, { signal: timer.signal }).catch(() => false);
      const timedOut = await Promise.race([flushed.then(() => false), timeout]);
      timer.abort();
      if (timedOut) log.warn({}, `${url} took too long: the last spans are lost`);
    },
  };
}

function contextOf(parent: SpanContext | null) {
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`;
}

/** A class, not closures: a traced message has six spans. */
class OpenTelemetrySpan implements Span {
  readonly #tracer: Tracer;
  readonly #span: OtelSpan;

  constructor(tracer: Tracer, span: OtelSpan) {
    this.#tracer = tracer;
    this.#span = span;
  }

  get traceparent(): string {
    return toTraceparent(this.#span.spanContext());
  }

  start(name: string, kind?: 'call'): Span {
    const options = { kind: kind ? SpanKind.CLIENT : SpanKind.INTERNAL };
    const context = trace.setSpan(ROOT_CONTEXT, this.#span);
    return new OpenTelemetrySpan(this.#tracer, this.#tracer.startSpan(name, options, context));
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  link(others: readonly string[]): void {
    for (const other of others) {
      const context = parseTraceParent(other);
      if (context) this.#span.addLink({ context });
    }
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR, message: failure });
    }
    this.#span.end();
  }
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const [, parentBased, name] = /^(parentbased_)?(.*)$/.exec(sampler)!;
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

/** Logs when exporting starts to fail and when it works again, but not every failed batch in between. */
function withFailureLogs(exporter: SpanExporter, url: string, log: TracesLog): SpanExporter {
  let lost = 0;
  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        if (code === ExportResultCode.SUCCESS) {
          if (lost > 0) log.info({ lost }, `spans are exported to ${url} again`);
          lost = 0;
        } else {
          if (lost === 0)
            log.warn({ err: error }, `spans cannot be exported to ${url}: they are lost until it works again`);
          lost += spans.length;
        }
        // Logged above: the library would log each one.
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** Logs dropped spans, which the library reports only through `diag`, and ignores its other messages. */
function logDroppedSpans(log: TracesLog): void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const ignore = () => {};
  const warn = (message: string) => {
    if (!/^Dropped \d+ spans/.test(message) || performance.now() - loggedAt < dropLogIntervalMs) return;
    loggedAt = performance.now();
    log.warn({}, `${message}: sample fewer traces, or let the collector take more`);
  };
  const logger = { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
