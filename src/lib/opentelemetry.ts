/** OpenTelemetry's libraries behind `Traces`. Nothing here waits for the collector but `close`, and that for a moment. */
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

/**
 * What waits to be exported: a busy second of a worker, some 15 MB. What comes on top of it is dropped. Batches are as large as the
 * library has them: writing one out takes a few milliseconds.
 */
const mostWaiting = 16_384;
const perBatch = 512;
const everyMs = 1_000;
/** Of a stop. */
const flushMs = 1_500;
const dropsEveryMs = 60_000;

export async function openOpenTelemetry(settings: TraceSettings, log: TracesLog): Promise<Traces> {
  const { url, headers, protocol, resource } = settings;
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  tellOfDrops(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resource),
    sampler: samplerOf(settings),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: watched(new OTLPTraceExporter({ url, headers }), url, log),
        maxQueueSize: mostWaiting,
        maxExportBatchSize: perBatch,
        scheduledDelayMillis: everyMs,
      }),
    ],
  });
  const tracer = provider.getTracer('belfry');

  return {
    begin(name, given) {
      const parent = given === undefined ? null : parseTraceParent(given);
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, contextOf(parent));
      if (span.isRecording()) {
        return { span: new OpenTelemetrySpan(tracer, span), traceparent: toTraceparent(span.spanContext()) };
      }
      // Whoever is below still belongs to the caller's span, as there is none of ours.
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
      const late = sleep(flushMs, true, { signal: timer.signal }).catch(() => false);
      const isLate = await Promise.race([flushed.then(() => false), late]);
      timer.abort();
      if (isLate) log.warn({}, `${url} took too long: the last spans are lost`);
    },
  };
}

function contextOf(parent: SpanContext | null) {
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`;
}

/** A class, not closures: a message that is traced has six of them. */
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
    const below = trace.setSpan(ROOT_CONTEXT, this.#span);
    return new OpenTelemetrySpan(this.#tracer, this.#tracer.startSpan(name, options, below));
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

/** Tells when exporting begins to fail and when it works again, not of every batch between. */
function watched(exporter: SpanExporter, url: string, log: TracesLog): SpanExporter {
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
        // Told above: the library would tell of each.
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** The library says so, and everything else it says, by `diag` alone. */
function tellOfDrops(log: TracesLog): void {
  let toldAt = Number.NEGATIVE_INFINITY;
  const nothing = () => {};
  const warn = (message: string) => {
    if (!/^Dropped \d+ spans/.test(message) || Date.now() - toldAt < dropsEveryMs) return;
    toldAt = Date.now();
    log.warn({}, `${message}: sample fewer traces, or let the collector take more`);
  };
  const logger = { error: nothing, warn, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
