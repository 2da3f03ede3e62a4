/** An account that was found by its email may belong to someone else: one function decides, and the list of such places is complete. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/process.ts';
import { sources, textOf } from '../support/sources.ts';

/** Functions that find an account or an invite by email. */
const lookups = /\b(findAccount|findSameAccount|listInvitesFor)AcrossTenants\(/;

test('docs/security.md lists every place that looks an account or an invite up by email', () => {
  const documented = readFileSync(path.join(root, 'docs/security.md'), 'utf8');
  const callers = sources.filter(file => !file.startsWith('db/') && lookups.test(textOf(file)));
  expect(callers.length).toBeGreaterThan(4);
  expect(callers.filter(file => !documented.includes(`\`${file}\``))).toEqual([]);
});

test('no other file selects accounts or invites by email', () => {
  const byEmail =
    /from accounts[^`;]*\bemail = |(selectFrom\('(accounts|invites)[^;]*?|pending\(db\))\.where\('(\w\.)?email'/gs;
  const found = sources.flatMap(file => [...textOf(file).matchAll(byEmail)].map(() => file));
  expect([...new Set(found)]).toEqual([
    'db/identity/accounts.ts',
    'db/identity/invites.ts',
    'db/operations/organization-accounts.ts',
  ]);
});
