/**
 * The service's log: JSON lines with requests, organizations and ids, without personal data and secrets. Callers log ids;
 * errors, whose text may quote input, are redacted by `describeError`.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { describeError } from './describe-error.ts';

export function createLog(level: string, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      serializers: { err: describeError, req: describeRequest },
    },
    destination,
  );
}

/** Describes a request that Fastify logs, by its route pattern: paths and queries may contain addresses and tokens. */
function describeRequest({
  id,
  method,
  routeOptions,
}: {
  id?: string;
  method?: string;
  routeOptions?: { url?: string };
}) {
  return { id, method, route: routeOptions?.url ?? 'none' };
}
