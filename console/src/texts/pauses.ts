/** Texts of the console: pauses. */

import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  channel: 'Channel',
  application: 'Application',
  event: 'Event',
  isPaused: (kind: Part, path: Part) => `${kind} ${path} is paused`,
  bulkIsPaused: (path: Part) => `Bulk messages of channel ${path} are paused`,
  otherMessagesAreSent: 'Other messages are sent.',
  pauseQuestion: (name: Part) => `Pause ${name}?`,
  reason: 'Reason (optional)',
  reasonHint: 'Shown to everyone who sees the pause. Messages are kept until you resume.',
  reasonExample: 'Wrong price in the offer',
  pause: 'Pause',
  pausedToast: (name: Part) => `Paused ${name}. Messages are kept until you resume.`,
  sendingIsPaused: 'Sending is paused for everyone',
  restoredOrCopied:
    'The database was restored or copied, so messages sent since then are not on record. Triggers are still accepted. ' +
    'An operator resumes sending with belfry resume.',
  paused: 'Paused {time}',
  nothingIsWaitingYet: 'Nothing is waiting yet.',
  waiting: (what: Part, isOne: boolean) => `${what} ${isOne ? 'is' : 'are'} waiting.`,
  both: (messages: Part, occurrences: Part) => `${messages} and ${occurrences}`,
  resume: 'Resume',
  resumePath: (path: Part) => `Resume ${path}`,
  resumed: (path: Part) => `Resumed ${path}.`,
  resumedSome: (path: Part, released: number) =>
    `Resumed ${path}. ${countOf(released, 'waiting message')} will now be sent.`,
});
