/** Measures the time from a trigger until a receiver in another process has the message. */
import { Agent } from 'undici';

const timeoutMs = 30_000;

export function bodyOf(n: number, options: object = {}): string {
  return JSON.stringify({ context: { n }, options: { recipients: ['ann@x.test'], ...options } });
}

export class Stopwatch {
  readonly #url: string;
  readonly #key: string;
  readonly #options: object;
  readonly #agent = new Agent({ connections: 64 });
  readonly #waiting = new Map<number, (at: number) => void>();
  #next = 0;

  constructor(url: string, key: string, options: object = {}) {
    this.#url = url;
    this.#key = key;
    this.#options = options;
  }

  arrived(n: number): void {
    this.#waiting.get(n)?.(performance.now());
    this.#waiting.delete(n);
  }

  /** Triggers once and returns the time until the peer has the message, in ms. */
  async time(): Promise<number> {
    const n = this.#next++;
    const began = performance.now();
    const arrival = new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`message ${n} did not arrive`)), timeoutMs);
      this.#waiting.set(n, at => {
        clearTimeout(timer);
        resolve(at);
      });
    });
    const { origin, pathname } = new URL(this.#url);
    const [response, at] = await Promise.all([
      this.#agent.request({
        origin,
        path: pathname,
        method: 'POST',
        headers: { authorization: `Key ${this.#key}`, 'content-type': 'application/json' },
        body: bodyOf(n, this.#options),
      }),
      arrival,
    ]);
    await response.body.dump();
    if (response.statusCode !== 201) throw new Error(`the trigger got a ${response.statusCode}`);
    return at - began;
  }
}
