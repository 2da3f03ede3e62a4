/**
 * The connections to one mail server, so many at the most. On each of them one mail is being handed over, while the one
 * before it may still wait for the server's word. A mail that takes too long is given up with its connection, but no other
 * mail with it: one of which nothing has left goes to another connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Line<Mail> {
  /**
   * `onHanded` is called as soon as the next mail may be handed over, if that is before the end. Rejects with
   * `LineGivenUp` when the line was ended for the sake of another mail and nothing of this one has left.
   */
  sendMail(mail: Mail, onHanded: () => void): Promise<void>;
  /** At once, whatever is under way: nothing goes out on it any more. */
  end(): void;
  readonly isEnded: boolean;
  /** No mail is on its way. */
  readonly isIdle: boolean;
}

export class LineGivenUp extends Error {}

export interface LinesOptions<Mail> {
  open: () => Line<Mail>;
  most: number;
  /** Messages in any second; undefined: no limit. */
  rate: number | undefined;
  /** From the moment on which a message has a connection to itself, that being opened included. */
  deadlineMs: number;
}

export class Lines<Mail> {
  readonly #options: LinesOptions<Mail>;
  readonly #idle: Line<Mail>[] = [];
  /** Where a mail waits for the server's word, and another may be handed over. */
  readonly #handed: Line<Mail>[] = [];
  readonly #waiting: ((line: Line<Mail>) => void)[] = [];
  /** The mail that went to it last, whatever has become of it. */
  readonly #last = new WeakMap<Line<Mail>, Promise<void>>();
  #open = 0;
  /** When the last messages went, as many as may go in a second. */
  readonly #went: number[] = [];
  #sent = 0;
  #closed = false;

  constructor(options: LinesOptions<Mail>) {
    this.#options = options;
  }

  /** Composes it when it is its turn. Rejects as the line does, or because it took too long. */
  async send(compose: () => Mail): Promise<void> {
    for (;;) {
      if (this.#closed) throw new Error('the connections have been closed');
      const line = await this.#take();
      await this.#keepToRate(Date.now());
      let isMine = true;
      const onHanded = () => {
        isMine = false;
        this.#passOn(line, this.#handed);
      };
      try {
        const before = line.isIdle ? undefined : this.#last.get(line);
        const sending = line.sendMail(compose(), onHanded);
        this.#last.set(line, sending);
        await this.#endsInTime(sending, () => line.end(), before);
        return;
      } catch (error) {
        if (!(error instanceof LineGivenUp)) throw error;
      } finally {
        // Nobody has taken it since this mail was handed over.
        if (isMine || (line.isIdle && removeFrom(this.#handed, line))) {
          // This mail may have failed before anything was said, behind one that still waits for its answer.
          this.#passOn(line, line.isIdle ? this.#idle : this.#handed);
        }
      }
    }
  }

  /** Once nothing is under way. */
  close(): void {
    this.#closed = true;
    for (const line of this.#idle.splice(0)) line.end();
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

  #take(): Line<Mail> | Promise<Line<Mail>> {
    // The one that was used last: what is not needed is closed after a while.
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#open < this.#options.most) return this.#openOne();
    // The one that has waited longest for its server.
    return this.#handed.shift() ?? new Promise(resolve => this.#waiting.push(resolve));
  }

  /** To whoever waits for one. One that was given up makes room for another. */
  #passOn(line: Line<Mail>, otherwise: Line<Mail>[]): void {
    if (line.isEnded) this.#open--;
    const next = this.#waiting.shift();
    if (next) next(line.isEnded ? this.#openOne() : line);
    else if (!line.isEnded) otherwise.push(line);
  }

  #openOne(): Line<Mail> {
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
