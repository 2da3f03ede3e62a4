/** The same commands against a running server: BELFRY_URL and BELFRY_KEY. */
import type { Config } from '../config.ts';
import { AppError, type ErrorCode, errorCodes, type FieldErrors } from '../core/errors.ts';

export interface Remote {
  request<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** A text of any length, as it comes. */
  stream(path: string): AsyncIterable<string>;
}

const timeoutMs = 60_000;

/** Undefined when the command line is to use the database itself. */
export function remoteOf(config: Config): Remote | undefined {
  if (!config.url) return undefined;
  if (!config.key) throw new AppError('usage.invalid', 'BELFRY_URL is set but BELFRY_KEY is not: set both or neither');
  const { url, key } = config;
  return {
    request: async (method, path, body) => {
      const response = await send(`${url}${path}`, key, method, body);
      return JSON.parse(await response.text());
    },
    async *stream(path) {
      const response = await send(`${url}${path}`, key, 'GET', undefined);
      yield* response.body!.pipeThrough(new TextDecoderStream());
    },
  };
}

interface Problem {
  code?: string;
  title?: string;
  detail?: string;
  errors?: FieldErrors;
}

async function send(url: string, key: string, method: string, body: unknown): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: { authorization: `Key ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (cause) {
    const reason =
      cause instanceof Error ? ((cause.cause as Error | undefined)?.message ?? cause.message) : String(cause);
    throw new AppError('service.unavailable', `cannot reach ${url}: ${reason}`, { cause });
  }
  if (response.ok) return response;
  const problem = parseProblem(await response.text());
  const code = errorCodes.find(known => known === problem.code) ?? ('service.internal' satisfies ErrorCode);
  const detail = problem.detail ?? problem.title ?? `the server answered ${response.status}`;
  throw new AppError(code, detail, { fields: problem.errors });
}

function parseProblem(text: string): Problem {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    return {};
  }
}
