/** Imports the members of a list from a CSV file, and exports them. */
import { CsvError, parse } from 'csv-parse';
import Papa from 'papaparse';
import {
  type Column,
  escapeFormula,
  findDelimiter,
  formatValue,
  type ListRow,
  type Mistake,
  readHeader,
  readRow,
} from '../../core/audience/list-file.ts';
import { categoryScope, everything, generalSlug } from '../../core/decision/preferences.ts';
import { AppError, type FieldErrors } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import {
  type ImportCounts,
  importMembers,
  listExportColumns,
  listMembersToExport,
} from '../../db/audience/list-import.ts';
import { addOptOuts } from '../../db/audience/preferences.ts';
import { listRows } from '../../db/configuration/rows.ts';
import { type Db, prepareForGrowth } from '../../db/connection/pool.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';

export const maxRows = 100_000;
export const maxErrors = 1_000;
/** In characters: the size of a chunk, how many are parsed before yielding to other requests, and the row limit. */
const chunkSize = 16_384;
const yieldAfter = 4 * chunkSize;
const maxRowLength = 16 * chunkSize;
const rowTooLong = `a row has more than ${maxRowLength} characters: a closing quotation mark may be missing`;
const rowsPerStatement = 5_000;

interface Project {
  id: number;
  slug: string;
}

interface List {
  id: number;
  name: string;
}

interface ImportResult extends ImportCounts {
  rows: number;
  /** Number of opt-outs that were stored; absent without an `opt_out` column. */
  opt_outs?: number;
  errors: Mistake[];
  errors_total: number;
}

interface ParsedFile {
  rows: number;
  users: ListRow[];
  errors: Mistake[];
  errorsTotal: number;
  /** Whether the file has an `opt_out` column. */
  hasOptOuts: boolean;
  /** Returns the row number in the file. */
  rowOf: (user: ListRow) => number;
}

/** Imports all rows or none, unless invalid rows are to be skipped. A dry run does everything and rolls back. */
export async function importList(
  deps: Deps,
  organizationId: number,
  project: Project,
  list: List,
  text: string,
  { skip, dryRun }: { skip: boolean; dryRun: boolean },
): Promise<ImportResult> {
  const file = await parseFile(text);
  if (file.errorsTotal > 0 && !skip) throw rejection(file);
  await checkOptOuts(deps, organizationId, file);
  if (file.errorsTotal > 0 && !skip) throw rejection(file);
  const total = { added: 0, existing: 0, created_users: 0, updated_users: 0 };
  let optOutCount = 0;
  const optOutField = (): { opt_outs?: number } & Record<string, number> =>
    file.hasOptOuts ? { opt_outs: optOutCount } : {};
  const dryRunRollback = new Error('a dry run');
  const inTransaction = (work: (trx: Db) => Promise<void>) =>
    deps.bulk.run(organizationId, () => deps.db.transaction().execute(work));
  const users = file.users.toSorted((a, b) => (a.username < b.username ? -1 : 1));
  try {
    await inTransaction(async trx => {
      await prepareForGrowth(trx);
      for (let i = 0; i < users.length; i += rowsPerStatement) {
        deps.requireAdmitted?.();
        const part = await importMembers(trx, organizationId, list.id, users.slice(i, i + rowsPerStatement));
        for (const field of Object.keys(part) as (keyof ImportCounts)[]) total[field] += part[field];
      }
      await deps.usage.admitUsers(trx, organizationId, total.created_users, currentTime());
      // In the same transaction as the memberships, so that a user who opted out is never notified in between.
      const optOuts = users.flatMap(({ username, opt_out = [] }) =>
        opt_out.map(name => ({ username, scope: optOutScope(name) })),
      );
      for (let i = 0; i < optOuts.length; i += rowsPerStatement) {
        optOutCount += await addOptOuts(trx, organizationId, optOuts.slice(i, i + rowsPerStatement), deps.actor.name);
      }
      if (dryRun) throw dryRunRollback;
      const after = { rows: file.rows, ...total, ...optOutField(), skipped: file.errorsTotal };
      const path = `${project.slug}/${list.name}`;
      await record(deps, trx, organizationId, { action: 'import', noun: 'list', path, after });
    });
  } catch (error) {
    if (error !== dryRunRollback) throw error;
  }
  return { rows: file.rows, ...total, ...optOutField(), errors: file.errors, errors_total: file.errorsTotal };
}

/** Reports rows that opt out of an unknown category, and removes them from the import. */
async function checkOptOuts({ db }: Deps, organizationId: number, file: ParsedFile): Promise<void> {
  if (!file.users.some(({ opt_out }) => opt_out)) return;
  const slugs = new Set([
    'all',
    generalSlug,
    ...(await listRows(db, organizationId, 'category')).map(({ slug }) => slug),
  ]);
  file.users = file.users.filter(user => {
    const unknown = user.opt_out?.find(name => !slugs.has(name));
    if (unknown === undefined) return true;
    const message = `there is no category ${JSON.stringify(unknown)}: use one of ${[...slugs].join(', ')}`;
    file.errorsTotal++;
    if (file.errors.length < maxErrors) file.errors.push({ row: file.rowOf(user), field: 'opt_out', message });
    return false;
  });
}

function optOutScope(name: string): string {
  return name === 'all' ? everything : categoryScope(name);
}

/** Returns the error for a file with these mistakes, which name their rows. */
export function rejection({ errors, errorsTotal }: Pick<ParsedFile, 'errors' | 'errorsTotal'>): AppError {
  const fields: FieldErrors = {};
  for (const { row, field, message } of errors) {
    const name = `row ${row}/${field}`;
    fields[name] = [...(fields[name] ?? []), message];
  }
  const [first] = errors;
  const more = errorsTotal > 1 ? ` (and ${errorsTotal - 1} more errors)` : '';
  const detail = `row ${first!.row}, ${first!.field}: ${first!.message}${more}; nothing was imported`;
  return new AppError('request.invalid', detail, { fields });
}

