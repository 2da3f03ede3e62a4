/**
 * The connections to one mail server, so many at the most. On each of them one mail is being handed over, while the one
 * before it may still wait for the server's word. A mail that takes too long is given up with its connection, but no other
 * mail with it: one of which nothing has left goes to another connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Connection<Mail> {
  /**
   * `onHanded` is called as soon as the next mail may be handed over, if that is before the end. Rejects with
   * `ConnectionAbandoned` when the connection was ended for the sake of another mail and nothing of this one has left.
   */
  sendMail(mail: Mail, onHanded: () => void): Promise<void>;
  /** At once, whatever is under way: nothing goes out on it any more. */
  end(): void;
  readonly isEnded: boolean;
  /** No mail is on its way. */
  readonly isIdle: boolean;
}

export class ConnectionAbandoned extends Error {}

export interface ConnectionPoolOptions<Mail> {
  open: () => Connection<Mail>;
  most: number;
  /** Messages in any second; undefined: no limit. */
  rate: number | undefined;
  /** From the moment on which a message has a connection to itself, that being opened included. */
  deadlineMs: number;
}

export class ConnectionPool<Mail> {
  readonly #options: ConnectionPoolOptions<Mail>;
  readonly #idle: Connection<Mail>[] = [];
  /** Where a mail waits for the server's word, and another may be handed over. */
  readonly #handed: Connection<Mail>[] = [];
  readonly #waiting: ((connection: Connection<Mail>) => void)[] = [];
  /** The mail that went to it last, whatever has become of it. */
  readonly #last = new WeakMap<Connection<Mail>, Promise<void>>();
  #open = 0;
  /** When the last messages went, as many as may go in a second. */
  readonly #went: number[] = [];
  #sent = 0;
  #closed = false;

  constructor(options: ConnectionPoolOptions<Mail>) {
    this.#options = options;
  }

  /** Composes it when it is its turn. Rejects as the connection does, or because it took too long. */
  async send(compose: () => Mail): Promise<void> {
    for (;;) {
      if (this.#closed) throw new Error('the connections have been closed');
      const connection = await this.#take();
      await this.#keepToRate(Date.now());
      let isMine = true;
      const onHanded = () => {
        isMine = false;
        this.#passOn(connection, this.#handed);
      };
      try {
        const before = connection.isIdle ? undefined : this.#last.get(connection);
        const sending = connection.sendMail(compose(), onHanded);
        this.#last.set(connection, sending);
        await this.#endsInTime(sending, () => connection.end(), before);
        return;
      } catch (error) {
        if (!(error instanceof ConnectionAbandoned)) throw error;
      } finally {
        // Nobody has taken it since this mail was handed over.
        if (isMine || (connection.isIdle && removeFrom(this.#handed, connection))) {
          // This mail may have failed before anything was said, behind one that still waits for its answer.
          this.#passOn(connection, connection.isIdle ? this.#idle : this.#handed);
        }
      }
    }
  }

  /** Once nothing is under way. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.end();
  }

  /** `before`: the mail whose answer is due first. How slow that one is, is no fault of this one. */
  async #endsInTime(sending: Promise<void>, giveUp: () => void, before: Promise<void> | undefined): Promise<void> {
    const { deadlineMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    // Not the timer of promises: to abort it took 160 µs, more than all else here together.
    const deadline = new Promise<never>((_, reject) => {
      const begin = () => {
        if (isOver) return;
        timer = setTimeout(() => {
          reject(new Error(`the server did not come to an end within ${deadlineMs} ms`));
          giveUp();
        }, deadlineMs);
      };
      if (before) before.then(begin, begin);
      else begin();
    });
    try {
      await Promise.race([sending, deadline]);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  async #keepToRate(now: number): Promise<void> {
    const { rate } = this.#options;
    if (rate === undefined) return;
    const place = this.#sent++ % rate;
    const at = Math.max(now, (this.#went[place] ?? 0) + 1_000);
    this.#went[place] = at;
    if (at > now) await sleep(at - now);
  }

  #take(): Connection<Mail> | Promise<Connection<Mail>> {
    // The one that was used last: what is not needed is closed after a while.
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#open < this.#options.most) return this.#openOne();
    // The one that has waited longest for its server.
    return this.#handed.shift() ?? new Promise(resolve => this.#waiting.push(resolve));
  }

  /** To whoever waits for one. One that was given up makes room for another. */
  #passOn(connection: Connection<Mail>, otherwise: Connection<Mail>[]): void {
    if (connection.isEnded) this.#open--;
    const next = this.#waiting.shift();
    if (next) next(connection.isEnded ? this.#openOne() : connection);
    else if (!connection.isEnded) otherwise.push(connection);
  }

  #openOne(): Connection<Mail> {
    this.#open++;
    return this.#options.open();
  }
}

function removeFrom<T>(list: T[], one: T): boolean {
  const at = list.indexOf(one);
  if (at < 0) return false;
  list.splice(at, 1);
  return true;
}
