/** Texts of the console: occurrences that wait for an approval. */

import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  approval: 'Approval',
  canary: 'Canary',
  sampleStopped: 'The sample did not go well.',
  others: (count: number, isComplete: boolean) =>
    isComplete ? `${countOf(count, 'recipient')} wait.` : `${countOf(count, 'recipient')} counted so far.`,
  canaryExplanation:
    'Only the sample got a message. Approve it if the others may get it too. If not, reject it: it ends, and the others get nothing.',
  waitsForApproval: (event: Part) => `${event} waits for an approval`,
  deletedEvent: 'Deleted event',
  recipients: (count: number, isComplete: boolean) =>
    isComplete ? `It has ${countOf(count, 'recipient')}.` : `${countOf(count, 'recipient')} counted so far.`,
  threshold: (count: number) => `An approval is needed for more than ${countOf(count, 'recipient')}.`,
  neverSent: 'It was not sent in the last 90 days.',
  largest: (count: number) => `The largest audience of the last 90 days was ${countOf(count, 'recipient')}.`,
  decide: 'Review',
  decideAbout: (event: Part) => `Review ${event}`,
  expires: 'Fails {time} unless someone approves it',
  triggeredBy: (name: Part) => `Triggered by ${name}.`,
  explanation:
    'Nothing has been sent. Approve it if this many recipients are right. If not, reject it: it ends, and no one gets a message.',
  counting: 'The recipients are still being counted. You can decide before that.',
  channel: 'Channel',
  messages: 'Messages',
  duration: 'Takes',
  asFastAsPossible: 'as fast as possible',
  byChannel: 'Messages by channel',
  leftOut: 'Left out',
  leftOutBy: 'Messages that would not be sent, by reason',
  reason: 'Reason',
  samples: 'Random samples',
  approve: 'Approve',
  reject: 'Reject',
  approveQuestion: (count: number) => `Send ${countOf(count, 'message')}?`,
  approveUncountedQuestion: 'Send all messages?',
  sendNow: 'As fast as possible',
  sendSlowly: 'At a rate',
  pace: 'Pace',
  perSecond: 'Messages per second',
  approveHint:
    'Recipients are decided again: one who has opted out meanwhile gets nothing. You can still cancel the rest later.',
  approved: 'Approved. The messages are being sent.',
  rejectQuestion: 'Reject this occurrence?',
  rejectHint: 'It ends as cancelled, and no more messages are sent. This can’t be undone.',
  rejectReason: 'Reason (optional)',
  rejectExample: 'Wrong list',
  rejected: 'Rejected. Nothing more is sent.',
  states: {
    approved: 'Approved',
    rejected: 'Rejected',
    expired: 'Not approved in time',
    released: 'Released automatically: the exact count needed no approval',
    ended: 'Ended before anyone decided',
  } as Record<string, string>,
  canaryStates: {
    waiting: 'A sample got it. The others wait for what becomes of that',
    released: 'The sample went well, and the others followed',
  } as Record<string, string>,
  decidedBy: (state: Part, name: Part) => `${state} by ${name}`,
  atRate: (perSecond: number) => `${countOf(perSecond, 'message')} per second.`,
});
