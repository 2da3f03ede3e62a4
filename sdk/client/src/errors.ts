import type { ErrorCode } from './api.ts';

/** The body of an error response: RFC 9457. */
export interface Problem {
  title: string;
  detail: string;
  code: string;
  errors?: Record<string, string[]>;
  request_id?: string;
}

/** Thrown when Belfry rejects a request. `code` is stable and meant for programs; the rest is for people. */
export class BelfryError extends Error {
  override readonly name = 'BelfryError';
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly title: string;
  /** Errors by field. */
  readonly errors: Readonly<Record<string, string[]>>;
  /** Identifies this request in Belfry's log. */
  readonly requestId: string | undefined;

  constructor(status: number, problem: Problem) {
    super(`${problem.detail} (${problem.code})`);
    this.status = status;
    this.code = problem.code;
    this.title = problem.title;
    this.errors = problem.errors ?? {};
    this.requestId = problem.request_id;
  }

  /** Returns whether the error has one of these codes: `error.is('user.exists')`. */
  is(...codes: ErrorCode[]): boolean {
    return codes.includes(this.code as ErrorCode);
  }
}

/** Thrown when Belfry cannot be reached, does not respond in time, or something in between responds instead. */
export class BelfryConnectionError extends Error {
  override readonly name = 'BelfryConnectionError';
}
