/** A list's members from a file and into one. */
import { CsvError, parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import { AppError, type FieldErrors } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import {
  type Column,
  findDelimiter,
  guard,
  type ListRow,
  type Mistake,
  readHeader,
  readRow,
  writeValue,
} from '../core/list-file.ts';
import { categoryScope, everything, generalSlug } from '../core/preferences.ts';
import { listAllCategories } from '../db/categories.ts';
import { type Imported, importMembers, listExportColumns, listMembersToExport } from '../db/list-import.ts';
import { expectGrowth } from '../db/pool.ts';
import { addOptOuts } from '../db/preferences.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export const mostRows = 100_000;
export const mostMistakes = 1_000;
/** Characters that are read at once, after how many others have their turn, and of a row at the most. */
const piece = 16_384;
const turnsAfter = 4 * piece;
const longestRow = 16 * piece;
const rowTooLong = `a row has more than ${longestRow} characters: a quotation mark may lack its end`;
const rowsAtOnce = 5_000;

interface Project {
  id: number;
  slug: string;
}

interface List {
  id: number;
  name: string;
}

export interface ImportResult extends Imported {
  rows: number;
  /** Where there is such a column: choices that were made for people who did not want something. */
  opt_outs?: number;
  errors: Mistake[];
  errors_total: number;
}

interface ReadFile {
  rows: number;
  people: ListRow[];
  errors: Mistake[];
  errorsTotal: number;
  /** Whether there is a column for them. */
  hasOptOuts: boolean;
  /** Where in the file it stands. */
  rowOf: (person: ListRow) => number;
}

/** All or nothing, unless rows with mistakes are to be skipped; a dry run does it all and takes it back. */
export async function importList(
  deps: Deps,
  organizationId: number,
  project: Project,
  list: List,
  text: string,
  { skip, dryRun }: { skip: boolean; dryRun: boolean },
): Promise<ImportResult> {
  const file = await readFile(text);
  if (file.errorsTotal > 0 && !skip) throw refusal(file);
  await checkOptOuts(deps, organizationId, file);
  if (file.errorsTotal > 0 && !skip) throw refusal(file);
  const total = { added: 0, existing: 0, created_users: 0, updated_users: 0 };
  let optOutsMade = 0;
  const optOutsOf = (): { opt_outs?: number } & Record<string, number> =>
    file.hasOptOuts ? { opt_outs: optOutsMade } : {};
  const undone = new Error('a dry run');
  const people = file.people.toSorted((a, b) => (a.username < b.username ? -1 : 1));
  try {
    await deps.db.transaction().execute(async trx => {
      await expectGrowth(trx);
      for (let i = 0; i < people.length; i += rowsAtOnce) {
        const part = await importMembers(trx, organizationId, list.id, people.slice(i, i + rowsAtOnce));
        for (const field of Object.keys(part) as (keyof Imported)[]) total[field] += part[field];
      }
      await deps.usage.admitUsers(trx, organizationId, total.created_users, Date.now());
      // In the same transaction as the memberships: whoever opted out is told nothing in between.
      const optOuts = people.flatMap(({ username, opt_out = [] }) =>
        opt_out.map(name => ({ username, scope: optOutScope(name) })),
      );
      for (let i = 0; i < optOuts.length; i += rowsAtOnce) {
        optOutsMade += await addOptOuts(trx, organizationId, optOuts.slice(i, i + rowsAtOnce), deps.actor.name);
      }
      if (dryRun) throw undone;
      const after = { rows: file.rows, ...total, ...optOutsOf(), skipped: file.errorsTotal };
      const path = `${project.slug}/${list.name}`;
      await record(deps, trx, organizationId, { action: 'import', noun: 'list', path, after });
    });
  } catch (error) {
    if (error !== undone) throw error;
  }
  return { rows: file.rows, ...total, ...optOutsOf(), errors: file.errors, errors_total: file.errorsTotal };
}

/** Of a category that is not there: a mistake in the row, and the row is left out. */
async function checkOptOuts({ db }: Deps, organizationId: number, file: ReadFile): Promise<void> {
  if (!file.people.some(({ opt_out }) => opt_out)) return;
  const known = new Set(['all', generalSlug, ...(await listAllCategories(db, organizationId)).map(({ slug }) => slug)]);
  file.people = file.people.filter(person => {
    const unknown = person.opt_out?.find(name => !known.has(name));
    if (unknown === undefined) return true;
    const message = `there is no category ${JSON.stringify(unknown)} (there are ${[...known].join(', ')})`;
    file.errorsTotal++;
    if (file.errors.length < mostMistakes) file.errors.push({ row: file.rowOf(person), field: 'opt_out', message });
    return false;
  });
}

function optOutScope(name: string): string {
  return name === 'all' ? everything : categoryScope(name);
}

function refusal({ errors, errorsTotal }: ReadFile): AppError {
  const fields: FieldErrors = {};
  for (const { row, field, message } of errors) {
    const name = `row ${row}/${field}`;
    fields[name] = [...(fields[name] ?? []), message];
  }
  const [first] = errors;
  const more = errorsTotal > 1 ? ` (and ${errorsTotal - 1} more mistakes)` : '';
  const told = `row ${first!.row}, ${first!.field}: ${first!.message}${more}; nothing was imported`;
  return new AppError('request.invalid', told, { fields });
}

async function readFile(text: string): Promise<ReadFile> {
  const seen = new Map<string, { row: number; as: string }>();
  const rowOf = ({ username }: ListRow) => seen.get(username)!.row;
  const file: ReadFile = { rows: 0, people: [], errors: [], errorsTotal: 0, hasOptOuts: false, rowOf };
  const complain = (...mistakes: Mistake[]) => {
    file.errorsTotal += mistakes.length;
    file.errors.push(...mistakes.slice(0, Math.max(0, mostMistakes - file.errors.length)));
  };
  let columns: Column[] | undefined;
  let row = 0;
  for await (const cells of records(text)) {
    row++;
    if (!columns) {
      const header = readHeader(cells);
      if ('mistakes' in header)
        throw refusal({ ...file, errors: header.mistakes, errorsTotal: header.mistakes.length });
      columns = header.columns;
      file.hasOptOuts = columns.some(({ kind }) => kind === 'opt_out');
      continue;
    }
    if (++file.rows > mostRows) {
      const message = `has more than ${mostRows} rows: split it`;
      throw refusal({ ...file, errors: [{ row, field: 'file', message }], errorsTotal: 1 });
    }
    const read = readRow(cells, columns, row);
    if ('mistakes' in read) {
      complain(...read.mistakes);
      continue;
    }
    const as = JSON.stringify(read.value);
    const before = seen.get(read.value.username);
    if (!before) {
      seen.set(read.value.username, { row, as });
      file.people.push(read.value);
    } else if (before.as !== as) {
      complain({ row, field: 'email', message: `is in row ${before.row} already, which says something else` });
    }
  }
  if (!columns) {
    const message = 'is required: the first row must name the columns';
    throw refusal({ ...file, errors: [{ row: 1, field: 'email', message }], errorsTotal: 1 });
  }
  return file;
}

/** A piece at a time, so that others are served meanwhile. */
async function* records(text: string): AsyncGenerator<string[]> {
  const options = {
    delimiter: findDelimiter(text),
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    // Each stretch waits for its turn among the requests: fewer and longer ones than the usual sixteen rows.
    readableHighWaterMark: 1_000,
  };
  const parser = parse(options);
  let sinceRow = 0;
  (async () => {
    for (let i = 0; i < text.length; i += piece) {
      sinceRow += piece;
      // An end that is missing, or a million empty cells: read to the end it would be one huge row.
      if (sinceRow > longestRow) throw new AppError('request.malformed', rowTooLong);
      if (!parser.write(text.slice(i, i + piece))) await new Promise(resolve => parser.once('drain', resolve));
      // What drains by itself would be read in one go.
      if (i % turnsAfter === 0) await new Promise(setImmediate);
    }
    parser.end();
  })().catch(error => parser.destroy(error));
  try {
    for await (const cells of parser) {
      sinceRow = 0;
      yield cells as string[];
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new AppError('request.malformed', `the file cannot be read as comma-separated values: ${describe(error)}`);
  }
}

function describe({ code, message, lines, column }: CsvError): string {
  const known: Record<string, string> = {
    INVALID_OPENING_QUOTE: 'a quotation mark stands within the cell',
    CSV_INVALID_CLOSING_QUOTE: 'something follows the closing quotation mark of the cell',
    CSV_QUOTE_NOT_CLOSED: 'a quotation mark is not closed by the end of the file',
  };
  const what = known[code];
  if (!what) return message;
  const advice = 'enclose the whole cell in quotation marks, and double those within it';
  return `line ${lines}, column ${Number(column) + 1}: ${what}: ${advice}`;
}

/** The text of the file, a page of members at a time: memory stays flat for any length. */
export async function* exportList({ db }: Deps, organizationId: number, listId: number): AsyncGenerator<string> {
  // Spreadsheets take a file without this mark for one in the encoding of the country. Which columns follow takes a look at
  // every member, seconds for a long list: meanwhile the file has begun.
  yield `\ufeff${['email', 'first_name', 'last_name', 'locale', 'active', 'opt_out'].join()}`;
  const { addresses, custom } = await listExportColumns(db, organizationId, listId);
  const more = [...addresses.map(name => `address.${name}`), ...custom.map(key => `custom.${key}`)];
  yield more.length === 0 ? '\r\n' : `,${write([more])}`;
  let after = 0;
  for (;;) {
    const members = await listMembersToExport(db, organizationId, listId, { after, limit: 1_000 });
    if (members.length === 0) return;
    after = members.at(-1)!.id;
    yield write(
      members.map(member => [
        member.email,
        member.first_name,
        member.last_name,
        member.locale ?? '',
        String(member.active),
        member.opt_out.join(' '),
        ...addresses.map(name => member.addresses.find(address => address.name === name)?.value ?? ''),
        ...custom.map(key => (key in member.custom_fields ? writeValue(member.custom_fields[key] as Json) : '')),
      ]),
    );
  }
}

function write(rows: string[][]): string {
  return stringify(
    rows.map(row => row.map(guard)),
    { record_delimiter: '\r\n' },
  );
}
