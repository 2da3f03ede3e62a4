/** Commands that run against a server, with BELFRY_URL and BELFRY_KEY, or else on the database. */
import { AppError, type ErrorCode, errorCodes, type FieldErrors } from '../core/errors.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import type { Deps } from '../services/deps.ts';
import type { Terminal } from './command.ts';

export interface Remote {
  /** Sends the body as JSON; bytes, and a text of another media type, as they are. */
  request<T>(method: string, path: string, body?: unknown, mediaType?: string): Promise<T>;
  /** Streams the body of a response. */
  stream(path: string): AsyncIterable<string>;
}

const timeoutMs = 60_000;

/** Returns undefined when the command uses the database directly. */
export function remoteOf({ config, nameTarget }: Terminal): Remote | undefined {
  const { url, key } = config;
  if (!url) return undefined;
  if (!key) {
    const hint = 'set both or neither, or add --local to use the database';
    throw new AppError('usage.invalid', `BELFRY_URL is set, but BELFRY_KEY is not: ${hint}`);
  }
  nameTarget(`${url} (BELFRY_URL)`);
  return {
    request: async (method, path, body, mediaType) => {
      const response = await send(`${url}${path}`, key, method, body, mediaType);
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

async function send(
  url: string,
  key: string,
  method: string,
  body: unknown,
  mediaType = 'application/json',
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: { authorization: `Key ${key}`, ...(body !== undefined && { 'content-type': mediaType }) },
      body: encode(body, mediaType),
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (cause) {
    const reason =
      cause instanceof Error ? ((cause.cause as Error | undefined)?.message ?? cause.message) : String(cause);
    throw new AppError('service.unavailable', `cannot reach ${url}: ${reason}`, { cause });
  }
  if (response.ok) return response;
  const problem = parseProblem(await response.text());
  const code = errorCodes.find(each => each === problem.code) ?? ('service.internal' satisfies ErrorCode);
  const detail = problem.detail ?? problem.title ?? `the server responded ${response.status}`;
  throw new AppError(code, detail, { fields: problem.errors });
}

function encode(body: unknown, mediaType: string): string | Uint8Array<ArrayBuffer> | null {
  if (body === undefined) return null;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return mediaType === 'application/json' ? JSON.stringify(body) : String(body);
}

function parseProblem(text: string): Problem {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    return {};
  }
}

/** Works on an organization in the database, for commands without a server. */
export function withOrganization<T>(
  { withDeps }: Terminal,
  slug: string,
  work: (deps: Deps, organizationId: number) => Promise<T>,
): Promise<T> {
  return withDeps(async deps => work(deps, (await getOrganization(deps, slug)).id));
}
