/**
 * The API client. Requests that are safe to repeat are retried after temporary failures of the network, a proxy or Belfry. Triggers are safe
 * to repeat because they have an idempotency key.
 */
import { BelfryConnectionError, BelfryError, type Problem } from './errors.ts';
import type { ContextOf, EventPath } from './events.ts';
import type { Answer, Input, Item, ListPath, Method, PathOf } from './types.ts';

export interface BelfryOptions {
  /** URL of Belfry: https://notify.example.com */
  url: string;
  /** An API key. */
  key: string;
  /** Slug of the organization, used for paths that do not name one. */
  organization?: string;
  /** Timeout of each attempt. Default: 30 seconds. */
  timeoutMs?: number;
  /** Retries after the first attempt. Default: 4. */
  maxRetries?: number;
  /** Replaces the runtime's own fetch. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  maxRetries?: number;
}

type TriggerBody = Input<'post', '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/'>['body'];

export interface TriggerOptions extends CallOptions {
  /** Recipients, channels, time and more: see the API reference. */
  options?: NonNullable<NonNullable<TriggerBody>['options']>;
  /** Repeating the same key and content returns the same occurrence. Default: a new key for each call. */
  idempotencyKey?: string;
  /** Stored with the occurrence, so that you can search for it. */
  correlationId?: string;
}

/** Context, then options. A trigger that resolves an occurrence needs no context. */
type TriggerArguments<Path extends string> =
  | (object extends ContextOf<Path>
      ? [context?: ContextOf<Path>, options?: TriggerOptions]
      : [context: ContextOf<Path>, options?: TriggerOptions])
  | [context: object, options: TriggerOptions & { options: { resolve: true } }];

type SimulateOptions = Pick<TriggerOptions, 'options' | keyof CallOptions>;
type SimulateArguments<Path extends string> =
  object extends ContextOf<Path>
    ? [context?: ContextOf<Path>, options?: SimulateOptions]
    : [context: ContextOf<Path>, options?: SimulateOptions];

interface Request extends CallOptions {
  method: string;
  /** Path and query, relative to the base URL. */
  address: string;
  body?: unknown;
  headers?: Record<string, string>;
  isSafe: boolean;
}

const backoffMs = { first: 250, max: 10_000 };
/** Status codes of proxies and restarts; after a 500 it is unknown whether the request was processed. */
const transient = new Set([408, 500, 502, 503, 504]);

export class Belfry {
  readonly #options: BelfryOptions;
  readonly #base: string;

