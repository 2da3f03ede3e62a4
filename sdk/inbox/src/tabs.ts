/**
 * One stream for all tabs of a browser that show the same inbox. The tab that holds the lock leads: it has the stream, and tells
 * the others what it hears. When it is closed, the browser gives the lock to another, which goes on where it was.
 */
import type { InboxEvent } from './types.ts';

export type Told = { kind: 'event'; event: InboxEvent } | { kind: 'connected'; isConnected: boolean };

export class Tabs {
  readonly #name: string;
  readonly #channel: BroadcastChannel | undefined;
  readonly #ended = new AbortController();

  constructor(name: string, onTold: (told: Told) => void) {
    this.#name = `belfry-inbox ${name}`;
    if (typeof BroadcastChannel === 'undefined') return;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }) => onTold(data as Told);
  }

  tell(told: Told): void {
    this.#channel?.postMessage(told);
  }

  /** Resolves when this tab leads, and to whether another did before. Where there are no locks, each tab leads itself. */
  async lead(): Promise<{ isFirst: boolean }> {
    const { locks } = globalThis.navigator ?? {};
    if (!locks || !this.#channel) return { isFirst: true };
    const held = () => new Promise<void>(resolve => this.#ended.signal.addEventListener('abort', () => resolve()));
    const isFirst = await new Promise<boolean>((resolve, reject) => {
      locks
        .request(this.#name, { ifAvailable: true }, lock => {
          resolve(lock !== null);
          return lock ? held() : undefined;
        })
        .catch(reject);
    });
    if (isFirst) return { isFirst };
    await new Promise<void>((resolve, reject) => {
      const lead = () => {
        resolve();
        return held();
      };
      locks.request(this.#name, { signal: this.#ended.signal }, lead).catch(reject);
    });
    return { isFirst };
  }

  close(): void {
    this.#ended.abort();
    this.#channel?.close();
  }
}
