/**
 * The CSV format of distribution lists: how rows are read and how cells are written. An exported file can always be
 * imported again.
 */
import { cleanJson, hasLongMarkRun, type Json, type JsonObject, toNfc } from '../json.ts';
import { addressKind, fold, isEmail, limits, normalizeLocale, readAddress, slugPattern } from '../text/text.ts';

export interface ListRow {
  username: string;
  email: string;
  first_name?: string;
  last_name?: string;
  locale?: string;
  active?: boolean;
  /** Slugs of the categories the member has opted out of; `all` for everything. */
  opt_out?: string[];
  custom_fields?: JsonObject;
  addresses: { name: string; value: string }[];
}

export interface Mistake {
  /** Numbered as in spreadsheets: the header is row 1. */
  row: number;
  field: string;
  message: string;
}

export type Column =
  | { kind: 'email' | 'first_name' | 'last_name' | 'locale' | 'active' | 'opt_out'; field: string }
  | { kind: 'address' | 'custom'; name: string; field: string };

const plainColumns = ['email', 'first_name', 'last_name', 'locale', 'active', 'opt_out'] as const;
const maxColumns = 200;

/** Returns the columns, or the mistakes in the header. */
export function readHeader(cells: string[]): { columns: Column[] } | { mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const complain = (field: string, message: string) => void mistakes.push({ row: 1, field, message });
  if (cells.length > maxColumns) {
    complain('header', `has ${cells.length} columns, and the maximum is ${maxColumns}`);
    return { mistakes };
  }
  const columns = cells.map((cell): Column | undefined => {
    const field = unescapeFormula(cell.trim());
    const plain = plainColumns.find(name => name === fold(field));
    if (plain) return { kind: plain, field: plain };
    const [, kind, name] = /^(address|custom)\.(.+)$/is.exec(field) ?? [];
    const isOneLine = !/[\r\n]/.test(field);
    if (kind && name && isOneLine && name.length <= limits.name)
      return { kind: fold(kind) as 'address' | 'custom', name, field };
    if (addressKind(field) === 'sms' && isOneLine && field.length <= limits.name)
      return { kind: 'address', name: field, field };
    const all = `${plainColumns.join(', ')}, phone, sms…, address.<name>, custom.<key>`;
    complain(field.slice(0, limits.name) || 'header', `is not a known column (known: ${all})`);
    return undefined;
  });
  const fields = columns.flatMap(column => column?.field ?? []);
  for (const field of new Set(fields.filter((one, i) => fields.indexOf(one) !== i))) complain(field, 'is duplicated');
  if (!fields.includes('email')) complain('email', 'is required: the first row must name the columns');
  return mistakes.length > 0 ? { mistakes } : { columns: columns as Column[] };
}

/** Reads a row. An empty cell leaves the stored value unchanged. */
export function readRow(cells: string[], columns: Column[], row: number): { value: ListRow } | { mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const value: ListRow = { username: '', email: '', addresses: [] };
  if (cells.length > columns.length) {
    return {
      mistakes: [{ row, field: 'row', message: `has ${cells.length} cells, and the header ${columns.length}` }],
    };
  }
  for (const [i, column] of columns.entries()) {
    const cell = toNfc(unescapeFormula((cells[i] ?? '').trim()));
    if (cell === '' && column.kind !== 'email') continue;
    const message = setCell(value, column, cell);
    if (message) mistakes.push({ row, field: column.field, message });
  }
  return mistakes.length > 0 ? { mistakes } : { value };
}

const isSlug = new RegExp(slugPattern);
const plainProperty = { enumerable: true, writable: true, configurable: true };

/** Sets the cell's value in the row; returns the mistake in it, if any. */
function setCell(value: ListRow, column: Column, cell: string): string | undefined {
  if (cell.includes('\0') || !cell.isWellFormed() || hasLongMarkRun(cell))
    return 'contains characters that cannot be stored';
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
      // A file never opts a user in: `false` leaves the stored choices unchanged.
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
      if (names.some(name => !isSlug.test(name))) return 'must be all, or category slugs separated by spaces';
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
      if (Object.keys(errors).length > 0) return 'cannot be stored';
      value.custom_fields ??= {};
      // Defines an own property even for names such as __proto__, without copying the object for each column.
      Object.defineProperty(value.custom_fields, column.name, { value: read, ...plainProperty });
      return undefined;
    }
  }
}

/** Returns the parsed value where the cell is valid JSON, otherwise the text itself. */
function readValue(cell: string): Json {
  try {
    const value = JSON.parse(cell) as Json;
    // 1.0, 1e3 and numbers without an exact representation stay text.
    return typeof value === 'number' && String(value) !== cell ? cell : value;
  } catch {
    return cell;
  }
}

/** Formats a value so that it is read back as the same type: text that looks like JSON is quoted. */
export function formatValue(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return readValue(value) === value && value.trim() === value ? value : JSON.stringify(value);
}

/**
 * Spreadsheets evaluate cells that begin like a formula. A leading apostrophe turns such a cell into text; it is removed
 * when the file is imported.
 */
export function escapeFormula(cell: string): string {
  return /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

export function unescapeFormula(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Returns the most frequent of comma, semicolon and tab in the header. */
export function findDelimiter(text: string): string {
  const header = text
    .slice(0, 10_000)
    .replaceAll(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1)[0]!;
  const count = (delimiter: string) => header.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best));
}
