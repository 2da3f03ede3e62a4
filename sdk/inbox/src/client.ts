/**
 * A headless inbox: holds the messages, counts and states of one user and keeps them up to date in every tab. Changes are applied
 * optimistically; if Belfry rejects one, the inbox is read again.
 */
import { Connection, InboxError } from './connection.ts';
import { type TabMessage, Tabs } from './tabs.ts';
import type {
  InboxCounts,
  InboxEvent,
  InboxFilter,
  InboxMessage,
  InboxOptions,
  InboxState,
  MessageStates,
} from './types.ts';

export { InboxError } from './connection.ts';
export type * from './types.ts';

const backoffMs = { first: 1_000, max: 30_000 };
const queries: Record<InboxFilter, string> = { all: '', unread: '&unread=true', archived: '&archived=true' };

export class InboxClient {
  readonly connection: Connection;
  readonly #pageSize: number;
  readonly #listeners = new Set<() => void>();
  readonly #onMessage = new Set<(message: InboxMessage) => void>();
  #state: InboxState = {
    status: 'loading',
    problem: undefined,
    filter: 'all',
    messages: [],
    hasMore: false,
    unread: 0,
    unseen: 0,
  };
  #tabs: Tabs | undefined;
  #stop = new AbortController();
  #next = '';
  /** Id of the last event that this tab received. */
  #position: number | undefined;
  /** Events that arrive while a page is being read, and that may be newer than the page. */
  #pendingEvents: InboxEvent[] | undefined;
  #loads = 0;
  /** Settles when all changes so far are stored or have failed: a page that is read earlier would show the old states. */
  #unfinished: Promise<unknown> = Promise.resolve();
  #hasLoaded = false;

  constructor(options: InboxOptions) {
    this.connection = new Connection(options);
    this.#pageSize = options.pageSize ?? 20;
  }

  get state(): InboxState {
    return this.#state;
  }

  /** Whether the messages of the current filter were loaded; until then, an empty list says nothing. */
  get hasLoaded(): boolean {
    return this.#hasLoaded;
  }

  /** Setting a token after an error restarts the inbox. */
  set token(token: string) {
    this.connection.token = token;
    if (this.#state.status !== 'error') return;
    this.#set({ status: 'loading', problem: undefined });
    this.stop();
    this.start();
  }

  /** Calls the listener on every change; returns a function that unsubscribes. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Calls the listener for each message that arrives; returns a function that unsubscribes. */
  onMessage(listener: (message: InboxMessage) => void): () => void {
    this.#onMessage.add(listener);
    return () => this.#onMessage.delete(listener);
  }

  start(): void {
    if (this.#tabs) return;
    this.#stop = new AbortController();
    this.#tabs = new Tabs(this.connection.name, message => this.#receive(message));
    void this.#run(this.#tabs, this.#stop.signal);
  }

  stop(): void {
    this.#stop.abort();
    this.#tabs?.close();
    this.#tabs = undefined;
  }

  async setFilter(filter: InboxFilter): Promise<void> {
    if (filter === this.#state.filter) return;
    this.#hasLoaded = false;
    this.#set({ filter, messages: [], hasMore: false, status: 'loading' });
    await this.refresh();
  }

  /** Reads the first page and the counts again. */
  async refresh(): Promise<void> {
    const load = ++this.#loads;
    this.#pendingEvents ??= [];
    try {
      await this.#unfinished;
      const query = `inbox/?limit=${this.#pageSize}${queries[this.#state.filter]}`;
      const [page, counts] = await Promise.all([
        this.connection.get<InboxMessage[]>(query),
        this.connection.get<InboxCounts>('inbox/counts/'),
      ]);
      if (load !== this.#loads) return;
      this.#hasLoaded = true;
      this.#next = page.next ?? '';
      const { unread, unseen } = counts.body;
      this.#set({ status: 'ready', problem: undefined, messages: page.body, hasMore: page.hasMore, unread, unseen });
      const missed = this.#pendingEvents ?? [];
      this.#pendingEvents = undefined;
      for (const event of missed) this.#apply(event);
    } catch (error) {
      if (load !== this.#loads) return;
      this.#pendingEvents = undefined;
      this.#fail(error);
    }
  }

  async loadMore(): Promise<void> {
    if (!this.#state.hasMore) return;
    const load = this.#loads;
    try {
      const page = await this.connection.get<InboxMessage[]>(`inbox/${this.#next}`);
      if (load !== this.#loads) return;
      this.#next = page.next ?? '';
      const existing = new Set(this.#state.messages.map(({ id }) => id));
      const more = page.body.filter(({ id }) => !existing.has(id));
      this.#set({ messages: [...this.#state.messages, ...more], hasMore: page.hasMore });
    } catch (error) {
      this.#fail(error);
    }
  }

  read(id: number): Promise<void> {
    const now = new Date().toISOString();
    return this.#change(id, 'read', old => ({ read_at: old.read_at ?? now, seen_at: old.seen_at ?? now }));
  }

  unread(id: number): Promise<void> {
    return this.#change(id, 'unread', () => ({ read_at: null }));
  }

  archive(id: number): Promise<void> {
    return this.#change(id, 'archive', old => ({ archived_at: old.archived_at ?? new Date().toISOString() }));
  }

  unarchive(id: number): Promise<void> {
    return this.#change(id, 'unarchive', () => ({ archived_at: null }));
  }

  /** Takes an action; the first one is final. */
  act(id: number, action: string): Promise<void> {
    const now = new Date().toISOString();
    const states = { acted_at: now, action, read_at: now, seen_at: now };
    return this.#change(id, 'act', old => (old.acted_at ? {} : states), { action });
  }

  async readAll(): Promise<void> {
    const now = new Date().toISOString();
    const mark = (one: InboxMessage) => (one.read_at ? one : { ...one, read_at: now, seen_at: one.seen_at ?? now });
    const messages = this.#state.messages.map(one => (one.archived_at ? one : mark(one)));
    this.#set({ messages: this.#shown(messages), unread: 0, unseen: 0 });
    await this.#post('inbox/read/');
  }

  /** Marks all messages as seen, but not as read, when the list is opened. */
  async seeAll(): Promise<void> {
    if (this.#state.unseen === 0) return;
    this.#set({ unseen: 0 });
    await this.#post('inbox/seen/');
  }

  async #change(
    id: number,
    verb: string,
    to: (message: InboxMessage) => Partial<MessageStates>,
    body?: object,
  ): Promise<void> {
    const old = this.#state.messages.find(message => message.id === id);
    if (old) {
      const changed = { ...old, ...to(old) };
      const counts = {
        unread: this.#state.unread + Number(isUnread(changed)) - Number(isUnread(old)),
        unseen: Math.max(0, this.#state.unseen - Number(isUnseen(old) && !isUnseen(changed))),
      };
      this.#replace([changed], counts);
    }
    await this.#post(`inbox/${id}/${verb}/`, body);
  }

  /** Sends a change; if it fails, reads the inbox again to undo the optimistic update. */
  async #post(path: string, body?: object): Promise<void> {
    const sending = this.connection.post(path, body);
    this.#unfinished = Promise.allSettled([this.#unfinished, sending]);
    try {
      await sending;
    } catch (error) {
      await this.refresh();
      throw error;
    }
  }

  async #run(tabs: Tabs, signal: AbortSignal): Promise<void> {
    const leading = tabs.lead();
    // It rejects if the client is stopped in the meantime.
    leading.catch(() => {});
    // A follower reads immediately; the leader reads once the stream is open, so that no event is missed.
    const timeout = new Promise<undefined>(resolve => setTimeout(resolve, 50));
    const first = await Promise.race([leading.catch(() => undefined), timeout]);
    if (signal.aborted) return;
    if (!first?.isFirst) void this.refresh();
    if ((await leading.catch(() => undefined)) === undefined) return;
    for (let failures = 0; !signal.aborted; ) {
      const began = Date.now();
      try {
        await this.connection.stream(
          this.#position,
          {
            onOpen: () => this.#connected(true),
            onEvent: event => {
              failures = 0;
              this.#receive({ kind: 'event', event });
              tabs.broadcast({ kind: 'event', event });
            },
          },
          signal,
        );
        // The stream ends when its token expires or the process stops: reconnect soon, but not in a tight loop.
        failures = Date.now() - began > backoffMs.first ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof InboxError) {
          // Lets another tab lead, which may have a valid token.
          this.#fail(error);
          this.stop();
          return;
        }
        failures++;
        this.#connected(false);
      }
      const delay = Math.min(backoffMs.max, backoffMs.first * 2 ** Math.max(0, failures - 1));
      await this.#pause(failures === 0 ? 50 : delay / 2 + (Math.random() * delay) / 2, signal);
    }
  }

  #connected(isConnected: boolean): void {
    this.#receive({ kind: 'connected', isConnected });
    this.#tabs?.broadcast({ kind: 'connected', isConnected });
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        clearTimeout(timer);
        globalThis.removeEventListener?.('online', end);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      globalThis.addEventListener?.('online', end);
      signal.addEventListener('abort', end);
    });
  }

  #receive(message: TabMessage): void {
    if (message.kind === 'connected') {
      if (!message.isConnected && this.#state.status !== 'error') this.#set({ status: 'offline' });
      if (message.isConnected && this.#state.status === 'offline') {
        if (this.#hasLoaded) this.#set({ status: 'ready' });
        else void this.refresh();
      }
      return;
    }
    const { event } = message;
    if (this.#position !== undefined && event.id <= this.#position && event.event !== 'reset') return;
    this.#position = event.id;
    if (event.event === 'ready' || event.event === 'reset') void this.refresh();
    else if (this.#pendingEvents) this.#pendingEvents.push(event);
    else this.#apply(event);
    if (event.event === 'message') for (const listener of this.#onMessage) listener(event.data);
  }

  #apply(event: InboxEvent): void {
    const { unread, unseen } = event.data;
    const counts = { unread, unseen };
    if (event.event === 'message') {
      const { unread: _, unseen: __, ...message } = event.data;
      const others = this.#state.messages.filter(({ id }) => id !== message.id);
      this.#set({ messages: this.#shown([message, ...others].sort((a, b) => b.id - a.id)), ...counts });
    } else if (event.event === 'update') {
      const existing = new Map(this.#state.messages.map(message => [message.id, message]));
      const changed = event.data.messages.flatMap(states => {
        const message = existing.get(states.id);
        return message ? [{ ...message, ...states }] : [];
      });
      this.#replace(changed, counts);
      // Messages that come back into view are not loaded here.
      if (event.data.messages.some(states => !existing.has(states.id) && this.#isShown(states))) void this.refresh();
    }
  }

  #replace(changed: InboxMessage[], counts: InboxCounts): void {
    const byId = new Map(changed.map(message => [message.id, message]));
    const messages = this.#state.messages.map(message => byId.get(message.id) ?? message);
    this.#set({ messages: this.#shown(messages), ...counts });
  }

  /** Filters by archive state; a message that is read under the filter `unread` stays until the next refresh. */
  #shown(messages: InboxMessage[]): InboxMessage[] {
    const { filter } = this.#state;
    return messages.filter(({ archived_at }) => (archived_at !== null) === (filter === 'archived'));
  }

  #isShown({ read_at, archived_at }: MessageStates): boolean {
    const { filter, hasMore } = this.#state;
    // It may be further down than what is loaded.
    if (hasMore) return false;
    return (archived_at !== null) === (filter === 'archived') && (filter !== 'unread' || read_at === null);
  }

  #fail(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    if (error instanceof InboxError) this.#set({ status: 'error', problem: error.message });
    else this.#set({ status: 'offline' });
  }

  #set(change: Partial<InboxState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function isUnread({ read_at, archived_at }: MessageStates): boolean {
  return read_at === null && archived_at === null;
}

function isUnseen(states: MessageStates): boolean {
  return isUnread(states) && states.seen_at === null;
}
