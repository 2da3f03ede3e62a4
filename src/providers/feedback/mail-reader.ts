/**
 * Reads bounce mails in threads, wherever they come from: the listener (BELFRY_SMTP_IN), mailboxes, and requests. A hostile mail
 * takes up to 0.2 s. Organizations take turns.
 */
import { type MailReport, UnreadableMailError } from '../../core/feedback/event.ts';
import type { Letter } from '../../core/sources/letter.ts';
import { ThreadPool, ThreadStoppedError, ThreadsBusyError } from '../../lib/load/thread-pool.ts';
import { mailLimits } from './mail-limits.ts';

/** `letter`: a mail to a source. */
export interface MailReadingTask {
  kind: 'report' | 'letter';
  bytes: Uint8Array;
}
export type MailReadingAnswer = { report: MailReport } | { letter: Letter } | { mistake: string };

export class MailReader {
  readonly #threads = new ThreadPool({
    file: new URL('./mail-reading-thread.ts', import.meta.url),
    threads: 2,
    cpuMs: mailLimits.cpuMs,
    memoryMb: 128,
    maxWaiting: mailLimits.waiting,
  });

  /** Reads the start of a mail. Throws UnreadableMailError, or ThreadsBusyError if the organization has too many mails waiting. */
  async read(organizationId: number, bytes: Buffer): Promise<MailReport> {
    const answer = await this.#run(organizationId, { kind: 'report', bytes });
    return (answer as { report: MailReport }).report;
  }

  /** Reads the start of a mail to a source. Throws the same errors. */
  async readLetter(organizationId: number, bytes: Buffer): Promise<Letter> {
    const answer = await this.#run(organizationId, { kind: 'letter', bytes });
    return (answer as { letter: Letter }).letter;
  }

  async #run(organizationId: number, { kind, bytes }: MailReadingTask) {
    const task: MailReadingTask = { kind, bytes: bytes.subarray(0, mailLimits.bytes) };
    const answer = await this.#threads.run<MailReadingAnswer>(String(organizationId), task).catch(error => {
      if (!(error instanceof ThreadStoppedError)) throw error;
      if (error.reason === 'overload') throw new ThreadsBusyError(error.message);
      throw new UnreadableMailError(`cannot be read: it ${error.message}`);
    });
    if ('mistake' in answer) throw new UnreadableMailError(answer.mistake);
    return answer;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
