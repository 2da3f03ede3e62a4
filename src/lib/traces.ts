/**
 * Traces by OpenTelemetry, for programs that work in batches: nothing is taken from an ambient context, every span is told what it
 * is below. A span says what it belongs to as a W3C traceparent, which may be stored and taken up by another process.
 */

export type Attributes = Record<string, string | number | boolean | undefined>;

/** A piece of work. One that is never ended is not exported. */
export interface Span {
  /** For whoever works on what is below it. */
  readonly traceparent: string;
  /** Below it; a `call` goes to another service. */
  start(name: string, kind?: 'call'): Span;
  set(attributes: Attributes): void;
  /** To spans of other traces, by their traceparents. */
  link(others: readonly string[]): void;
  /** With a code where it failed. */
  end(failure?: string): void;
}

export interface Traces {
  /**
   * Begins a piece of work that comes from outside: below the caller's span where `given` is a valid traceparent, else in a new
   * trace. Without a span the trace is not sampled; it has a traceparent all the same where the caller gave one.
   */
  begin(name: string, given: string | undefined): { span?: Span; traceparent?: string };
  /** Goes on with what was begun elsewhere; undefined where there is no trace, or one that is not sampled. */
  resume(name: string, traceparent: string | null | undefined): Span | undefined;
  /** Exports what is left, as far as that takes no longer than a moment. */
  close(): Promise<void>;
}

export interface TracesLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Of a traceparent as `Traces` gives it. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}
