/**
 * One request and its response, under one deadline. Resolves once the headers were received and the body ended in any
 * way, or rejects with an OutboundError that says whether the request was sent.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { OutboundError } from './outbound-error.ts';

export interface OutboundRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** For everything together: waiting for a connection, connecting, sending, and the whole response. */
  timeoutMs?: number;
  /** Also offers HTTP/2, for the few peers that support nothing else. */
  http2?: boolean;
}

export interface OutboundResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The body, possibly cut by the limit, the deadline or the end of the connection: only the status is decisive. */
  text: string;
}

interface Exchange extends OutboundRequest {
  url: URL;
  timeoutMs: number;
  maxBytes: number;
}

export function exchange(dispatcher: Dispatcher, { url, maxBytes, ...request }: Exchange): Promise<OutboundResponse> {
  return new Promise((resolve, reject) => {
    let settled = false;
    let sent = false;
    let controller: Dispatcher.DispatchController | undefined;
    let answer: Omit<OutboundResponse, 'text'> | undefined;
    const chunks: Buffer[] = [];
    let bytes = 0;

    const settle = (error?: OutboundError) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (answer) resolve({ ...answer, text: Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8') });
      else reject(error);
    };
    const timer = setTimeout(() => {
      const error = new OutboundError('timeout', sent, `${url.host} did not answer within ${request.timeoutMs | 0} ms`);
      settle(error);
      controller?.abort(error);
    }, request.timeoutMs);

    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: request.headers,
        body: request.body,
        // Backs up the deadline above, which cannot abort a request that is still waiting for a connection.
        headersTimeout: request.timeoutMs,
        bodyTimeout: request.timeoutMs,
      },
      {
        // The request has a connection and is about to be sent, unless its deadline has passed.
        onRequestStart(started) {
          controller = started;
          if (settled) started.abort(new Error('too late'));
          else sent = true;
        },
        onResponseStart(_, status, headers) {
          if (status >= 200) answer = { status, headers: flatten(headers) };
        },
        onResponseData(_, chunk) {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes < maxBytes) return;
          settle();
          controller?.abort(new Error('long enough'));
        },
        onResponseEnd: () => settle(),
        onResponseError: (_, error) => settle(toOutboundError(error, sent, url.host)),
      },
    );
  });
}

function toOutboundError(error: Error, sent: boolean, host: string): OutboundError {
  if (error instanceof OutboundError) return error;
  const { code = error.name } = error as NodeJS.ErrnoException;
  const fail = (kind: OutboundError['kind'], message: string) => new OutboundError(kind, sent, message, error);
  if (code === 'UND_ERR_INVALID_ARG') return fail('refused', `invalid request: ${error.message}`);
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return fail('timeout', `${host} did not answer in time`);
  if (!sent) return fail('connect', `no connection to ${host} (${code})`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return fail('too_large', `${host} answered with too many headers`);
  return fail('broken', `the connection to ${host} broke before it answered (${code})`);
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]);
  return Object.fromEntries(entries);
}
