/**
 * A distribution list as a file of comma-separated values: what a row means, and how it is written. Whatever is written
 * can be read again.
 */
import { cleanJson, type Json, type JsonObject } from './json.ts';
import { addressKind, fold, isEmail, limits, normalizeLocale, readAddress, slugPattern } from './text.ts';

export interface ListRow {
  username: string;
  email: string;
  first_name?: string;
  last_name?: string;
  locale?: string;
  active?: boolean;
  /** Slugs of the categories that they do not want; `all` for everything. */
  opt_out?: string[];
  custom_fields?: JsonObject;
  addresses: { name: string; value: string }[];
}

export interface Mistake {
  /** As spreadsheets number them: the header is row 1. */
  row: number;
  field: string;
  message: string;
}

export type Column =
  | { kind: 'email' | 'first_name' | 'last_name' | 'locale' | 'active' | 'opt_out'; field: string }
  | { kind: 'address' | 'custom'; name: string; field: string };

const known = ['email', 'first_name', 'last_name', 'locale', 'active', 'opt_out'] as const;
const mostColumns = 200;

/** What each column means, or what is wrong with the header. */
export function readHeader(cells: string[]): { columns: Column[] } | { mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const complain = (field: string, message: string) => void mistakes.push({ row: 1, field, message });
  if (cells.length > mostColumns) {
    complain('header', `has ${cells.length} columns: at most ${mostColumns} are read`);
    return { mistakes };
  }
  const columns = cells.map((cell): Column | undefined => {
    const field = unguard(cell.trim());
    const plain = known.find(name => name === fold(field));
    if (plain) return { kind: plain, field: plain };
    const [, kind, name] = /^(address|custom)\.(.+)$/is.exec(field) ?? [];
    const isOneLine = !/[\r\n]/.test(field);
    if (kind && name && isOneLine && name.length <= limits.name)
      return { kind: fold(kind) as 'address' | 'custom', name, field };
    if (addressKind(field) === 'sms' && isOneLine && field.length <= limits.name)
      return { kind: 'address', name: field, field };
    const all = `${known.join(', ')}, phone, sms…, address.<name>, custom.<key>`;
    complain(field.slice(0, limits.name) || 'header', `is not a known column (known: ${all})`);
    return undefined;
  });
  const fields = columns.flatMap(column => column?.field ?? []);
  for (const field of new Set(fields.filter((one, i) => fields.indexOf(one) !== i))) complain(field, 'is there twice');
  if (!fields.includes('email')) complain('email', 'is required: the first row must name the columns');
  return mistakes.length > 0 ? { mistakes } : { columns: columns as Column[] };
}

/** An empty cell says nothing: what is there stays. */
export function readRow(cells: string[], columns: Column[], row: number): { value: ListRow } | { mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const value: ListRow = { username: '', email: '', addresses: [] };
  if (cells.length > columns.length) {
    return {
      mistakes: [{ row, field: 'row', message: `has ${cells.length} cells, and the header ${columns.length}` }],
    };
  }
  for (const [i, column] of columns.entries()) {
    const cell = unguard((cells[i] ?? '').trim()).normalize('NFC');
    if (cell === '' && column.kind !== 'email') continue;
    const message = take(value, column, cell);
    if (message) mistakes.push({ row, field: column.field, message });
  }
  return mistakes.length > 0 ? { mistakes } : { value };
}

const isSlug = new RegExp(slugPattern);
const plainProperty = { enumerable: true, writable: true, configurable: true };

/** Returns what is wrong with the cell, if anything. */
function take(value: ListRow, column: Column, cell: string): string | undefined {
  if (cell.includes('\0') || !cell.isWellFormed()) return 'holds characters that cannot be kept';
  switch (column.kind) {
    case 'email':
      if (!isEmail(cell)) return cell === '' ? 'is required' : 'is not a valid email address';
      value.email = cell;
      value.username = fold(cell);
      return undefined;
    case 'first_name':
    case 'last_name':
      if (cell.length > limits.name) return `is longer than ${limits.name} characters`;
      value[column.kind] = cell;
      return undefined;
    case 'locale':
      value.locale = normalizeLocale(cell);
      return value.locale === undefined ? 'is not a language tag such as en or pt-BR' : undefined;
    case 'active':
      if (!/^(true|false|yes|no|1|0)$/i.test(cell)) return 'must be true or false';
      value.active = /^(true|yes|1)$/i.test(cell);
      return undefined;
    case 'opt_out': {
      // Nobody is opted in by a file: what says no says nothing.
      if (/^(false|no|0)$/i.test(cell)) return undefined;
      const names = /^(true|yes|1|all)$/i.test(cell)
        ? ['all']
        : [
            ...new Set(
              fold(cell)
                .split(/[\s,;|]+/)
                .filter(Boolean),
            ),
          ];
      if (names.some(name => !isSlug.test(name))) return 'must be all, or slugs of categories with spaces between them';
      value.opt_out = names;
      return undefined;
    }
    case 'address': {
      const read = readAddress(column.name, cell);
      if ('mistake' in read) return read.mistake;
      value.addresses.push({ name: column.name, value: read.value });
      return undefined;
    }
    case 'custom': {
      const errors = {};
      const read = cleanJson(readValue(cell), errors) as Json;
      if (Object.keys(errors).length > 0) return 'cannot be kept';
      value.custom_fields ??= {};
      // As an own property, whatever its name; a copy for each of 200 columns took a second for a thousand rows.
      Object.defineProperty(value.custom_fields, column.name, { value: read, ...plainProperty });
      return undefined;
    }
  }
}

/** A number, true, false, an object… where the cell is written as JSON writes it, else the text itself. */
function readValue(cell: string): Json {
  try {
    const value = JSON.parse(cell) as Json;
    // 1.0, 1e3 and what a number cannot hold exactly stay as they were written.
    return typeof value === 'number' && String(value) !== cell ? cell : value;
  } catch {
    return cell;
  }
}

/** So that it is read again as what it is: a text that looks like JSON is written with quotation marks. */
export function writeValue(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return readValue(value) === value && value.trim() === value ? value : JSON.stringify(value);
}

/**
 * Spreadsheets run what begins like a formula, whoever wrote it. A quotation mark before it makes it text, and is taken
 * away when the file comes back.
 */
export function guard(cell: string): string {
  return /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

function unguard(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Comma, semicolon or tab: whichever the header has most of. */
export function findDelimiter(text: string): string {
  const header = text
    .slice(0, 10_000)
    .replaceAll(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1)[0]!;
  const count = (sign: string) => header.split(sign).length;
  return [',', ';', '\t'].reduce((best, sign) => (count(sign) > count(best) ? sign : best));
}
