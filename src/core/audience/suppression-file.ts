/** The CSV format of the suppression list. An exported file can be imported again. */
import { media } from '../configuration/nouns/schemas.ts';
import { hasLongMarkRun, toNfc } from '../json.ts';
import { fold } from '../text/text.ts';
import { type Mistake, unescapeFormula } from './list-file.ts';
import { readTarget, type SuppressionReason, suppressionLimits, suppressionReasons } from './suppressions.ts';

export interface SuppressionFileRow {
  channel_type: string;
  target: string;
  reason: SuppressionReason;
  detail: string | null;
  expires_at: Date | null;
  /** Ids of the projects whose channels it stops; null: all channels. */
  projects: number[] | null;
}

/** `source` and `since` are ignored when a file is imported. */
export const suppressionColumns = [
  'target',
  'channel_type',
  'reason',
  'detail',
  'expires_at',
  'source',
  'since',
  'projects',
] as const;
export type SuppressionColumn = (typeof suppressionColumns)[number];

/** Returns the columns, or the mistakes in the header. */
export function readSuppressionHeader(cells: string[]): { columns: SuppressionColumn[] } | { mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const complain = (field: string, message: string) => void mistakes.push({ row: 1, field, message });
  const columns: SuppressionColumn[] = [];
  for (const cell of cells.slice(0, suppressionColumns.length + 1)) {
    const name = fold(cell.trim());
    const column = suppressionColumns.find(one => one === name);
    if (!column)
      complain(name.slice(0, 100) || 'header', `is not a known column (known: ${suppressionColumns.join(', ')})`);
    else if (columns.includes(column)) complain(column, 'is duplicated');
    else columns.push(column);
  }
  if (!columns.includes('target')) complain('target', 'is required: the first row must name the columns');
  return mistakes.length > 0 ? { mistakes } : { columns };
}

/**
 * Reads a row. Without a channel type it is an email address or domain; without a reason it was added by hand; without projects it
 * stops all channels. `projectIds` are those of the organization, by slug.
 */
export function readSuppressionRow(
  cells: string[],
  columns: SuppressionColumn[],
  row: number,
  { now, projectIds }: { now: number; projectIds: ReadonlyMap<string, number> },
): { value: SuppressionFileRow } | { mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const complain = (field: string, message: string) => void mistakes.push({ row, field, message });
  if (cells.length > columns.length) {
    complain('row', `has ${cells.length} cells, and the header ${columns.length}`);
    return { mistakes };
  }
  const texts: Partial<Record<SuppressionColumn, string>> = {};
  for (const [i, column] of columns.entries()) {
    const cell = toNfc(unescapeFormula((cells[i] ?? '').trim()));
    if (cell.includes('\0') || !cell.isWellFormed() || hasLongMarkRun(cell))
      complain(column, 'contains characters that cannot be stored');
    texts[column] = cell;
  }
  if (mistakes.length > 0) return { mistakes };
  const channel_type = texts.channel_type || 'email';
  const reason = suppressionReasons.find(one => one === (texts.reason || 'manual'));
  const detail = texts.detail || null;
  const expires_at = texts.expires_at ? readExpiry(texts.expires_at) : null;
  const target = texts.target ? readTarget(channel_type, texts.target) : { mistake: 'is required' };
  if (!(media as readonly string[]).includes(channel_type))
    complain('channel_type', `is not a channel type (use one of ${media.join(', ')})`);
  else if ('mistake' in target) complain('target', target.mistake);
  if (!reason) complain('reason', `must be one of ${suppressionReasons.join(', ')}`);
  if (detail && detail.length > suppressionLimits.detail)
    complain('detail', `is longer than ${suppressionLimits.detail} characters`);
  if (expires_at === undefined) complain('expires_at', 'must be a time such as 2030-01-31T09:00:00Z');
  else if (expires_at && expires_at.getTime() <= now) complain('expires_at', 'must be in the future');
  const slugs = texts.projects ? [...new Set(texts.projects.split(' ').filter(Boolean))] : [];
  const unknown = slugs.find(slug => !projectIds.has(slug));
  if (unknown !== undefined)
    complain('projects', `there is no project ${unknown.slice(0, 100)}: separate slugs by spaces, or leave it empty`);
  if (mistakes.length > 0) return { mistakes };
  const projects = slugs.length > 0 ? slugs.map(slug => projectIds.get(slug)!).sort((a, b) => a - b) : null;
  const { value } = target as { value: string };
  return { value: { channel_type, target: value, reason: reason!, detail, expires_at: expires_at!, projects } };
}

/** Returns undefined for text that is not a date, or a time with its offset from UTC. */
function readExpiry(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i.test(text)) return undefined;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? undefined : at;
}
