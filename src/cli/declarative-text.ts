/** Formats changes as text. */
import type { Change } from '../services/configuration/declarative/declarative.ts';
import { formatCount, printable } from './format.ts';

const signs = { create: '+', update: '~', delete: '-' } as const;
const colors = { create: 32, update: 33, delete: 31 } as const;
const maxValueLength = 200;
/** More objects of one kind are counted: 10,000 users are no text to read. Deletions are always listed. */
const maxListed = 20;
/** Nouns whose deletion also deletes what they contain. */
const containers = new Set(['project', 'application', 'event', 'list', 'user']);

interface TextOptions {
  /** Whether the changes have been applied, or are only planned. */
  isApplied: boolean;
  isColored: boolean;
}

export function describeChanges(changes: readonly Change[], { isApplied, isColored }: TextOptions): string {
  if (changes.length === 0) return 'No changes.';
  const paint = (change: Change, text: string) =>
    isColored ? `\u001b[${colors[change.action]}m${text}\u001b[39m` : text;
  const listed = new Map<string, number>();
  const lines = changes.flatMap(change => {
    const { action, noun, path, fields } = change;
    const kind = `${signs[action]} ${noun}`;
    const position = (listed.get(kind) ?? 0) + 1;
    listed.set(kind, position);
    if (position > maxListed && action !== 'delete') return [];
    const suffix = action === 'delete' && containers.has(noun) ? ' and everything in it' : '';
    const head = paint(change, `${kind} ${printable(path)}${suffix}`);
    return [head, ...fields.map(({ field, from, to }) => `    ${printable(field)}: ${show(from)} → ${show(to)}`)];
  });
  for (const [kind, total] of listed) {
    if (total > maxListed && !kind.startsWith(signs.delete)) {
      lines.push(`${kind}: ${formatCount(total - maxListed)} more; --json lists all`);
    }
  }
  const count = (action: Change['action']) => changes.filter(change => change.action === action).length;
  const [created, changed, deleted] = [count('create'), count('update'), count('delete')];
  const summary = isApplied
    ? `Applied: ${created} created, ${changed} changed, ${deleted} deleted.`
    : `Plan: ${created} to create, ${changed} to change, ${deleted} to delete.`;
  return [...lines, '', summary].join('\n');
}

function show(value: unknown): string {
  if (value === null) return '(none)';
  if (value === '(secret)') return value;
  const text = printable(JSON.stringify(value));
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
}
