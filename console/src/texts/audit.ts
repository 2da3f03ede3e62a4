/** Texts of the console: audit. */

export const texts = {
  auditLog: 'Audit log',
  everyChangeSignInAndExport:
    'Every change, sign-in and export, with who made it and from where. Secrets are never recorded.',
  exportAsJsonLines: 'Export as JSON Lines',
  filterTheAuditLog: 'Filter the audit log',
  type: 'Type',
  any: 'Any',
  keyOrAccount: 'Key or account',
  pathStartsWith: 'Path starts with',
  fromWord: 'From',
  until: 'Until',
  noMatches: 'No matches',
  noEntriesYet: 'No entries yet',
  removeAFilterKeysAndAccounts: 'Remove a filter. Keys and accounts must match exactly.',
  changesSignInsAndExportsAppear: 'Changes, sign-ins and exports appear here.',
  entries: 'Entries',
  loadMore: 'Load more',
  by: 'By',
  at: 'At',
  request: 'Request',
  current: 'Current',
  open: 'Open',
};