  constructor(options: BelfryOptions) {
    if (!URL.canParse(options.url)) throw new TypeError(`url: "${options.url}" is not a URL`);
    if (!options.key) throw new TypeError('key: is missing');
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /**
   * Triggers an event: `trigger('shop/web/order-paid', { order: 'A-1' })`, or with the organization before it. Resolves
   * when Belfry has stored it; from then on it cannot be lost.
   */
  async trigger<Path extends EventPath>(event: Path, ...args: TriggerArguments<Path>): Promise<{ occurrence: string }> {
    const [context = {}, options = {}] = args as [context?: object, options?: TriggerOptions];
    const query = options.correlationId === undefined ? '' : `?cid=${encodeURIComponent(options.correlationId)}`;
    return (await this.#send({
      ...options,
      method: 'POST',
      address: `${this.#eventPath(event)}trigger/${query}`,
      body: { context, ...(options.options && { options: options.options }) },
      headers: options.options?.idempotency_key
        ? {}
        : { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() },
      isSafe: true,
    })) as { occurrence: string };
  }

  /** Returns who would get which message, and why others would not; sends nothing. */
  async simulate<Path extends EventPath>(
    event: Path,
    ...args: SimulateArguments<Path>
  ): Promise<Answer<'post', '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/'>> {
    const [context = {}, options = {}] = args as [context?: object, options?: SimulateOptions];
    const address = `${this.#eventPath(event)}simulate/`;
    const body = { context, ...(options.options && { options: options.options }) };
    return (await this.#send({ ...options, method: 'POST', address, body, isSafe: true })) as never;
  }

  get<P extends PathOf<'get'>>(path: P, input: Input<'get', P>, options?: CallOptions): Promise<Answer<'get', P>> {
    return this.#call('get', path, input, options);
  }

  post<P extends PathOf<'post'>>(path: P, input: Input<'post', P>, options?: CallOptions): Promise<Answer<'post', P>> {
    return this.#call('post', path, input, options);
  }

  put<P extends PathOf<'put'>>(path: P, input: Input<'put', P>, options?: CallOptions): Promise<Answer<'put', P>> {
    return this.#call('put', path, input, options);
  }

  patch<P extends PathOf<'patch'>>(
    path: P,
    input: Input<'patch', P>,
    options?: CallOptions,
  ): Promise<Answer<'patch', P>> {
    return this.#call('patch', path, input, options);
  }

  delete<P extends PathOf<'delete'>>(
    path: P,
    input: Input<'delete', P>,
    options?: CallOptions,
  ): Promise<Answer<'delete', P>> {
    return this.#call('delete', path, input, options);
  }

  /** Iterates over a list, loading pages on demand: `for await (const user of belfry.list('/api/o/{org}/u/', {}))`. */
  async *list<P extends ListPath>(
    path: P,
    input: Input<'get', P>,
    options?: CallOptions,
  ): AsyncGenerator<Item<P>, void> {
    const query = { limit: 500, ...(input.query as object | undefined) };
    let address: string | undefined = this.#address(path, { ...input, query });
    while (address !== undefined) {
      const response: Response = await this.#fetch({ ...options, method: 'GET', address, isSafe: true });
      yield* (await readBody(response)) as Item<P>[];
      const next = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '')?.[1];
      // Ignores the host: the key must not be sent to another one, and behind a proxy Belfry may use a different name.
      const from = next === undefined ? undefined : new URL(next, this.#base);
      address = from && from.pathname.slice(from.pathname.indexOf('/api/')) + from.search;
    }
  }

  async #call<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: object,
    options?: CallOptions,
  ): Promise<Answer<M, P>> {
    const { body } = input as { body?: unknown };
    const isSafe = method === 'get' || method === 'put';
    const request = { ...options, method: method.toUpperCase(), address: this.#address(path as string, input), isSafe };
    return (await this.#send(body === undefined ? request : { ...request, body })) as Answer<M, P>;
  }

  #eventPath(event: string): string {
    const parts = event.split('/');
    const [org, prj, app, evt] = parts.length === 3 ? [this.#options.organization, ...parts] : parts;
    if (parts.length > 4 || !prj || !app || !evt) {
      throw new TypeError(`event: "${event}" is not project/application/event`);
    }
    return this.#address('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/', { path: { org, prj, app, evt } });
  }

  #address(path: string, input: { path?: object; query?: object | undefined }): string {
    const values: Record<string, unknown> = { org: this.#options.organization, ...input.path };
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined || value === '') {
        throw new TypeError(name === 'org' ? 'organization: is missing' : `path.${name}: is missing`);
      }
      return encodeURIComponent(String(value));
    });
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(input.query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) query.append(name, String(one));
    }
    return query.size > 0 ? `${filled}?${query}` : filled;
  }

  async #send(request: Request): Promise<unknown> {
    return readBody(await this.#fetch(request));
  }

  /** Returns a successful response; throws otherwise. */
  async #fetch(request: Request): Promise<Response> {
    const maxRetries = request.maxRetries ?? this.#options.maxRetries ?? 4;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request).catch((error: unknown) => {
        // Aborted by the caller's signal, not by the timeout.
        if (request.signal?.aborted) throw request.signal.reason;
        return new BelfryConnectionError(`Belfry did not respond: ${explain(error)}`, { cause: error });
      });
      if (outcome instanceof Response && outcome.ok) return outcome;
      const status = outcome instanceof Response ? outcome.status : 0;
      // A rate-limited request was not processed, so it can always be sent again.
      const mayRetry = status === 429 || (request.isSafe && (status === 0 || transient.has(status)));
      if (attempt >= maxRetries || !mayRetry) throw outcome instanceof Response ? await toError(outcome) : outcome;
      const retryAfterMs = outcome instanceof Response ? Number(outcome.headers.get('retry-after') ?? 0) * 1_000 : 0;
      if (outcome instanceof Response) await outcome.body?.cancel();
      const delay = Math.min(backoffMs.max, backoffMs.first * 2 ** attempt);
      await pause(Math.max(retryAfterMs || 0, delay / 2 + (Math.random() * delay) / 2), request.signal);
    }
  }

  #attempt({ method, address, body, headers, signal, timeoutMs }: Request): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs ?? this.#options.timeoutMs ?? 30_000);
    // The only body that is text is a CSV file.
    const isFile = typeof body === 'string';
    return (this.#options.fetch ?? fetch)(this.#base + address, {
      method,
      headers: {
        authorization: `Key ${this.#options.key}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': isFile ? 'text/csv' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
      // The key must not be sent to a redirect target.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  }
}

/** Returns undefined if there is no content. */
async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  // A file of JSON lines is text: it is not one JSON value.
  return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
}

async function toError(response: Response): Promise<Error> {
  const text = await response.text().catch(() => '');
  if (response.headers.get('content-type')?.startsWith('application/problem+json')) {
    return new BelfryError(response.status, JSON.parse(text) as Problem);
  }
  return new BelfryConnectionError(`The response with status ${response.status} is not from Belfry`);
}

/** Returns the message of the cause, in which fetch hides the actual problem. */
function explain(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message ? cause.message : message;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
