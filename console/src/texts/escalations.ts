/** Texts of the console: escalations. */

import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  escalations: 'Escalations',
  description: 'Occurrences with steps that no one has acknowledged yet.',
  escalatingNow: 'Escalating now',
  noOneResponded: 'No one responded',
  nothingEscalates: 'Nothing is escalating',
  nothingEscalatesHint: 'Occurrences of notifications with steps appear here until someone acknowledges them.',
  newestShown: (count: Part) => `Only the newest ${count} are shown.`,
  deletedEvent: 'Deleted event',
  deletedNotification: 'Deleted notification',
  triggers: (n: number) => countOf(n, 'trigger'),
  notStarted: 'Not started',
  stepRunning: (step: Part) => `Step ${step} is being sent`,
  stepDone: (step: Part) => `Step ${step} was sent`,
  nextStep: (step: Part) => `Step ${step} in`,
  dueNow: 'a moment',
  noFurtherStep: 'No further step',
  noOneNotified: 'No one notified yet',
  notified: (users: Part) => `Notified: ${users}`,
  notifiedAndOthers: (users: Part) => `Notified: ${users} and others`,
});
