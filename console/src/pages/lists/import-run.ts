/**
 * Imports a file of any size in chunks. Each chunk is its own request, so progress can be shown and no request exceeds
 * the API's limits.
 */
import Papa from 'papaparse';
import { api } from '../../api.ts';
import type { ListImported } from '../../api-types.ts';
import { texts } from '../../texts/lists.ts';
import { notImported, type Target } from './import-fields.ts';
import { checkQuotes } from './import-quotes.ts';

/** Chunk size: a few thousand rows. */
const chunkBytes = 512 * 1024;
const previewRows = 20;
/** Rows with errors are kept for download, up to this many to bound memory. */
const maxKeptErrors = 100_000;

export interface ListPath {
  org: string;
  prj: string;
  pk: number;
}

export interface Mapping {
  targets: Target[];
  /** Whether the first row contains column names. */
  hasHeader: boolean;
}

export interface RowError {
  /** Line number in the file, starting at 1. */
  line: number;
  field: string | null;
  message: string;
  cells: string[];
}

export interface Progress extends Omit<ListImported, 'errors' | 'errors_total' | 'opt_outs'> {
  opt_outs: number;
  /** Progress from 0 to 1. */
  share: number;
  errors: RowError[];
  /** Number of errors beyond those in `errors`. */
  moreErrors: number;
  done: boolean;
}

const initialProgress: Progress = {
  share: 0,
  rows: 0,
  added: 0,
  existing: 0,
  created_users: 0,
  updated_users: 0,
  opt_outs: 0,
  errors: [],
  moreErrors: 0,
  done: false,
};

export function preview(file: File): Promise<{ rows: string[][]; delimiter: string }> {
  return new Promise((resolve, reject) => {
    Papa.parse<string[]>(file, {
      preview: previewRows,
      skipEmptyLines: 'greedy',
      complete: ({ data, meta }) => resolve({ rows: data, delimiter: meta.delimiter }),
      error: reject,
    });
  });
}

interface Run {
  file: File;
  path: ListPath;
  mapping: Mapping;
  delimiter: string;
  dryRun: boolean;
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
}

export async function runImport({
  file,
  path,
  mapping,
  delimiter,
  dryRun,
  signal,
  onProgress,
}: Run): Promise<Progress> {
  await checkQuotes(file, delimiter, chunkBytes);
  let progress = initialProgress;
  let line = 0;
  return new Promise((resolve, reject) => {
    Papa.parse<string[]>(file, {
      delimiter,
      skipEmptyLines: 'greedy',
      chunkSize: chunkBytes,
      chunk: ({ data, meta }, parser) => {
        const first = line + 1;
        line += data.length;
        const skipped = first === 1 && mapping.hasHeader ? 1 : 0;
        const rows = data.slice(skipped);
        parser.pause();
        send(path, mapping, rows, dryRun, signal).then(
          result => {
            progress = add(progress, result, rows, first + skipped, Math.min(1, meta.cursor / file.size));
            onProgress(progress);
            parser.resume();
          },
          error => {
            parser.abort();
            reject(error);
          },
        );
      },
      complete: () => {
        const done = { ...progress, share: 1, done: true };
        onProgress(done);
        resolve(done);
      },
      error: reject,
    });
  });
}

async function send(
  path: ListPath,
  { targets }: Mapping,
  rows: string[][],
  dryRun: boolean,
  signal: AbortSignal,
): Promise<ListImported | undefined> {
  signal.throwIfAborted();
  if (rows.length === 0) return undefined;
  const columns = targets.flatMap((target, i) => (target === notImported ? [] : [i]));
  const table = [columns.map(i => targets[i]!), ...rows.map(row => columns.map(i => (row[i] ?? '').trim()))];
  const { data } = await api.POST('/api/o/{org}/p/{prj}/d/{pk}/import/', {
    params: {
      path,
      query: { on_error: 'skip', ...(dryRun && { dry_run: true }) },
    },
    body: Papa.unparse(table, { newline: '\n' }),
    bodySerializer: text => text as string,
    headers: { 'content-type': 'text/csv' },
    signal,
  });
  return data as ListImported;
}

function add(
  before: Progress,
  result: ListImported | undefined,
  rows: string[][],
  firstLine: number,
  share: number,
): Progress {
  if (!result) return { ...before, share };
  // Row 1 of each chunk is its own header.
  const lineOf = (row: number) => firstLine + row - 2;
  const errors = result.errors.map(({ row, field, message }) => ({
    line: lineOf(row),
    field,
    message: message.replace(/\bin row (\d+)/, (_, other) => texts.inRow(lineOf(Number(other)))),
    cells: rows[row - 2] ?? [],
  }));
  const keptErrors = errors.slice(0, Math.max(0, maxKeptErrors - before.errors.length));
  return {
    share,
    rows: before.rows + result.rows,
    added: before.added + result.added,
    existing: before.existing + result.existing,
    created_users: before.created_users + result.created_users,
    updated_users: before.updated_users + result.updated_users,
    opt_outs: before.opt_outs + (result.opt_outs ?? 0),
    errors: [...before.errors, ...keptErrors],
    moreErrors: before.moreErrors + result.errors_total - keptErrors.length,
    done: false,
  };
}

/** Returns the rows with errors and their messages as CSV, to be corrected and imported again. */
export function errorFile(headers: string[], errors: RowError[]): string {
  const byLine = new Map<number, { cells: string[]; messages: string[] }>();
  for (const { line, field, message, cells } of errors) {
    const row = byLine.get(line) ?? { cells, messages: [] };
    row.messages.push(field ? `${field}: ${message}` : message);
    byLine.set(line, row);
  }
  const rows = [...byLine].map(([line, { cells, messages }]) => [
    ...headers.map((_, i) => cells[i] ?? ''),
    String(line),
    messages.join('; '),
  ]);
  return Papa.unparse([[...headers, 'line', 'error'], ...rows]);
}

export function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
