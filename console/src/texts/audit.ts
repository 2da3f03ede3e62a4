/** Texts of the console: audit. */
import { isolated } from './isolated.ts';

export const texts = isolated({
  auditLog: 'Audit log',
  description: 'Every change, sign-in and export, with who made it and from where. Secrets are never recorded.',
  exportAsJsonLines: 'Export as JSON Lines',
  filterTheAuditLog: 'Filter the audit log',
  type: 'Type',
  any: 'Any',
  keyOrAccount: 'Key or account',
  pathStartsWith: 'Path starts with',
  from: 'From',
  until: 'Until',
  noMatches: 'No matches',
  noEntriesYet: 'No entries yet',
  noMatchesHint: 'Remove a filter. Keys and accounts must match exactly.',
  noEntriesHint: 'Changes, sign-ins and exports appear here.',
  entries: 'Entries',
  loadMore: 'Load more',
  by: 'By',
  at: 'At',
  request: 'Request',
  current: 'Current',
  open: 'Open',
});
