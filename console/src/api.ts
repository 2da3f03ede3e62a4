/** The console's only way to the service: the public API, typed from openapi.json. */
import createClient, { type Middleware } from 'openapi-fetch';
import type { Problem, paths } from './api-types.ts';
import { texts } from './texts/common.ts';

/** A refusal in the service's own words. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly requestId: string | undefined;
  /** Field to what is wrong with it; forms show these beside their inputs. */
  readonly errors: Record<string, string[]>;
  readonly retryAfter: number | undefined;
  /** The whole document, for the members that only some problems have, such as `uses`. */
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

/** The service is not there, or the network is not. */
export class Unreachable extends Error {
  override name = 'Unreachable';
}

/** Somebody changed their mind: nothing to tell them. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

let csrfToken = '';
let onSignedOut: () => void = () => {};

export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** What to do when the session has ended while somebody works. */
export function whenSignedOut(handler: () => void): void {
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
    // Or the organization began to require a second factor: the session knows, and the frame asks for it.
    if (code === 'session.missing' ? schemaPath !== '/api/session/' : code === 'session.two_factor_required')
      onSignedOut();
    throw new ApiError(response.status, problem, retryAfter);
  },
  onError({ error }) {
    if (error instanceof DOMException) return;
    return new Unreachable(texts.theServiceCannotBeReachedCheck);
  },
};

async function readProblem(response: Response): Promise<Partial<Problem>> {
  if (!/\bjson\b/.test(response.headers.get('content-type') ?? '')) return { title: response.statusText };
  return (await response.json().catch(() => ({}))) as Partial<Problem>;
}

/** Details are written for programs' logs: in a sentence's form here. An address at its head stays as it is. */
function sentence(text: string): string {
  const begun = /^\S*@/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

export const api = createClient<paths>({ baseUrl: '' });
api.use(session);

/** The body of an answer; refusals are thrown by now. */
export async function take<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** The body, and the tag that a later change is made under (`If-Match`). */
export async function takeTagged<T>(
  answer: Promise<{ data?: T; response: Response }>,
): Promise<{ value: T; etag: string | null }> {
  const { data, response } = await answer;
  return { value: data as T, etag: response.headers.get('etag') };
}

export interface Page<Row> {
  rows: Row[];
  /** Cursor of the next page. */
  next: string | undefined;
}

export async function takePage<Row>(answer: Promise<{ data?: Row[]; response: Response }>): Promise<Page<Row>> {
  const { data, response } = await answer;
  const link = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  const next = link ? (new URL(link, location.origin).searchParams.get('cursor') ?? undefined) : undefined;
  return { rows: data ?? [], next };
}

/** One line for a toast or an alert. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const [field, messages] = Object.entries(error.errors)[0] ?? [];
    return field && messages ? `${error.title}: ${field} ${messages[0]}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