async function parseFile(text: string): Promise<ParsedFile> {
  const seen = new Map<string, { row: number; serialized: string }>();
  const rowOf = ({ username }: ListRow) => seen.get(username)!.row;
  const file: ParsedFile = { rows: 0, users: [], errors: [], errorsTotal: 0, hasOptOuts: false, rowOf };
  const addErrors = (...mistakes: Mistake[]) => {
    file.errorsTotal += mistakes.length;
    file.errors.push(...mistakes.slice(0, Math.max(0, maxErrors - file.errors.length)));
  };
  let columns: Column[] | undefined;
  let row = 0;
  for await (const cells of parseRecords(text)) {
    row++;
    if (!columns) {
      const header = readHeader(cells);
      if ('mistakes' in header)
        throw rejection({ ...file, errors: header.mistakes, errorsTotal: header.mistakes.length });
      columns = header.columns;
      file.hasOptOuts = columns.some(({ kind }) => kind === 'opt_out');
      continue;
    }
    if (++file.rows > maxRows) {
      const message = `has more than ${maxRows} rows: split it`;
      throw rejection({ ...file, errors: [{ row, field: 'file', message }], errorsTotal: 1 });
    }
    const read = readRow(cells, columns, row);
    if ('mistakes' in read) {
      addErrors(...read.mistakes);
      continue;
    }
    const serialized = JSON.stringify(read.value);
    const before = seen.get(read.value.username);
    if (!before) {
      seen.set(read.value.username, { row, serialized: serialized });
      file.users.push(read.value);
    } else if (before.serialized !== serialized) {
      addErrors({ row, field: 'email', message: `is already in row ${before.row}, with different values` });
    }
  }
  if (!columns) {
    const message = 'is required: the first row must name the columns';
    throw rejection({ ...file, errors: [{ row: 1, field: 'email', message }], errorsTotal: 1 });
  }
  return file;
}

/** Parses a chunk at a time, so that other requests are served in between. */
export async function* parseRecords(text: string): AsyncGenerator<string[]> {
  const options = {
    delimiter: findDelimiter(text),
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    // Each batch waits for its turn among other requests: fewer and larger batches than the default of 16 rows.
    readableHighWaterMark: 1_000,
  };
  const parser = parse(options);
  let sinceRow = 0;
  (async () => {
    for (let i = 0; i < text.length; i += chunkSize) {
      sinceRow += chunkSize;
      // A missing closing quotation mark, or a million empty cells, would otherwise become one huge row.
      if (sinceRow > maxRowLength) throw new AppError('request.malformed', rowTooLong);
      if (!parser.write(text.slice(i, i + chunkSize))) await new Promise(resolve => parser.once('drain', resolve));
      // Yields even when the parser never asks to wait, as the whole file would otherwise be parsed in one go.
      if (i % yieldAfter === 0) await new Promise(setImmediate);
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
    throw new AppError('request.malformed', `the file is not valid CSV: ${describeCsvError(error)}`);
  }
}

function describeCsvError({ code, message, lines, records, column }: CsvError): string {
  const problems: Record<string, string> = {
    INVALID_OPENING_QUOTE: 'the cell contains a quotation mark',
    CSV_INVALID_CLOSING_QUOTE: 'there is text after the closing quotation mark of the cell',
    CSV_QUOTE_NOT_CLOSED: 'a quotation mark is never closed',
  };
  const problem = problems[code];
  if (!problem) return message;
  const advice = 'enclose the whole cell in quotation marks, and double those inside it';
  // A cell that is never closed ends with the file: its row is the one after the last complete one.
  const position = code === 'CSV_QUOTE_NOT_CLOSED' ? `row ${Number(records) + 1}` : `line ${lines}`;
  return `${position}, column ${Number(column) + 1}: ${problem}: ${advice}`;
}

/** Yields the CSV file a page of members at a time, so memory stays constant for any length. */
export async function* exportList({ db, bulk }: Deps, organizationId: number, listId: number): AsyncGenerator<string> {
  // Without the byte order mark, spreadsheets assume a local encoding. Finding the remaining columns reads every
  // member, which takes seconds for a long list, so the download starts before that.
  yield `\ufeff${['email', 'first_name', 'last_name', 'locale', 'active', 'opt_out'].join()}`;
  const { addresses, custom } = await bulk.run(organizationId, () => listExportColumns(db, organizationId, listId));
  const more = [...addresses.map(name => `address.${name}`), ...custom.map(key => `custom.${key}`)];
  yield more.length === 0 ? '\r\n' : `,${toCsv([more])}`;
  let after = 0;
  for (;;) {
    const page = { after, limit: 1_000 };
    const members = await bulk.run(organizationId, () => listMembersToExport(db, organizationId, listId, page));
    if (members.length === 0) return;
    after = members.at(-1)!.id;
    yield toCsv(
      members.map(member => [
        member.email,
        member.first_name,
        member.last_name,
        member.locale ?? '',
        String(member.active),
        member.opt_out.join(' '),
        ...addresses.map(name => member.addresses.find(address => address.name === name)?.value ?? ''),
        ...custom.map(key =>
          Object.hasOwn(member.custom_fields, key) ? formatValue(lookUp(member.custom_fields, key) as Json) : '',
        ),
      ]),
    );
  }
}

export function toCsv(rows: string[][]): string {
  const lines = rows.map(row => row.map(escapeFormula));
  return lines.length === 0 ? '' : `${Papa.unparse(lines)}\r\n`;
}
