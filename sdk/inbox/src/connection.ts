/** Calls Belfry as one user: sends the token, requests a new one when it has expired, and reads the stream. */
import type { InboxEvent, InboxOptions } from './types.ts';

/** Thrown when Belfry rejects a request, so that retrying is pointless. */
export class InboxError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'InboxError';
    this.status = status;
    this.code = code;
  }
}

/** Longer than the server's heartbeat interval. */
const idleTimeoutMs = 75_000;

export class Connection {
  readonly #options: InboxOptions;
  readonly #base: string;
  #token: string | undefined;
  #tokenRequest: Promise<string> | undefined;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#token = options.token;
    const origin = (options.url ?? globalThis.location?.origin ?? '').replace(/\/+$/, '');
    const [org, user] = [options.organization, options.username].map(encodeURIComponent);
    this.#base = `${origin}/api/o/${org}/u/${user}/`;
  }

  set token(token: string) {
    this.#token = token;
  }

  /** Identifies the inbox: tabs with the same name share a stream. */
  get name(): string {
    return this.#base;
  }

  async get<Answer>(path: string): Promise<{ body: Answer; hasMore: boolean; next: string | undefined }> {
    const response = await this.#fetch(path, {});
    const link = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '')?.[1];
    // Uses only the query, because behind a proxy Belfry may use a different host name.
    const next = link === undefined ? undefined : new URL(link, 'http://x').search;
    return { body: (await response.json()) as Answer, hasMore: next !== undefined, next };
  }

  async post<Answer>(path: string, body: object = {}): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const response = await this.#fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Answer;
  }

  /** Reads the stream until the connection ends; throws if it fails. */
  async stream(
    after: number | undefined,
    { onOpen, onEvent }: { onOpen: () => void; onEvent: (event: InboxEvent) => void },
    signal: AbortSignal,
  ): Promise<void> {
    const idle = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const resetTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(new Error('the stream timed out')), idleTimeoutMs);
    };
    try {
      resetTimer();
      const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': String(after) }) };
      const eitherSignal = AbortSignal.any([signal, idle.signal]);
      const response = await this.#fetch('inbox/stream/', { headers, signal: eitherSignal });
      onOpen();
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let buffered = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        resetTimer();
        const blocks = (buffered + value).split('\n\n');
        buffered = blocks.pop()!;
        for (const block of blocks) {
          const event = parseEvent(block);
          if (event) onEvent(event);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const token = this.#token ?? (await this.#requestToken());
      const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
      // Sends no cookies: only the token authenticates.
      const response = await fetch(this.#base + path, { ...init, headers, credentials: 'omit', cache: 'no-store' });
      if (response.ok) return response;
      const problem = await readProblem(response);
      if (response.status !== 401 || attempt > 0 || !this.#options.getToken) throw problem;
      if (this.#token === token) this.#token = undefined;
    }
  }

  /** Concurrent callers share one request. */
  #requestToken(): Promise<string> {
    const { getToken } = this.#options;
    if (!getToken) throw new InboxError(401, 'token.missing', 'the inbox needs a token, or getToken to request one');
    this.#tokenRequest ??= Promise.resolve(getToken())
      .then(token => {
        this.#token = token;
        return token;
      })
      .finally(() => {
        this.#tokenRequest = undefined;
      });
    return this.#tokenRequest;
  }
}

async function readProblem(response: Response): Promise<Error> {
  const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
  const message = body.detail ?? `Belfry responded with status ${response.status}`;
  // Temporary failures are not rejections.
  if (response.status >= 500 || response.status === 429) return new Error(message);
  return new InboxError(response.status, body.code ?? 'unknown', message);
}

function parseEvent(block: string): InboxEvent | undefined {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '');
  }
  const { event, id, data } = fields;
  if (event === undefined || data === undefined) return undefined;
  return { event, id: Number(id), data: JSON.parse(data) } as InboxEvent;
}
