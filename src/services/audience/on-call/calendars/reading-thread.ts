/** The threads of reader.ts. */
import { parentPort } from 'node:worker_threads';
import { type CalendarToRead, NoCalendarError, readCalendar } from '../../../../core/oncall/calendars/read.ts';
import type { CalendarAnswer } from './reader.ts';

const answer = (calendar: CalendarToRead): CalendarAnswer => {
  try {
    return { content: readCalendar(calendar) };
  } catch (error) {
    // Other messages may quote what the calendar contains.
    return { mistake: error instanceof NoCalendarError ? error.message : 'it is a damaged iCalendar file' };
  }
};

parentPort!.on('message', (calendar: CalendarToRead) => parentPort!.postMessage(answer(calendar)));
parentPort!.postMessage('ready');
