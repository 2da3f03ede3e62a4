/**
 * How API responses are loaded, cached and retried. The key of a query is its request and what is kept of the response, so
 * two queries share an entry of the cache only if they hold the same. Keys are built here and nowhere else.
 */
import type { FetchResponse, ParamsOption } from 'openapi-fetch';
import { ApiError, api, type Page, take, takePage, takeTagged } from './api.ts';
import type { paths } from './api-types.ts';

export const queryDefaults = {
  // By default, requests wait while the browser is offline. A change would then be made later, unseen.
  mutations: { networkMode: 'always' },
  queries: {
    networkMode: 'always',
    refetchOnReconnect: true,
    staleTime: 2_000,
    // Client errors are final; network and server errors are retried twice.
    retry: (count: number, error: Error) => !(error instanceof ApiError && error.status < 500) && count < 2,
  },
} as const;

type ReadPath = { [P in keyof paths]: paths[P] extends { get: object } ? P : never }[keyof paths];
type Operation<P extends ReadPath> = Extract<paths[P]['get'], Record<string | number, unknown>>;
type Params<P extends ReadPath> = NonNullable<ParamsOption<Operation<P>>['params']>;
type Body<P extends ReadPath> = NonNullable<FetchResponse<Operation<P>, object, 'application/json'>['data']>;
export type Row<P extends ReadPath> = Body<P> extends (infer Each)[] ? Each : never;
/** Lists that need nothing but the organization. */
export type ListPath = { [P in ReadPath]: Body<P> extends unknown[] ? P : never }[ReadPath];
type Context = { signal: AbortSignal };
type QueryKey = readonly unknown[];

function get<P extends ReadPath>(path: P, params: unknown, signal: AbortSignal) {
  return api.GET(path, { params, signal } as never) as Promise<{ data?: Body<P>; response: Response }>;
}

/** A value. `version` changes when the response does, so that it is loaded again. */
export function read<P extends ReadPath>(path: P, params: Params<P>, version?: unknown) {
  return {
    queryKey: [path, params, 'value', version] as QueryKey,
    queryFn: ({ signal }: Context) => take(get(path, params, signal)),
  };
}

/** A value and its ETag. */
export function readTagged<P extends ReadPath>(path: P, params: Params<P>) {
  return {
    queryKey: [path, params, 'tagged'] as QueryKey,
    queryFn: ({ signal }: Context) => takeTagged(get(path, params, signal)),
  };
}

/** Something put together from several responses, or from a part of one. `name` says what; `path` is what refreshes it. */
export function combine<Data>(name: string, path: ReadPath, of: unknown, load: (signal: AbortSignal) => Promise<Data>) {
  return {
    queryKey: [path, of, name] as QueryKey,
    queryFn: ({ signal }: Context) => load(signal),
  };
}

/** The response to a POST that changes nothing, such as a preview. */
export function ask<Data>(path: keyof paths, request: unknown, load: (signal: AbortSignal) => Promise<Data>) {
  return { queryKey: ['ask', path, request] as QueryKey, queryFn: ({ signal }: Context) => load(signal) };
}

/** A value that is loaded for one page or dialog and never refreshed below its user. */
export function loadOnce<Data>(of: readonly unknown[], load: (signal: AbortSignal) => Promise<Data>) {
  return { queryKey: ['once', ...of] as QueryKey, queryFn: ({ signal }: Context) => load(signal), gcTime: 0 };
}

export interface Pages<Row> {
  queryKey: QueryKey;
  load: (page: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<Page<Row>>;
}

/** Parameters that follow the clock, computed for every request; `key` identifies them meanwhile. */
interface Relative {
  key: string;
  query: () => object;
}

/** The filter "in the last N hours", as it is in the address of a page. */
export function sinceHours(hours: string | undefined): Relative | undefined {
  if (!hours || !/^\d+$/.test(hours)) return undefined;
  return { key: hours, query: () => ({ since: new Date(Date.now() - Number(hours) * 3_600_000).toISOString() }) };
}

/** A list that is loaded page by page. */
export function pages<P extends ReadPath>(path: P, params: Params<P>, relative?: Relative): Pages<Row<P>> {
  const { query } = params as { query?: object };
  return {
    queryKey: [path, params, 'pages', relative?.key],
    load: (page, signal) => {
      const whole = { ...params, query: { ...query, ...relative?.query(), ...page } };
      return takePage(get(path, whole, signal) as Promise<{ data?: Row<P>[]; response: Response }>);
    },
  };
}

type Prefixes<P extends string, Above extends string = ''> = P extends `${infer Name}/${infer Rest}`
  ? `${Above}${Name}/` | Prefixes<Rest, `${Above}${Name}/`>
  : never;

/** The start of a path that is read. A change refreshes what is read from there. */
export type PathPrefix = Prefixes<ReadPath>;

/** The part of a `QueryClient` that is needed. */
interface Refreshable {
  invalidateQueries(filters: {
    predicate: (query: { queryKey: QueryKey }) => boolean;
    refetchType: 'active' | 'none';
  }): Promise<void>;
}

export function refreshAll(queries: Refreshable, prefixes: PathPrefix[], refetchType: 'active' | 'none' = 'active') {
  return queries.invalidateQueries({
    predicate: ({ queryKey: [path] }) => prefixes.some(prefix => String(path).startsWith(prefix)),
    refetchType,
  });
}

/** How users can sign in. It changes only with the settings of the server. */
export const signInOptionsQuery = { ...read('/api/session/options/', {}), staleTime: Number.POSITIVE_INFINITY };
