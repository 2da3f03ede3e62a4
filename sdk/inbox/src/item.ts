/** Renders one message in the list. */
import { ago, h, icon } from './dom.ts';
import type { InboxTexts } from './texts.ts';
import type { InboxAction, InboxMessage } from './types.ts';

export interface ItemHandlers {
  open(message: InboxMessage): void;
  toggleRead(message: InboxMessage): void;
  toggleArchived(message: InboxMessage): void;
  /** Returns false if the page has prevented the default. */
  act(message: InboxMessage, action: InboxAction): boolean;
}

export function createItem(message: InboxMessage, texts: InboxTexts, language: string, on: ItemHandlers): HTMLElement {
  const isUnread = message.read_at === null;
  const readLabel = isUnread ? texts.markRead : texts.markUnread;
  const archiveLabel = message.archived_at === null ? texts.archive : texts.restore;
  return h(
    'li',
    { part: 'item', class: isUnread ? 'is-unread' : '' },
    createAvatar(message),
    h(
      'div',
      {},
      h(
        'button',
        { type: 'button', class: 'open', part: 'open', 'data-role': 'open', click: () => on.open(message) },
        h('span', { class: 'name', part: 'name' }, message.title),
        isUnread ? h('span', { class: 'quiet' }, ` (${texts.onlyUnread})`) : undefined,
      ),
      message.body && message.body !== message.title
        ? h('p', { class: 'text', part: 'text' }, message.body.replaceAll(/\n{2,}/g, '\n'))
        : undefined,
      h('time', { datetime: message.created_at, part: 'time' }, ago(message.created_at, Date.now(), language)),
      createActions(message, on),
    ),
    h(
      'div',
      { class: 'tools' },
      tool('read', `${readLabel}: ${message.title}`, isUnread ? 'check' : 'dot', () => on.toggleRead(message)),
      tool('archive', `${archiveLabel}: ${message.title}`, message.archived_at === null ? 'archive' : 'restore', () =>
        on.toggleArchived(message),
      ),
    ),
  );
}

function tool(role: string, label: string, name: Parameters<typeof icon>[0], click: () => void): HTMLElement {
  const attributes = {
    type: 'button',
    class: 'icon',
    part: 'tool',
    'data-role': role,
    'aria-label': label,
    title: label,
  };
  return h('button', { ...attributes, click }, icon(name));
}

/** Renders the image, or the first letter of the title if there is none or it fails to load. */
function createAvatar({ avatar, title }: InboxMessage): HTMLElement {
  const letter = h(
    'span',
    { class: 'avatar', part: 'avatar', 'aria-hidden': 'true' },
    [...title][0]?.toUpperCase() ?? '',
  );
  if (avatar === null) return letter;
  const image = h('img', { class: 'avatar', part: 'avatar', alt: '', src: avatar, referrerpolicy: 'no-referrer' });
  image.addEventListener('error', () => image.replaceWith(letter));
  return image;
}

function createActions(message: InboxMessage, on: ItemHandlers): HTMLElement | undefined {
  if (message.actions.length === 0) return undefined;
  const taken = message.actions.find(({ name }) => name === message.action);
  const shown = message.acted_at === null ? message.actions : message.actions.filter(one => one === taken || one.url);
  const buttons = shown.map(action => {
    const common = { part: 'action', 'data-role': `action ${action.name}` };
    if (action.url === null) {
      const disabled = message.acted_at !== null;
      const label = disabled ? `✓ ${action.label}` : action.label;
      return h('button', { ...common, type: 'button', disabled, click: () => void on.act(message, action) }, label);
    }
    const click = (event: Event) => {
      if (!on.act(message, action)) event.preventDefault();
    };
    return h('a', { ...common, href: action.url, click }, action.label);
  });
  return h('div', { class: 'actions', part: 'actions' }, ...buttons);
}
