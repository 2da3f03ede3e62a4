/**
 * One request and its response, under one deadline. Resolves once the headers were received and the body ended in any
 * way, or rejects with an OutboundError that says whether the request was sent.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { currentHandoverCheck } from './handover.ts';
import { isLocalFailure, OutboundError } from './outbound-error.ts';

export interface OutboundRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  /** Pieces are sent one after the other, without a copy of the whole. */
  body?: string | Buffer | readonly Buffer[];
  /** For everything together: waiting for a connection, connecting, sending, and the whole response. */
  timeoutMs?: number;
  /** Reads the response as a file of at most this many bytes, instead of as text. */
  maxFileBytes?: number;
  /** Called with the size of each part of a file, before it is kept. If it returns false, the rest is not read. */
  mayHold?: (bytes: number) => boolean;
  /** Ends the request early, as if its deadline had passed. */
  signal?: AbortSignal;
  /** Also offers HTTP/2, for the few peers that support nothing else. */
  http2?: boolean;
  /** Requests with another name never share a connection with this one, for peers that bind connections to an account. */
  connection?: string;
}

export interface OutboundResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The body, possibly cut by the limit, the deadline or the end of the connection: only the status is decisive. */
  text: string;
  /** With `maxFileBytes`: the whole body, or why there is none. */
  file?: Buffer | 'cut' | 'too_large' | 'no_room';
}

interface Exchange extends OutboundRequest {
  url: URL;
  timeoutMs: number;
  maxBytes: number;
}

export function exchange(dispatcher: Dispatcher, { url, ...request }: Exchange): Promise<OutboundResponse> {
  const { maxFileBytes, mayHold, signal } = request;
  const maxBytes = maxFileBytes === undefined ? request.maxBytes : maxFileBytes + 1;
  const mayHandOver = currentHandoverCheck();
  return new Promise((resolve, reject) => {
    let settled = false;
    let sent = false;
    let controller: Dispatcher.DispatchController | undefined;
    let answer: Omit<OutboundResponse, 'text'> | undefined;
    let isComplete = false;
    let hasRoom = true;
    const chunks: Buffer[] = [];
    let bytes = 0;

    const settle = (error?: OutboundError) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      if (!answer) reject(error);
      else if (maxFileBytes === undefined)
        resolve({ ...answer, text: Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8') });
      else {
        const why = hasRoom ? (bytes > maxFileBytes ? 'too_large' : 'cut') : 'no_room';
        const file = isComplete ? Buffer.concat(chunks) : why;
        resolve({ ...answer, text: '', file });
      }
    };
    const end = (why: string) => {
      const error = new OutboundError('timeout', sent, `${url.host} ${why}`);
      settle(error);
      controller?.abort(error);
    };
    const giveUp = () => end('was too slow while other requests waited');
    const timer = setTimeout(() => end(`did not answer within ${request.timeoutMs | 0} ms`), request.timeoutMs);
    if (signal?.aborted) return giveUp();
    signal?.addEventListener('abort', giveUp);

    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        ...bodyOf(request),
        // Backs up the deadline above, which cannot abort a request that is still waiting for a connection.
        headersTimeout: request.timeoutMs,
        bodyTimeout: request.timeoutMs,
      },
      {
        // The request has a connection and is about to be sent, unless its deadline has passed.
        onRequestStart(started) {
          controller = started;
          if (settled) started.abort(new Error('too late'));
          else if (!mayHandOver()) started.abort(new OutboundError('withdrawn', false, 'the request was withdrawn'));
          else sent = true;
        },
        onResponseStart(_, status, headers) {
          if (status >= 200) answer = { status, headers: flatten(headers) };
        },
        onResponseData(_, chunk) {
          hasRoom &&= mayHold?.(chunk.length) ?? true;
          if (hasRoom) {
            chunks.push(chunk);
            bytes += chunk.length;
            if (bytes < maxBytes) return;
          }
          settle();
          controller?.abort(new Error('long enough'));
        },
        onResponseEnd: () => {
          isComplete = true;
          settle();
        },
        onResponseError: (_, error) => settle(toOutboundError(error, sent, url.host)),
      },
    );
  });
}

/** Without its length, a body in pieces would be sent in chunks, which many services refuse. */
function bodyOf({ headers, body }: OutboundRequest): Pick<Dispatcher.DispatchOptions, 'headers' | 'body'> {
  if (typeof body !== 'object' || Buffer.isBuffer(body)) return { headers, body };
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  return { headers: { ...headers, 'content-length': String(length) }, body: body as never };
}

function toOutboundError(error: Error, sent: boolean, host: string): OutboundError {
  if (error instanceof OutboundError) return error;
  const { code = error.name } = error as NodeJS.ErrnoException;
  const fail = (kind: OutboundError['kind'], message: string) => new OutboundError(kind, sent, message, error);
  if (code === 'UND_ERR_INVALID_ARG') return fail('refused', `invalid request: ${error.message}`);
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return fail('timeout', `${host} did not answer in time`);
  if (!sent && isLocalFailure(error)) return fail('local', `no connection could be opened on this machine (${code})`);
  if (!sent) return fail('connect', `no connection to ${host} (${code})`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return fail('too_large', `${host} answered with too many headers`);
  return fail('broken', `the connection to ${host} broke before it answered (${code})`);
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]);
  return Object.fromEntries(entries);
}
