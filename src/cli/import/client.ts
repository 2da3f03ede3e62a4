/** Reads the API of another system. The user of the command gives the address, so it may be in a private network. */
import { AppError } from '../../core/errors.ts';
import type { Terminal } from '../command.ts';

export interface ApiClient {
  /** Returns the JSON of a path below the address. */
  get(path: string, query?: Query): Promise<unknown>;
  /** The same; undefined where the account does not have it or the token must not read it. */
  find(path: string, query?: Query): Promise<unknown>;
}

type Query = Record<string, string | string[]>;

export interface ApiOptions {
  url: string;
  /** The token is in them: they are never printed. */
  headers: Record<string, string>;
  /** What a refused token needs, as the end of an error message. */
  tokenHint: string;
  showProgress: Terminal['showProgress'];
}

const timeoutMs = 60_000;
const maxBytes = 64 * 1024 * 1024;
const maxAttempts = 8;
const maxWaitMs = 10 * 60_000;
/** An installation with more requests than this is not read to its end by mistake. */
const maxRequests = 20_000;
const temporary = new Set([429, 502, 503, 504]);
const absent = new Set([402, 403, 404]);

export function openApi({ url, headers, tokenHint, showProgress }: ApiOptions): ApiClient {
  const base = readAddress(url);
  let requests = 0;
  const ask = async (address: URL, isOptional: boolean): Promise<unknown> => {
    for (let attempt = 1; ; attempt++) {
      if (++requests > maxRequests) throw failed(`${base} was asked ${maxRequests} times: it has too many objects`);
      showProgress(`reading ${address.pathname} …`);
      const response = await send(address, headers);
      if (response.ok) return parse(await readBody(response), address);
      await response.body?.cancel();
      if (isOptional && absent.has(response.status)) return undefined;
      if (!temporary.has(response.status) || attempt === maxAttempts)
        throw refused(response.status, address, tokenHint);
      const waitMs = waitOf(response, attempt);
      if (waitMs > maxWaitMs)
        throw failed(`${address.host} asks to wait for ${Math.ceil(waitMs / 60_000)} minutes: try again then`);
      showProgress(`${address.host} asks to wait for ${Math.ceil(waitMs / 1_000)} s …`);
      await new Promise(resolve => setTimeout(resolve, waitMs));
    }
  };
  const addressOf = (path: string, query: Query = {}) => {
    const address = new URL(`${base}/${path}`);
    for (const [name, values] of Object.entries(query)) {
      for (const value of [values].flat()) address.searchParams.append(name, value);
    }
    return address;
  };
  return {
    get: (path, query) => ask(addressOf(path, query), false),
    find: (path, query) => ask(addressOf(path, query), true),
  };
}

function failed(message: string, cause?: unknown): AppError {
  return new AppError('import.failed', message, { cause });
}

function readAddress(url: string): string {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address || !/^https?:$/.test(address.protocol))
    throw new AppError('usage.invalid', '--url must be an address such as https://oncall.acme.test');
  if (address.username || address.password)
    throw new AppError('usage.invalid', '--url must not contain a user or a password: use --token');
  return `${address.origin}${address.pathname.replace(/\/+$/, '')}`;
}

async function send(address: URL, headers: Record<string, string>): Promise<Response> {
  try {
    return await fetch(address, {
      headers: { accept: 'application/json', ...headers },
      // A redirect would take the token along, or hide a wrong address.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    const cause = (error as Error).cause as (Error & { code?: string }) | undefined;
    const code = cause?.code ?? '';
    const reason = cause?.message || (error as Error).message;
    if (/CERT|SELF_SIGNED|ISSUER|TLS|SSL/.test(code)) {
      throw failed(
        `the certificate of ${address.host} is not trusted (${code}): set NODE_EXTRA_CA_CERTS to a file with its authority`,
        error,
      );
    }
    throw failed(`cannot reach ${address.host}: ${reason}`, error);
  }
}

function refused(status: number, { origin, pathname, host }: URL, tokenHint: string): AppError {
  const at = `${origin}${pathname}`;
  if (status === 401) return failed(`${host} does not accept the token: ${tokenHint}`);
  if (status === 403) return failed(`the token must not read ${at}: ${tokenHint}`);
  if (status === 404) return failed(`there is no ${at}: check --url`);
  if (status >= 300 && status < 400) return failed(`${at} redirects: use the address that it redirects to as --url`);
  return failed(`${at} answered with status ${status}`);
}

/** Retry-After is a number of seconds or a date. */
function waitOf(response: Response, attempt: number): number {
  const given = response.headers.get('retry-after') ?? '';
  const ms = /^\d+$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - Date.now();
  return Number.isNaN(ms) ? 1_000 * 2 ** attempt : Math.max(0, ms);
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > maxBytes) throw failed(`an answer is larger than ${maxBytes / 1024 ** 2} MiB`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof AppError ? error : failed(`the connection broke: ${(error as Error).message}`, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string, { origin, pathname }: URL): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw failed(`${origin}${pathname} did not answer with JSON: check --url`, error);
  }
}
