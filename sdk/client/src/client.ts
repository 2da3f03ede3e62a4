/**
 * The client. A request that may be sent twice without harm is tried again when the network, a proxy or Belfry has a bad
 * moment; a trigger is one of them, because it carries an idempotency key.
 */
import { BelfryConnectionError, BelfryError, type Problem } from './errors.ts';
import type { ContextOf, EventPath } from './events.ts';
import type { Answer, Input, Item, ListPath, Method, PathOf } from './types.ts';

export interface BelfryOptions {
  /** Where Belfry is: https://notify.example.com */
  url: string;
  /** An API key. */
  key: string;
  /** Slug of the organization, for paths that do not name one. */
  organization?: string;
  /** For each attempt; 30 seconds. */
  timeoutMs?: number;
  /** After the first attempt; 4. */
  maxRetries?: number;
  /** Instead of the runtime's own. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  maxRetries?: number;
}

type TriggerBody = Input<'post', '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/'>['body'];

export interface TriggerOptions extends CallOptions {
  /** Whom, by which channels, when: see the API reference. */
  options?: NonNullable<NonNullable<TriggerBody>['options']>;
  /** The same key and content again give the same occurrence. Without one, each call makes its own. */
  idempotencyKey?: string;
  /** Kept with the occurrence, to find it by. */
  correlationId?: string;
}

/** Context, then options. What resolves says nothing new: it needs no context. */
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
  /** Relative to the url. */
  address: string;
  body?: unknown;
  headers?: Record<string, string>;
  isSafe: boolean;
}

const backoffMs = { first: 250, most: 10_000 };
/** What a proxy or a restart answers; of 500 it is unknown whether anything was done. */
const transient = new Set([408, 500, 502, 503, 504]);

export class Belfry {
  readonly #options: BelfryOptions;
  readonly #base: string;

  constructor(options: BelfryOptions) {
    if (!URL.canParse(options.url)) throw new TypeError(`url: "${options.url}" is not an address`);
    if (!options.key) throw new TypeError('key: is missing');
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /**
   * Triggers an event: `trigger('shop/web/order-paid', { order: 'A-1' })`, or with the organization before it. Resolves
   * when Belfry has stored it; from then on it is not lost.
   */
  async trigger<Path extends EventPath>(
    event: Path,
    ...given: TriggerArguments<Path>
  ): Promise<{ occurrence: string }> {
    const [context = {}, options = {}] = given as [context?: object, options?: TriggerOptions];
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

  /** Who would get what, and why the others would not; nothing is sent. */
  async simulate<Path extends EventPath>(
    event: Path,
    ...given: SimulateArguments<Path>
  ): Promise<Answer<'post', '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/'>> {
    const [context = {}, options = {}] = given as [context?: object, options?: SimulateOptions];
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

  /** Everything of a list, page by page as it is consumed: `for await (const user of belfry.list('/api/o/{org}/u/', {}))`. */
  async *list<P extends ListPath>(
    path: P,
    input: Input<'get', P>,
    options?: CallOptions,
  ): AsyncGenerator<Item<P>, void> {
    const query = { limit: 500, ...(input.query as object | undefined) };
    let address: string | undefined = this.#address(path, { ...input, query });
    while (address !== undefined) {
      const response: Response = await this.#fetch({ ...options, method: 'GET', address, isSafe: true });
      yield* (await readJson(response)) as Item<P>[];
      const next = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '')?.[1];
      // Only what follows the host: the key goes to no other, and behind a proxy Belfry may know itself by another name.
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
    return readJson(await this.#fetch(request));
  }

  /** An answer that is no refusal; throws otherwise. */
  async #fetch(request: Request): Promise<Response> {
    const most = request.maxRetries ?? this.#options.maxRetries ?? 4;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request).catch((error: unknown) => {
        // The caller's own signal, not the timeout.
        if (request.signal?.aborted) throw request.signal.reason;
        return new BelfryConnectionError(`Belfry did not answer: ${explain(error)}`, { cause: error });
      });
      if (outcome instanceof Response && outcome.ok) return outcome;
      const status = outcome instanceof Response ? outcome.status : 0;
      // A request over the limit was not looked at, so any may be sent again.
      const mayRetry = status === 429 || (request.isSafe && (status === 0 || transient.has(status)));
      if (attempt >= most || !mayRetry) throw outcome instanceof Response ? await toError(outcome) : outcome;
      const wished = outcome instanceof Response ? Number(outcome.headers.get('retry-after') ?? 0) * 1_000 : 0;
      if (outcome instanceof Response) await outcome.body?.cancel();
      const longest = Math.min(backoffMs.most, backoffMs.first * 2 ** attempt);
      await pause(Math.max(wished || 0, longest / 2 + (Math.random() * longest) / 2), request.signal);
    }
  }

  #attempt({ method, address, body, headers, signal, timeoutMs }: Request): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs ?? this.#options.timeoutMs ?? 30_000);
    return (this.#options.fetch ?? fetch)(this.#base + address, {
      method,
      headers: {
        authorization: `Key ${this.#options.key}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The key follows no redirect.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  }
}

/** Undefined where there is no content. */
async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  return /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text;
}

async function toError(response: Response): Promise<Error> {
  const text = await response.text().catch(() => '');
  if (response.headers.get('content-type')?.startsWith('application/problem+json')) {
    return new BelfryError(response.status, JSON.parse(text) as Problem);
  }
  return new BelfryConnectionError(`Something that is not Belfry answered with status ${response.status}`);
}

/** fetch hides what happened in the cause. */
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
