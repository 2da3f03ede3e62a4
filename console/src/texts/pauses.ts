/** Texts of the console: pauses. */
import type { Part } from './part.ts';

export const texts = {
  channel: 'Channel',
  application: 'Application',
  event: 'Event',
  isPaused: (kind: Part, path: Part) => `${kind} ${path} is paused`,
  sendingIsPaused: 'Sending is paused for everyone',
  restoredOrCopied:
    'The database was restored or copied, so messages sent since then are not on record. Triggers are still accepted. ' +
    'An operator resumes sending with belfry resume.',
  paused: 'Paused ',
  nothingIsWaitingYet: 'Nothing is waiting yet.',
  isWaiting: (what: Part) => `${what} is waiting.`,
  areWaiting: (what: Part) => `${what} are waiting.`,
  oneMessage: '1 message',
  messages: (count: Part) => `${count} messages`,
  oneOccurrence: '1 occurrence',
  occurrences: (count: Part) => `${count} occurrences`,
  both: (messages: Part, occurrences: Part) => `${messages} and ${occurrences}`,
  resume: 'Resume',
  resumePath: (path: Part) => `Resume ${path}`,
  resumed: (path: Part) => `Resumed ${path}.`,
  resumedOne: (path: Part) => `Resumed ${path}. 1 waiting message will now be sent.`,
  resumedSome: (path: Part, released: Part) => `Resumed ${path}. ${released} waiting messages will now be sent.`,
};
