/** Texts of the console: sending again. */

import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  retryQuestion: 'Retry this delivery?',
  replayDeliveries: (n: number) => `Replay ${countOf(n, 'delivery')}?`,
  resolveRecipientsQuestion: 'Resolve recipients again?',
  retry: 'Retry',
  retryAnyway: 'Retry anyway',
  replay: 'Replay',
  replayAnyway: 'Replay anyway',
  willBeRetried: (count: Part) => `${count} will be attempted again`,
  willWait: (count: Part, why: Part) => `${count} will wait: ${why}`,
  willNotBeSent: (count: Part, why: Part) => `${count} will not be sent: ${why}`,
  whatWillHappen: 'What will happen',
  nothingWouldBeSent: 'Nothing would be sent. The failed deliveries would be closed with the reasons above.',
  checkedFirst: (checked: Part, all: Part) => `Checked the first ${checked} of ${all}.`,
  recipientsResolvedAgain: 'Recipients are resolved again, because resolving them stopped halfway.',
  mayArriveTwice: 'Recipients with an unknown outcome may get the message twice.',
  sentTo: (who: Part) => `Sent to ${who}.`,
  failedAgain: (why: Part) => `Failed again: ${why}.`,
  failedAndWaits: 'Failed again. Will be retried later.',
  waiting: (why: Part) => `Waiting: ${why}.`,
  notSent: (why: Part) => `Not sent: ${why}.`,
  stillSending: 'Still being sent. This page updates when it’s done.',
  deletedUser: 'deleted user',
  noReason: 'no reason given',
  sinceTheReplay: 'Since the replay',
  nothingYet: 'Nothing yet',
  dismiss: 'Dismiss',
  replayResult: 'Replay result',
  retryDeliveries: (n: number) => `Retry ${countOf(n, 'delivery')}?`,
  areQueued: 'They are put back into the queue and sent as fast as the channel allows.',
  oldestOnly: (count: Part, remaining: Part) =>
    `This retries the oldest ${count}; ${remaining} more stay listed, to be retried next.`,
  queued: (n: number) => `Queued ${countOf(n, 'delivery')}.`,
  notQueued: (count: Part) => `${count} not queued: retried or removed in the meantime.`,
  beyondLimit: (count: Part) => `${count} not queued: beyond the limit of one retry. Retry again.`,
  noneLeft: 'Nothing to retry: these deliveries were retried or removed in the meantime.',
});
