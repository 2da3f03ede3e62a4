/** Texts of the console: pauses. */

import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  channel: 'Channel',
  application: 'Application',
  event: 'Event',
  project: 'Project',
  key: 'API key',
  sending: 'sending',
  organizationIsPaused: 'All sending is paused',
  isPaused: (kind: Part, path: Part) => `${kind} ${path} is paused`,
  bulkIsPaused: (path: Part) => `Bulk messages of channel ${path} are paused`,
  otherMessagesAreSent: 'Other messages are sent.',
  surges: (kind: Part, path: Part) => `The rate guard has paused ${kind} ${path}`,
  urgentIsSent: 'Urgent messages are sent, everything else is held.',
  everythingIsHeld: 'Everything is held, urgent messages too.',
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
  resumeQuestion: (name: Part) => `Resume ${name}?`,
  whatIsHeld: 'What is held',
  sendNow: 'Send everything now',
  sendSlowly: 'Send it slowly',
  perSecond: 'Messages per second',
  perSecondHint: 'A fan-out whose recipients are not decided yet counts as one.',
  drop: 'Drop it',
  dropHint: 'Held messages are cancelled and never sent.',
  resumeAndDrop: 'Resume and drop',
  pauseSending: 'Pause sending',
  allSending: 'all sending',
  resumePath: (path: Part) => `Resume ${path}`,
  resumed: (path: Part) => `Resumed ${path}.`,
  resumedDropped: (path: Part, dropped: number) => `Resumed ${path}. ${countOf(dropped, 'waiting message')} dropped.`,
  resumedSlowly: (path: Part, released: number, perSecond: number) =>
    `Resumed ${path}. ${countOf(released, 'waiting message')} will be sent, ${perSecond} per second.`,
  resumedSome: (path: Part, released: number) =>
    `Resumed ${path}. ${countOf(released, 'waiting message')} will now be sent.`,
});
