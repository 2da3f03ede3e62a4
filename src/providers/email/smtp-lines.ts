/**
 * The connections to one mail server, so many at the most, with one message at a time on each: so a message that takes
 * too long can be given up with its connection, and no other message with it.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Line<Mail> {
  sendMail(mail: Mail): Promise<void>;
  /** At once, whatever is under way: nothing goes out on it any more. */
  end(): void;
}

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
  readonly #free: Line<Mail>[] = [];
  readonly #waiting: ((line: Line<Mail>) => void)[] = [];
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
    if (this.#closed) throw new Error('the connections have been closed');
    const line = await this.#take();
    await this.#keepToRate(Date.now());
    let isLate = false;
    try {
      await this.#endsInTime(line.sendMail(compose()), () => {
        isLate = true;
        line.end();
      });
    } finally {
      if (isLate) this.#replace();
      else this.#giveBack(line);
    }
  }

  /** Once nothing is under way. */
  close(): void {
    this.#closed = true;
    for (const line of this.#free.splice(0)) line.end();
  }

  async #endsInTime(sending: Promise<void>, giveUp: () => void): Promise<void> {
    const { deadlineMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    // Not the timer of promises: to abort it took 160 µs, more than all else here together.
    const deadline = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        giveUp();
        reject(new Error(`the server did not come to an end within ${deadlineMs} ms`));
      }, deadlineMs);
    });
    try {
      await Promise.race([sending, deadline]);
    } finally {
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
    const free = this.#free.pop();
    if (free) return free;
    if (this.#open < this.#options.most) return this.#openOne();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  #giveBack(line: Line<Mail>): void {
    const next = this.#waiting.shift();
    if (next) next(line);
    else this.#free.push(line);
  }

  /** One was given up: whoever waits gets another. */
  #replace(): void {
    this.#open--;
    const next = this.#waiting.shift();
    if (next) next(this.#openOne());
  }

  #openOne(): Line<Mail> {
    this.#open++;
    return this.#options.open();
  }
}
