/**
 * Shares the memory and parsing time for large bodies fairly between organizations. Small bodies are not counted.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { largeBytes } from '../../core/configuration/limits.ts';
import { AppError } from '../../core/errors.ts';
import { FairBudget } from '../../lib/load/fair-budget.ts';
import { FairTurns } from '../../lib/load/fair-turns.ts';

/** Maximum bytes of all large bodies being read, parsed or handled in this process. */
const totalBytes = 128 * 1024 * 1024;

export class LargeBodies {
  readonly #budget = new FairBudget(totalBytes);
  readonly #turns = new FairTurns();

  /**
   * Reserves the bytes of the body before any of them is read, until the response is finished. Without a Content-Length,
   * the body counts as the maximum that the endpoint accepts.
   */
  admit(request: FastifyRequest, reply: FastifyReply): void {
    const { bodyLimit } = request.routeOptions;
    const bytes = declaredBytes(request, bodyLimit);
    // A body above the limit is rejected without being read.
    if (bytes <= largeBytes || bytes > bodyLimit) return;
    const organization = organizationOf(request);
    if (!this.#budget.take(organization, bytes)) throw this.#full(organization);
    reply.raw.once('close', () => this.#budget.release(organization, bytes));
  }

  /** Runs a parsing step: immediately for a small body, on the organization's turn for a large one. */
  run(request: FastifyRequest, bytes: Buffer, step: () => void): void {
    request.bodyBytes = bytes.length;
    if (bytes.length <= largeBytes) step();
    else this.#turns.run(organizationOf(request), step);
  }

  #full(organization: number): AppError {
    const details = { retryAfterSeconds: 1 };
    if (!this.#budget.has(organization)) {
      return new AppError('service.unavailable', 'too many large requests are being handled: try again', details);
    }
    return new AppError(
      'limit.bytes',
      'the organization has too many bytes of large requests in flight: wait for responses before sending more, and send a ' +
        'Content-Length',
      details,
    );
  }
}

function declaredBytes({ headers }: FastifyRequest, bodyLimit: number): number {
  if (headers['content-length'] !== undefined) return Number(headers['content-length']);
  return headers['transfer-encoding'] === undefined ? 0 : bodyLimit;
}

/** Returns 0 if the path belongs to no organization. */
function organizationOf({ admission }: FastifyRequest): number {
  return admission?.resources.organization?.id ?? admission?.caller?.grant.scope?.organization_id ?? 0;
}
