/**
 * A limited pool of connections to one mail server. On each connection one mail is being sent while the previous one may
 * still wait for the server's reply. A mail that takes too long is aborted together with its connection; another mail on
 * it that has not been transmitted yet moves to another connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Connection<Mail> {
  /**
   * Calls `onBodySent` as soon as the next mail may be sent, if that is before the end. Rejects with
   * `ConnectionAbandonedError` if the connection was ended because of another mail before this one was transmitted.
   */
  sendMail(mail: Mail, onBodySent: () => void): Promise<void>;
  /** Ends the connection at once, whatever is in flight: nothing more is sent on it. */
  end(): void;
  readonly isEnded: boolean;
  /** Whether no mail is in flight. */
  readonly isIdle: boolean;
}

export class ConnectionAbandonedError extends Error {}

interface ConnectionPoolOptions<Mail> {
  open: () => Connection<Mail>;
  maxConnections: number;
  /** Maximum messages per second; undefined: no limit. */
  rate: number | undefined;
  /** How long a mail may take, from when it has a connection to itself, including the time to open it. */
  deadlineMs: (mail: Mail) => number;
}

export class ConnectionPool<Mail> {
  readonly #options: ConnectionPoolOptions<Mail>;
  readonly #idle: Connection<Mail>[] = [];
  /** Connections on which a mail waits for the server's reply, and another may be sent. */
  readonly #awaitingReply: Connection<Mail>[] = [];
  readonly #waiting: ((connection: Connection<Mail>) => void)[] = [];
  /** The last mail of each connection, whatever its outcome. */
  readonly #last = new WeakMap<Connection<Mail>, Promise<void>>();
  #open = 0;
  /** When the last messages were sent: a ring of as many as may be sent in a second. */
  readonly #sentAt: number[] = [];
  #sent = 0;
  #closed = false;

  constructor(options: ConnectionPoolOptions<Mail>) {
    this.#options = options;
  }

  /** Composes and sends a mail when it is its turn. Rejects as the connection does, or after the deadline. */
  async send(compose: () => Mail | Promise<Mail>): Promise<void> {
    for (;;) {
      if (this.#closed) throw new Error('the connections have been closed');
      const connection = await this.#take();
      await this.#waitForRate(performance.now());
      let isHeld = true;
      const onBodySent = () => {
        isHeld = false;
        this.#release(connection, this.#awaitingReply);
      };
      try {
        const previous = connection.isIdle ? undefined : this.#last.get(connection);
        const composed = compose();
        const mail = composed instanceof Promise ? await composed : composed;
        const sending = connection.sendMail(mail, onBodySent);
        this.#last.set(connection, sending);
        const deadlineMs = this.#options.deadlineMs(mail);
        await withDeadline(sending, { deadlineMs, abort: () => connection.end(), previous });
        return;
      } catch (error) {
        if (!(error instanceof ConnectionAbandonedError)) throw error;
      } finally {
        // No other mail has taken the connection since this one was sent.
        if (isHeld || (connection.isIdle && removeFrom(this.#awaitingReply, connection))) {
          // This mail may have failed before it was sent, behind one that still waits for its reply.
          this.#release(connection, connection.isIdle ? this.#idle : this.#awaitingReply);
        }
      }
    }
  }

  /** Closes idle connections. Call it when nothing is in flight. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.end();
  }

  async #waitForRate(now: number): Promise<void> {
    const { rate } = this.#options;
    if (rate === undefined) return;
    const slot = this.#sent++ % rate;
    const at = Math.max(now, (this.#sentAt[slot] ?? 0) + 1_000);
    this.#sentAt[slot] = at;
    if (at > now) await sleep(at - now);
  }

  #take(): Connection<Mail> | Promise<Connection<Mail>> {
    // The most recently used one, so that connections that are not needed time out.
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#open < this.#options.maxConnections) return this.#openOne();
    // The one that has waited longest for its server's reply.
    return this.#awaitingReply.shift() ?? new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Passes the connection to the next waiting mail. An ended one is replaced. */
  #release(connection: Connection<Mail>, otherwise: Connection<Mail>[]): void {
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

interface Deadline {
  deadlineMs: number;
  abort: () => void;
  /** The mail whose reply is due first: the deadline starts once it has ended. */
  previous: Promise<void> | undefined;
}

async function withDeadline(sending: Promise<void>, { deadlineMs, abort, previous }: Deadline): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  // Not the promise-based timer: aborting it took 160 µs, more than everything else here.
  const deadline = new Promise<never>((_, reject) => {
    const startTimer = () => {
      if (isOver) return;
      timer = setTimeout(() => {
        reject(new Error(`the server did not finish within ${deadlineMs} ms`));
        abort();
      }, deadlineMs);
    };
    if (previous) previous.then(startTimer, startTimer);
    else startTimer();
  });
  try {
    await Promise.race([sending, deadline]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

function removeFrom<T>(list: T[], one: T): boolean {
  const at = list.indexOf(one);
  if (at < 0) return false;
  list.splice(at, 1);
  return true;
}
