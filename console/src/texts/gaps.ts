/** Texts of the console: gaps of schedules. Apart from those of schedules, because the overview shows them too. */

import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  gaps: 'Gaps',
  noGaps: 'Someone who can be reached is on call at all times of the next 7 days.',
  moreGaps: 'There are more.',
  gapKinds: {
    no_one: 'No one',
    missing: 'Deleted',
    locked: 'Locked',
    absent: 'Absent',
    unreachable: 'Unreachable',
    rules: 'Personal rules',
    unverified: 'Not verified',
    untested: 'Not tested',
  } as Record<string, string>,
  gapOf: (user: Part, message: Part) => `${user} ${message}.`,
  affects: (paths: Part) => `Affects ${paths}.`,
  onCallFrom: (time: Part) => `on call from ${time}`,
});
