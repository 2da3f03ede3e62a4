import type { TraceSettings } from './trace-settings.ts';
import type { Traces, TracesLog } from './traces.ts';

/** The libraries are read when there is an endpoint: a service without one is as small, and starts as fast, as without them. */
export async function openTraces(settings: TraceSettings | undefined, log: TracesLog): Promise<Traces | undefined> {
  if (!settings) return undefined;
  const { openOpenTelemetry } = await import('./opentelemetry.ts');
  return openOpenTelemetry(settings, log);
}
