/** Texts of the console: notifications that are sent to a random sample first. */

import { isolated } from './isolated.ts';

export const texts = isolated({
  sendToAFewFirst: 'Send to a few first',
  sendToAFewFirstHint:
    'A random sample gets it first. The others follow, unless too many messages fail, bounce or are reported as spam: then someone has to approve it.',
  first: 'Sample',
  firstHint: 'Recipients',
  wait: 'Then wait',
  waitHint: '10m, 2h; at most 7d',
  failed: 'Stop if failed',
  bounced: 'Stop if bounced',
  complained: 'Stop if spam',
  compareTwo: 'Compare two variants of the message',
  compareTwoHint:
    'Each half of the sample gets one. The others get the better one; with equal figures, the message below, which is variant a.',
  winnerBy: 'The better one has more',
  clicks: 'Clicks on links',
  acknowledgements: 'Actions taken by recipients',
  subjectOfB: 'Subject of variant b',
  bodyOfB: 'Body of variant b',
  bodyOfBHint:
    'What you leave empty is as in the message. Translations and texts for single channels are set in the file or by the API, and kept here.',
});
