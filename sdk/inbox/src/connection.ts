/** Speaks to Belfry as one person: sends the token, asks for a new one when it has expired, reads the stream. */
import type { InboxEvent, InboxOptions } from './types.ts';

/** Belfry refused: trying again is no use. */
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

/** Longer than between two beats of the server. */
const silenceMs = 75_000;

export class Connection {
  readonly #options: InboxOptions;
  readonly #base: string;
  #token: string | undefined;
  #asking: Promise<string> | undefined;

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

  /** Names what this is connected to: tabs with the same name share a stream. */
  get name(): string {
    return this.#base;
  }

  async get<Answer>(path: string): Promise<{ body: Answer; hasMore: boolean; next: string | undefined }> {
    const response = await this.#fetch(path, {});
    const link = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '')?.[1];
    // Only the query: behind a proxy Belfry may know itself by another name.
    const next = link === undefined ? undefined : new URL(link, 'http://x').search;
    return { body: (await response.json()) as Answer, hasMore: next !== undefined, next };
  }

  async post<Answer>(path: string, body: object = {}): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const response = await this.#fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Answer;
  }

  /** Until the connection ends; throws when it breaks. */
  async stream(
    after: number | undefined,
    { onOpen, onEvent }: { onOpen: () => void; onEvent: (event: InboxEvent) => void },
    signal: AbortSignal,
  ): Promise<void> {
    const silence = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new Error('nothing was heard for too long')), silenceMs);
    };
    try {
      heard();
      const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': String(after) }) };
      const both = AbortSignal.any([signal, silence.signal]);
      const response = await this.#fetch('inbox/stream/', { headers, signal: both });
      onOpen();
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop()!;
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
      const token = this.#token ?? (await this.#askForToken());
      const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
      // No cookie: the token alone says who this is.
      const response = await fetch(this.#base + path, { ...init, headers, credentials: 'omit', cache: 'no-store' });
      if (response.ok) return response;
      const problem = await readProblem(response);
      if (response.status !== 401 || attempt > 0 || !this.#options.getToken) throw problem;
      if (this.#token === token) this.#token = undefined;
    }
  }

  /** Once for all who wait for it. */
  #askForToken(): Promise<string> {
    const { getToken } = this.#options;
    if (!getToken) throw new InboxError(401, 'token.missing', 'give the inbox a token, or getToken to ask for one');
    this.#asking ??= Promise.resolve(getToken())
      .then(token => {
        this.#token = token;
        return token;
      })
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }
}

async function readProblem(response: Response): Promise<Error> {
  const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
  const told = body.detail ?? `Belfry answered with status ${response.status}`;
  // What passes by itself is no refusal.
  if (response.status >= 500 || response.status === 429) return new Error(told);
  return new InboxError(response.status, body.code ?? 'unknown', told);
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
