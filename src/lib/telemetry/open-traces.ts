import type { TraceSettings } from './trace-settings.ts';
import type { Traces, TracesLog } from './traces.ts';

/** Loads OpenTelemetry's libraries only if an endpoint is configured: they cost memory and start-up time. */
export async function openTraces(settings: TraceSettings | undefined, log: TracesLog): Promise<Traces | undefined> {
  if (!settings) return undefined;
  const { openOpenTelemetry } = await import('./opentelemetry.ts');
  return openOpenTelemetry(settings, log);
}
