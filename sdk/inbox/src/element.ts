/**
 * `<belfry-inbox organization="acme" username="jane@acme.test" token="…">`: a bell with a badge, and the list that it opens. It dispatches
 * `belfry-message` for each arriving message, `belfry-open` and `belfry-action` when the user selects something (a page can prevent the
 * default), and `belfry-counts`.
 */
import { InboxClient, InboxError } from './client.ts';
import { h, icon } from './dom.ts';
import { createItem, type ItemHandlers } from './item.ts';
import { PushControl } from './push-control.ts';
import { styles } from './styles.ts';
import { type InboxTexts, textsFor, toLanguageTag } from './texts.ts';
import type { InboxAction, InboxFilter, InboxMessage, InboxOptions } from './types.ts';

const maxOnBadge = 99;
const filters: [InboxFilter, keyof InboxTexts][] = [
  ['all', 'all'],
  ['unread', 'onlyUnread'],
  ['archived', 'archived'],
];
let sheet: CSSStyleSheet | undefined;

/** A server that renders pages loads this file too, and has no elements. */
const Base: typeof HTMLElement = globalThis.HTMLElement ?? class {};

export class BelfryInbox extends Base {
  static readonly observedAttributes = ['url', 'organization', 'username', 'token', 'lang', 'push'];
  #getToken: InboxOptions['getToken'];
  #client: InboxClient | undefined;
  #customTexts: InboxTexts | undefined;
  #unsubscribe: (() => void)[] = [];
  #items = new Map<number, { message: InboxMessage; item: HTMLElement }>();
  #isOpen = false;
  #push: PushControl | undefined;
  readonly #root = this.attachShadow({ mode: 'open' });
  readonly #badge = h('span', { class: 'badge', part: 'badge', 'aria-hidden': 'true', hidden: true });
  readonly #bell = h(
    'button',
    { type: 'button', class: 'bell', part: 'bell', 'aria-haspopup': 'dialog', 'aria-expanded': 'false' },
    icon('bell'),
    this.#badge,
  );
  readonly #title = h('h2', { part: 'title' });
  readonly #markAll = h('button', {
    type: 'button',
    class: 'link',
    part: 'mark-all',
    click: () => this.#try(this.#client?.readAll()),
  });
  readonly #close = h(
    'button',
    { type: 'button', class: 'icon', part: 'close', click: () => this.close() },
    icon('close'),
  );
  readonly #filters = h('div', { class: 'filters', part: 'filters', role: 'group' });
  readonly #notice = h('p', { class: 'notice', part: 'notice', role: 'status', hidden: true });
  readonly #list = h('ul', { part: 'list', role: 'list' });
  readonly #note = h('p', { class: 'note', part: 'note' });
  readonly #more = h('button', {
    type: 'button',
    class: 'more',
    part: 'more',
    hidden: true,
    click: () => this.#try(this.#client?.loadMore()),
  });
  readonly #scroll = h('div', { class: 'scroll' }, this.#list, this.#note, this.#more);
  readonly #footer = h('footer', { part: 'footer', hidden: true });
  readonly #panel = h(
    'div',
    { class: 'panel', part: 'panel', role: 'dialog', hidden: true },
    h('header', { part: 'header' }, this.#title, this.#markAll, this.#close),
    this.#filters,
    this.#notice,
    this.#scroll,
    this.#footer,
  );
  readonly #live = h('div', { class: 'quiet', role: 'status', 'aria-live': 'polite' });

  constructor() {
    super();
    sheet ??= new CSSStyleSheet();
    if (sheet.cssRules.length === 0) sheet.replaceSync(styles);
    this.#root.adoptedStyleSheets = [sheet];
    this.#bell.addEventListener('click', () => (this.#isOpen ? this.close() : this.open()));
    this.#panel.addEventListener('keydown', event => this.#onKey(event));
    for (const [filter] of filters) {
      const choose = () => this.#try(this.#client?.setFilter(filter));
      this.#filters.append(h('button', { type: 'button', part: 'filter', 'data-filter': filter, click: choose }));
    }
    this.#root.append(this.#bell, this.#panel, this.#live);
  }

  /** The client, for pages with their own UI; undefined until the component is connected with all required attributes. */
  get client(): InboxClient | undefined {
    return this.#client;
  }

  get getToken(): InboxOptions['getToken'] {
    return this.#getToken;
  }

  /** Function that requests a new token from your server. */
  set getToken(getToken: InboxOptions['getToken']) {
    this.#getToken = getToken;
    // It may be set late: without a token or getToken, no request is sent.
    if (this.isConnected && (!this.#client || this.#client.state.status === 'error')) this.#connect();
  }

  /** Overrides some or all of the built-in texts. */
  set texts(texts: Partial<InboxTexts>) {
    this.#customTexts = { ...textsFor(this.#language), ...texts };
    this.#redraw();
  }

  connectedCallback(): void {
    // A value that a page sets before this file is loaded hides the property.
    for (const name of ['texts', 'getToken'] as const) {
      const early = Object.getOwnPropertyDescriptor(this, name);
      if (!early) continue;
      delete (this as Record<string, unknown>)[name];
      this[name] = early.value;
    }
    document.addEventListener('pointerdown', this.#onOutside);
    this.#connect();
  }

  disconnectedCallback(): void {
    document.removeEventListener('pointerdown', this.#onOutside);
    this.#disconnect();
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after || !this.isConnected) return;
    if (name === 'token' && this.#client && after) {
      this.#client.token = after;
      return;
    }
    if (name === 'lang') {
      this.#redraw();
      return;
    }
    this.#connect();
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { left, right } = this.getBoundingClientRect();
    const isAtStart = getComputedStyle(this).direction === 'rtl' ? right > innerWidth / 2 : left < innerWidth / 2;
    this.#panel.classList.toggle('from-start', isAtStart);
    this.#panel.hidden = false;
    this.#bell.setAttribute('aria-expanded', 'true');
    this.#redraw();
    (this.#root.querySelector<HTMLElement>('.open') ?? this.#close).focus({ preventScroll: true });
    this.#try(this.#client?.seeAll());
  }

  close(): void {
    if (!this.#isOpen) return;
    const hadFocus = this.#root.activeElement !== null;
    this.#isOpen = false;
    this.#panel.hidden = true;
    this.#bell.setAttribute('aria-expanded', 'false');
    if (hadFocus) this.#bell.focus();
  }

  get #language(): string {
    return toLanguageTag(this.closest('[lang]')?.getAttribute('lang') || navigator.language || 'en');
  }

  #connect(): void {
    const organization = this.getAttribute('organization');
    const username = this.getAttribute('username');
    const token = this.getAttribute('token') ?? undefined;
    this.#disconnect();
    this.#redraw();
    if (!organization || !username || (!token && !this.#getToken)) return;
    const url = this.getAttribute('url') ?? undefined;
    // Looked up on each call, because a page may replace it.
    const getToken = () => {
      if (this.#getToken) return this.#getToken();
      throw new InboxError(
        401,
        'token.expired',
        'the token has expired, and there is no getToken to request a new one',
      );
    };
    const client = new InboxClient({ organization, username, getToken, ...(url && { url }), ...(token && { token }) });
    this.#client = client;
    this.#push = this.hasAttribute('push')
      ? new PushControl(client.connection, this.#footer, () => this.#draw())
      : undefined;
    this.#unsubscribe = [
      client.subscribe(() => this.#draw()),
      client.onMessage(message => {
        this.#live.textContent = this.#texts.arrived(message.title);
        this.#dispatch('belfry-message', message);
      }),
    ];
    client.start();
  }

  #disconnect(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.#client?.stop();
    this.#client = undefined;
  }

  get #texts(): InboxTexts {
    return this.#customTexts ?? textsFor(this.#language);
  }

  /** Redraws everything, for example when the language changes. */
  #redraw(): void {
    this.#items.clear();
    this.#list.replaceChildren();
    const texts = this.#texts;
    this.#title.textContent = texts.title;
    this.#panel.setAttribute('aria-label', texts.title);
    this.#markAll.textContent = texts.markAllRead;
    this.#more.textContent = texts.more;
    this.#filters.setAttribute('aria-label', texts.filter);
    for (const attribute of ['aria-label', 'title']) this.#close.setAttribute(attribute, texts.close);
    for (const [i, [, key]] of filters.entries()) this.#filters.children[i]!.textContent = String(texts[key]);
    this.#draw();
  }

  #draw(): void {
    const texts = this.#texts;
    const state = this.#client?.state;
    const unread = state?.unread ?? 0;
    this.#bell.setAttribute('aria-label', texts.unread(unread));
    this.#badge.hidden = unread === 0;
    const count = unread > maxOnBadge ? `${maxOnBadge}+` : String(unread);
    if (this.#badge.textContent !== count) {
      this.#badge.textContent = count;
      this.#dispatch('belfry-counts', { unread, unseen: state?.unseen ?? 0 });
    }
    if (!this.#isOpen || !state) return;
    this.#markAll.hidden = unread === 0;
    for (const button of this.#filters.children) {
      const isPressed = (button as HTMLElement).dataset.filter === state.filter;
      button.setAttribute('aria-pressed', String(isPressed));
    }
    this.#notice.hidden = state.status !== 'offline' || !this.#client!.hasLoaded;
    this.#notice.textContent = texts.offline;
    this.#drawList(state.messages);
    this.#more.hidden = !state.hasMore;
    this.#drawNote();
    this.#push?.draw(texts);
  }

  #drawNote(): void {
    const texts = this.#texts;
    const { state, hasLoaded } = this.#client!;
    const { status, messages, filter } = state;
    const hasFailed = status === 'error' || (status === 'offline' && !hasLoaded);
    this.#note.hidden = messages.length > 0 && !hasFailed;
    const empty = { all: texts.empty, unread: texts.emptyUnread, archived: texts.emptyArchived }[filter];
    if (hasFailed) {
      const again = () => this.#try(this.#client?.refresh());
      const retry = h('button', { type: 'button', class: 'link', part: 'retry', click: again }, texts.retry);
      this.#note.replaceChildren(texts.failed, ' ', retry);
    } else this.#note.textContent = status === 'loading' ? texts.loading : empty;
  }

  /** Updates only changed items, and keeps the focus. */
  #drawList(messages: readonly InboxMessage[]): void {
    const active = this.#root.activeElement as HTMLElement | null;
    const focused = [...this.#items].find(([, { item }]) => active && item.contains(active));
    const before = [...this.#items.keys()];
    const items = messages.map(message => {
      const existing = this.#items.get(message.id);
      if (existing?.message === message) return existing.item;
      const item = createItem(message, this.#texts, this.#language, this.#handlers);
      this.#items.set(message.id, { message, item });
      return item;
    });
    const ids = new Set(messages.map(({ id }) => id));
    for (const id of before) if (!ids.has(id)) this.#items.delete(id);
    const isSame =
      items.length === this.#list.children.length && items.every((item, i) => this.#list.children[i] === item);
    if (isSame) return;
    this.#list.replaceChildren(...items);
    if (!focused) return;
    const [id] = focused;
    const item = this.#items.get(id)?.item ?? items[Math.min(before.indexOf(id), items.length - 1)];
    const same = item?.querySelector<HTMLElement>(`[data-role="${active?.dataset.role}"]:not(:disabled)`);
    (same ?? item?.querySelector<HTMLElement>('.open') ?? this.#close).focus({ preventScroll: true });
  }

  readonly #handlers: ItemHandlers = {
    open: message => {
      if (message.read_at === null) this.#try(this.#client?.read(message.id));
      this.#dispatch('belfry-open', message);
    },
    toggleRead: ({ id, read_at }) => this.#try(read_at === null ? this.#client?.read(id) : this.#client?.unread(id)),
    toggleArchived: ({ id, archived_at }) =>
      this.#try(archived_at === null ? this.#client?.archive(id) : this.#client?.unarchive(id)),
    act: (message, action: InboxAction) => {
      const isAllowed = this.#dispatch('belfry-action', { message, action });
      // Following a link again is not a new action.
      if (message.acted_at === null) this.#try(this.#client?.act(message.id, action.name));
      return isAllowed;
    },
  };

  /** Shows a notice if the work fails; the client has already read the inbox again. */
  #try(work: Promise<void> | undefined): void {
    work?.catch(() => {
      this.#notice.hidden = false;
      this.#notice.textContent = this.#texts.actionFailed;
    });
  }

  #dispatch(name: string, detail: unknown): boolean {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true }));
  }

  readonly #onOutside = (event: Event) => {
    if (this.#isOpen && !event.composedPath().includes(this)) this.close();
  };

  #onKey(event: KeyboardEvent): void {
    if (event.key === 'Escape') {
      event.stopPropagation();
      this.close();
      this.#bell.focus();
      return;
    }
    const stops = [...this.#list.querySelectorAll<HTMLElement>('.open')];
    const item = (this.#root.activeElement as HTMLElement | null)?.closest('li');
    const at = stops.findIndex(stop => item?.contains(stop));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (to === undefined || !stops[to] || (at === -1 && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    stops[to].focus();
  }
}
