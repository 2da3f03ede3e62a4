/** Whether the collector that spans are exported to takes them. */
import type { TraceSettings } from '../lib/trace-settings.ts';
import { type Check, check } from './health.ts';

const timeoutMs = 5_000;

/** By an export without any spans. */
export async function checkTraces({ url, protocol, headers }: TraceSettings): Promise<Check> {
  const isJson = protocol === 'http/json';
  const type = isJson ? 'application/json' : 'application/x-protobuf';
  return check('traces', async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      // A message without fields has no bytes.
      body: isJson ? '{"resourceSpans":[]}' : '',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(error => {
      throw new Error(`${url} does not answer (${reasonOf(error)}): is OTEL_EXPORTER_OTLP_ENDPOINT right?`);
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 401 || status === 403) {
      throw new Error(`${url} answers ${status}: give it what it asks for in OTEL_EXPORTER_OTLP_HEADERS`);
    }
    if (!response.ok) throw new Error(`${url} answers ${status}: does it take OTLP over HTTP (${protocol})?`);
    return `exported to ${url}`;
  });
}

function reasonOf(error: Error): string {
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
  return error.name === 'TimeoutError' ? `not within ${timeoutMs / 1_000} s` : (code ?? message);
}
