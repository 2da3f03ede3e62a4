/**
 * Reads calendars in threads: a large one takes more than a second, and a hostile one as long as it may. Organizations take turns.
 */
import { calendarLimits } from '../../../../core/oncall/calendars/calendar.ts';
import { type CalendarContent, type CalendarToRead, NoCalendarError } from '../../../../core/oncall/calendars/read.ts';
import { ThreadPool, ThreadStoppedError, ThreadsBusyError } from '../../../../lib/load/thread-pool.ts';

export type CalendarAnswer = { content: CalendarContent } | { mistake: string };

const maxWaiting = 20;
const memoryMb = 256;

export class CalendarReader {
  readonly #threads = new ThreadPool({
    file: new URL('./reading-thread.ts', import.meta.url),
    threads: 2,
    cpuMs: calendarLimits.readMs,
    memoryMb,
    maxWaiting,
  });

  /** Throws NoCalendarError, or ThreadsBusyError if too many calendars of the organization wait. */
  async read(organizationId: number, calendar: CalendarToRead): Promise<CalendarContent> {
    const answer = await this.#threads.run<CalendarAnswer>(String(organizationId), calendar).catch(error => {
      if (!(error instanceof ThreadStoppedError)) throw error;
      if (error.reason === 'overload') throw new ThreadsBusyError(error.message);
      throw new NoCalendarError(`reading it takes too ${error.reason === 'memory' ? 'much memory' : 'long'}`);
    });
    if ('mistake' in answer) throw new NoCalendarError(answer.mistake);
    return answer.content;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
