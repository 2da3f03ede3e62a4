import type { ErrorCode } from './api.ts';

/** What Belfry answers when it refuses: RFC 9457. */
export interface Problem {
  title: string;
  detail: string;
  code: string;
  errors?: Record<string, string[]>;
  request_id?: string;
}

/** Belfry refused the request. `code` is stable and for programs; the rest is for people. */
export class BelfryError extends Error {
  override readonly name = 'BelfryError';
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly title: string;
  /** Field to what is wrong with it. */
  readonly errors: Readonly<Record<string, string[]>>;
  /** Names this request in Belfry's log. */
  readonly requestId: string | undefined;

  constructor(status: number, problem: Problem) {
    super(`${problem.detail} (${problem.code})`);
    this.status = status;
    this.code = problem.code;
    this.title = problem.title;
    this.errors = problem.errors ?? {};
    this.requestId = problem.request_id;
  }

  /** Whether it is one of these codes: `error.is('user.exists')`. */
  is(...codes: ErrorCode[]): boolean {
    return codes.includes(this.code as ErrorCode);
  }
}

/** Belfry could not be reached, did not answer in time, or something in between answered for it. */
export class BelfryConnectionError extends Error {
  override readonly name = 'BelfryConnectionError';
}
