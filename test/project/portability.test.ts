/** docs/architecture.md lists what ties the statements to a single PostgreSQL. The lists are derived from the code here. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sources, textOf } from '../support/sources.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const [, section = ''] = read('docs/architecture.md').split('\n## Portability to a distributed PostgreSQL\n');
const rows = section
  .split('\n## ')[0]!
  .split('\n')
  .filter(line => line.startsWith('| '))
  .map(line => line.split('|').map(cell => cell.trim()));

/** Returns the names in the second column of the row. */
function listed(row: string): string[] {
  const names = rows.find(([, label]) => label === row)?.[2] ?? '';
  return [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name!).sort();
}

const schema = read('schema.sql');
const functions = [...schema.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)\([\s\S]*?\$function\$;/gm)];
const announcing = functions.filter(([body]) => body.includes('pg_notify')).map(([, name]) => name!);
const triggers = [
  ...schema.matchAll(/^CREATE TRIGGER \w+ [\s\S]*? ON (\w+)([\s\S]*?) EXECUTE FUNCTION (\w+)\(\);/gm),
].map(([, table, options, name]) => ({ table: table!, seesAll: options!.includes('REFERENCING'), name: name! }));
const tablesOf = (some: typeof triggers) => [...new Set(some.map(({ table }) => table))].sort();

/** Files of the ledger, the history and the schedules whose statements match, without `.ts`. */
const filesWith = (form: RegExp) =>
  sources
    .filter(
      file =>
        /^db\/(ledger|history|audience\/on-call)\//.test(file) &&
        form.test(textOf(file).replaceAll(/^ *(\/\/|\/?\*).*$/gm, '')),
    )
    .map(file => file.slice('db/'.length, -'.ts'.length))
    .sort();

test.each<[row: string, found: string[]]>([
  ['triggers that announce', tablesOf(triggers.filter(({ name }) => announcing.includes(name)))],
  ['triggers that see a whole statement', tablesOf(triggers.filter(({ seesAll }) => seesAll))],
  ['announcements inside a statement', filesWith(/pg_notify\(/)],
  ['the clock of the moment', filesWith(/clock_timestamp\(\)/)],
  ['claims', filesWith(/skip locked/)],
  ['sessions', filesWith(/advisory|pg_stat_activity/)],
])('the list of %s is complete', (row, found) => {
  expect(found.length).toBeGreaterThan(0);
  expect(listed(row)).toEqual(found);
});
