/** Checks whether the trace collector accepts our exports. */
import type { TraceSettings } from '../../../lib/telemetry/trace-settings.ts';
import { type Check, check } from '../health.ts';

const timeoutMs = 5_000;

/** Sends an export request without spans. */
export async function checkTraces({ url, protocol, headers }: TraceSettings): Promise<Check> {
  const isJson = protocol === 'http/json';
  const type = isJson ? 'application/json' : 'application/x-protobuf';
  return check('traces', async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      // A protobuf message without fields is empty.
      body: isJson ? '{"resourceSpans":[]}' : '',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(error => {
      throw new Error(`${url} does not answer (${reasonOf(error)}): check OTEL_EXPORTER_OTLP_ENDPOINT`);
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 401 || status === 403) {
      throw new Error(`${url} answers ${status}: check the credentials in OTEL_EXPORTER_OTLP_HEADERS`);
    }
    if (!response.ok) throw new Error(`${url} answers ${status}: check that it accepts OTLP over HTTP (${protocol})`);
    return `exported to ${url}`;
  });
}

function reasonOf(error: Error): string {
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
  return error.name === 'TimeoutError' ? `timed out after ${timeoutMs / 1_000} s` : (code ?? message);
}
