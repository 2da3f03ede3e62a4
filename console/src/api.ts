/** The console reaches the service only through the public API, typed from openapi.json. */
import createClient, { type Middleware } from 'openapi-fetch';
import type { Problem, paths } from './api-types.ts';
import { texts } from './texts/common.ts';

/** An error response of the API, as a problem document. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly requestId: string | undefined;
  /** Maps each invalid field to its messages; forms show these beside their inputs. */
  readonly errors: Record<string, string[]>;
  readonly retryAfter: number | undefined;
  /** The whole problem document, for members that only some problems have, such as `uses`. */
  readonly problem: Partial<Problem> & Record<string, unknown>;

  constructor(status: number, problem: Partial<Problem>, retryAfter?: number) {
    super(sentence(problem.detail ?? problem.title ?? texts.theServiceRespondedWith(status)));
    this.status = status;
    this.code = problem.code ?? '';
    this.title = problem.title ?? texts.somethingWentWrong;
    this.requestId = problem.request_id;
    this.errors = problem.errors ?? {};
    this.retryAfter = retryAfter;
    this.problem = problem;
  }
}

/** The service or the network cannot be reached. */
export class UnreachableError extends Error {
  override name = 'Unreachable';
}

/** The user cancelled the action, so no error is shown. */
export class CancelledError extends Error {
  override name = 'Cancelled';
}

/** Returns whether the same request may succeed later, unchanged. */
export function isTransient(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof ApiError && error.status >= 500);
}

let csrfToken = '';
let onSignedOut: () => void = () => {};

export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** Sets what happens when the session ends while the console is in use. */
export function setSignedOutHandler(handler: () => void): void {
  onSignedOut = handler;
}

const session: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET' && csrfToken) request.headers.set('x-csrf-token', csrfToken);
    return request;
  },
  async onResponse({ response, schemaPath }) {
    if (response.ok) return;
    const problem = await readProblem(response);
    const retryAfter = Number(response.headers.get('retry-after')) || undefined;
    const { code } = problem;
    // When the organization starts to require a second factor, reloading the session makes the frame ask for it.
    const isEnded = code === 'session.missing' || code === 'key.missing';
    if (isEnded ? schemaPath !== '/api/session/' : code === 'session.two_factor_required') onSignedOut();
    // Without a cookie, the service takes the console for a program that forgot its API key.
    if (isEnded) Object.assign(problem, { title: texts.sessionEnded, detail: texts.signInAndTryAgain });
    throw new ApiError(response.status, problem, retryAfter);
  },
  onError({ error }) {
    if (error instanceof DOMException) return;
    return new UnreachableError(texts.serviceUnreachable);
  },
};

async function readProblem(response: Response): Promise<Partial<Problem>> {
  if (!/\bjson\b/.test(response.headers.get('content-type') ?? '')) return { title: response.statusText };
  return (await response.json().catch(() => ({}))) as Partial<Problem>;
}

/** Capitalizes the detail of a problem and ends it with a full stop. A leading email address stays as it is. */
function sentence(text: string): string {
  const begun = /^\S*@/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

export const api = createClient<paths>({ baseUrl: '' });
api.use(session);

/** Returns the body of a response; error responses were thrown by the middleware. */
export async function take<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** Returns the body and the ETag that a later change sends as `If-Match`. */
export async function takeTagged<T>(
  answer: Promise<{ data?: T; response: Response }>,
): Promise<{ value: T; etag: string | null }> {
  const { data, response } = await answer;
  return { value: data as T, etag: response.headers.get('etag') };
}

export interface Page<Row> {
  rows: Row[];
  /** Cursor of the next page, if there is one. */
  next: string | undefined;
}

export async function takePage<Row>(answer: Promise<{ data?: Row[]; response: Response }>): Promise<Page<Row>> {
  const { data, response } = await answer;
  const link = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  const next = link ? (new URL(link, 'http://localhost').searchParams.get('cursor') ?? undefined) : undefined;
  return { rows: data ?? [], next };
}

/** Describes an error in one line, for a toast or an alert. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const [field, messages] = Object.entries(error.errors)[0] ?? [];
    return field && messages ? `${error.title}: ${field} ${messages[0]}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
