/** The line below the list by which a person has this browser notify them. */
import type { Connection } from './connection.ts';
import { h } from './dom.ts';
import { enablePush, type PushStatus, pushStatus } from './push.ts';
import type { Words } from './words.ts';

export class PushControl {
  readonly #connection: Connection;
  readonly #place: HTMLElement;
  readonly #onChange: () => void;
  #status: PushStatus | undefined;

  constructor(connection: Connection, place: HTMLElement, onChange: () => void) {
    this.#connection = connection;
    this.#place = place;
    this.#onChange = onChange;
    void pushStatus().then(status => this.#set(status));
  }

  draw(words: Words): void {
    this.#place.hidden = this.#status === undefined || this.#status === 'unsupported';
    if (this.#status === 'off') {
      const click = () => {
        enablePush(this.#connection).then(
          status => this.#set(status),
          () => void pushStatus().then(status => this.#set(status)),
        );
      };
      const button = h('button', { type: 'button', class: 'link', part: 'push', click }, words.enablePush);
      if (this.#place.textContent !== words.enablePush) this.#place.replaceChildren(button);
    } else this.#place.textContent = this.#status === 'on' ? words.pushOn : words.pushDenied;
  }

  #set(status: PushStatus): void {
    this.#status = status;
    this.#onChange();
  }
}
