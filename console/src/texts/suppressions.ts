/** Texts of the console: the suppression list. */
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  suppressions: 'Suppressions',
  description: 'Addresses and domains to which nothing is sent, whatever the notification.',
  target: 'Address or domain',
  targetHint: 'For email also a whole domain, such as @example.com, without its subdomains.',
  channelType: 'Channel type',
  anyChannelType: 'Any channel type',
  reason: 'Reason',
  anyReason: 'Any reason',
  reasons: {
    bounced: 'Bounced',
    complained: 'Complained',
    unsubscribed: 'Unsubscribed',
    manual: 'Manual',
  } as Record<string, string>,
  source: 'Source',
  since: 'Since',
  onlyProjects: (projects: Part) => `Only in ${projects}`,
  noProjects: 'Only in deleted projects',
  expires: 'Expires',
  expiresOn: (day: Part) => `Expires ${day}`,
  expiresHint: 'Leave empty to keep the entry until it is removed.',
  note: 'Note',
  search: 'Search by address or domain',
  add: 'Add suppression',
  addSubmit: 'Add',
  added: (target: Part) => `Added ${target}. Nothing is sent to it from now on.`,
  import: 'Import CSV',
  importTitle: 'Import suppressions',
  importSubmit: 'Import',
  file: 'CSV file',
  fileHint:
    'The first row names the columns: target, and optionally channel_type, reason, detail, expires_at and projects. All rows are imported, or none.',
  chooseFile: 'Choose a file',
  fileRequired: 'Choose a file to import.',
  imported: (added: Part, existing: Part) => `Added ${added}; ${existing} already on the list.`,
  export: 'Export CSV',
  remove: 'Remove',
  removeTarget: (target: Part) => `Remove ${target}`,
  removeQuestion: (target: Part) => `Send to ${target} again?`,
  removeHint:
    'New messages are sent to it again. If it still bounces, or its owner did not ask for this, your reputation with providers suffers. The removal is recorded in the audit log.',
  removeAction: 'Remove from the list',
  removed: (target: Part) => `Removed ${target} from the list.`,
  noMatches: 'No matches',
  noMatchesHint: 'Search matches the beginning of the address, or of the domain with its @.',
  emptyTitle: 'Nothing is suppressed',
  emptyHint:
    'Addresses that bounce, or whose owners complain, belong here: nothing is sent to them, and each message says why. Add them one by one, or import the list of your previous provider.',
});
