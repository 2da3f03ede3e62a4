/**
 * Traces with OpenTelemetry, for work in batches: there is no ambient context, every span is started from its parent. A
 * span is identified by a W3C traceparent, which may be stored and continued by another process.
 */

export type Attributes = Record<string, string | number | boolean | undefined>;

/** A span that is never ended is not exported. */
export interface Span {
  /** For child spans in another process. */
  readonly traceparent: string;
  /** Starts a child span; a `call` goes to another service. */
  start(name: string, kind?: 'call'): Span;
  set(attributes: Attributes): void;
  /** Links spans of other traces by their traceparents. */
  link(others: readonly string[]): void;
  /** Ends the span, with an error code if the work failed. */
  end(failure?: string): void;
}

export interface Traces {
  /**
   * Begins a span for an incoming request: a child of the caller's span if `traceparent` is valid, else in a new trace.
   * There is no span if the trace is not sampled; the result still has a traceparent if the caller sent one.
   */
  begin(name: string, traceparent: string | undefined): { span?: Span; traceparent?: string };
  /** Continues a trace that was begun elsewhere; returns undefined if there is none, or it is not sampled. */
  resume(name: string, traceparent: string | null | undefined): Span | undefined;
  /** Exports the remaining spans, but waits only briefly. */
  close(): Promise<void>;
}

export interface TracesLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Returns the trace id of a traceparent that `Traces` made. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}
