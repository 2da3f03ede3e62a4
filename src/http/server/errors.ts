/** Turns every error into a response: an RFC 9457 problem document. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorKind } from '../../core/errors.ts';
import { lookUp } from '../../core/lookup.ts';
import { ThreadsBusyError } from '../../lib/load/thread-pool.ts';
import { isOrganizationMoving, movingError } from '../../services/configuration/paths/moves.ts';
import { isDatabaseUnavailable } from '../../services/operations/health.ts';

export const statuses: Record<ErrorKind, number> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method: 405,
  conflict: 409,
  stale: 412,
  too_large: 413,
  media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
  moved: 307,
};

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = toAppError(error, request.routeOptions?.config?.consumes ?? 'application/json');
  const status = statuses[problem.kind];
  if (status >= 500)
    request.log.error({ err: error, request_id: request.id, trace_id: request.traceId }, 'request failed');
  const { fields, retryAfterSeconds, allow, uses, secondFactor, origin } = problem.details;
  if (status === 401) reply.header('www-authenticate', problem.code === 'metrics.token' ? 'Bearer' : 'Key');
  if (allow) reply.header('allow', allow.join(', '));
  if (origin) reply.header('location', origin + request.url);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  return reply
    .code(status)
    .type('application/problem+json')
    .serializer(JSON.stringify)
    .send({
      type: `/docs/problems/#${problem.code}`,
      title: problem.title,
      status,
      detail:
        status === 500
          ? 'An internal error occurred. Find the details in the server log under this request_id.'
          : problem.message,
      code: problem.code,
      errors: fields,
      uses,
      second_factor: secondFactor,
      request_id: request.id,
    });
}

function toAppError(error: unknown, mediaType: string): AppError {
  if (error instanceof AppError) {
    // Internal errors, such as a secret that cannot be decrypted, are logged for the operator and hidden from the caller.
    return error.kind === 'internal' ? new AppError('service.internal', error.message, { cause: error }) : error;
  }
  if (isOrganizationMoving(error)) return movingError();
  if (isDatabaseUnavailable(error)) {
    return new AppError('service.unavailable', 'the database cannot be reached: try again', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  if (error instanceof ThreadsBusyError) {
    const message = 'too many templates or mails of this organization are being read: try again';
    return new AppError('service.unavailable', message, { retryAfterSeconds: 1, cause: error });
  }
  const { code, statusCode, message } = error as FastifyError;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('request.too_large', 'the body exceeds the size limit of this endpoint: send less at a time');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('request.media_type', `send the body with Content-Type: ${mediaType}`);
    default:
      if (statusCode && statusCode >= 400 && statusCode < 500) return new AppError('request.malformed', message);
      return new AppError('service.internal', message ?? 'unknown error', { cause: error });
  }
}

/** Answers input that is not valid HTTP, for which there is no request object. */
export function clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, title] = lookUp(refusals, error.code ?? '') ?? [400, 'Bad Request'];
  const body = JSON.stringify({
    type: '/docs/problems/#request.malformed',
    title,
    status,
    detail: 'this is not a valid HTTP request',
    code: 'request.malformed',
    request_id: randomUUID(),
  });
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const refusals: Record<string, [status: number, title: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};
