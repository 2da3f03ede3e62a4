/** The line below the list that enables notifications in this browser. */
import type { Connection } from './connection.ts';
import { h } from './dom.ts';
import { enablePush, type PushStatus, pushStatus } from './push.ts';
import type { InboxTexts } from './texts.ts';

export class PushControl {
  readonly #connection: Connection;
  readonly #container: HTMLElement;
  readonly #onChange: () => void;
  #status: PushStatus | undefined;

  constructor(connection: Connection, container: HTMLElement, onChange: () => void) {
    this.#connection = connection;
    this.#container = container;
    this.#onChange = onChange;
    void pushStatus().then(status => this.#set(status));
  }

  draw(texts: InboxTexts): void {
    this.#container.hidden = this.#status === undefined || this.#status === 'unsupported';
    if (this.#status === 'off') {
      const click = () => {
        enablePush(this.#connection).then(
          status => this.#set(status),
          () => void pushStatus().then(status => this.#set(status)),
        );
      };
      const button = h('button', { type: 'button', class: 'link', part: 'push', click }, texts.enablePush);
      if (this.#container.textContent !== texts.enablePush) this.#container.replaceChildren(button);
    } else this.#container.textContent = this.#status === 'on' ? texts.pushOn : texts.pushDenied;
  }

  #set(status: PushStatus): void {
    this.#status = status;
    this.#onChange();
  }
}
