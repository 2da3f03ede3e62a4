/**
 * Shares one stream between all tabs of a browser that show the same inbox. The tab that holds the lock is the leader: it opens the stream and
 * forwards events to the other tabs. When it is closed, the browser gives the lock to another tab, which continues the stream.
 */
import type { InboxEvent } from './types.ts';

export type TabMessage = { kind: 'event'; event: InboxEvent } | { kind: 'connected'; isConnected: boolean };

export class Tabs {
  readonly #name: string;
  readonly #channel: BroadcastChannel | undefined;
  readonly #ended = new AbortController();

  constructor(name: string, onMessage: (message: TabMessage) => void) {
    this.#name = `belfry-inbox ${name}`;
    if (typeof BroadcastChannel === 'undefined') return;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }) => onMessage(data as TabMessage);
  }

  broadcast(message: TabMessage): void {
    this.#channel?.postMessage(message);
  }

  /** Resolves when this tab becomes the leader; `isFirst` is false if another tab was. Without lock support, every tab leads. */
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
