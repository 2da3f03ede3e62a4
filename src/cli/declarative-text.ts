/** A plan as a person reads it. */
import type { Change } from '../services/declarative.ts';
import { printable } from './format.ts';

const signs = { create: '+', update: '~', delete: '-' } as const;
const colours = { create: 32, update: 33, delete: 31 } as const;
const longestValue = 200;
/** What a deletion takes along. */
const containers = new Set(['project', 'application', 'event', 'list', 'user']);

export interface TextOptions {
  /** Whether it has been done, or would be. */
  done: boolean;
  coloured: boolean;
}

export function describeChanges(changes: readonly Change[], { done, coloured }: TextOptions): string {
  if (changes.length === 0) return 'No changes.';
  const paint = (change: Change, text: string) =>
    coloured ? `\u001b[${colours[change.action]}m${text}\u001b[39m` : text;
  const lines = changes.flatMap(change => {
    const { action, noun, path, fields } = change;
    const along = action === 'delete' && containers.has(noun) ? ' and everything in it' : '';
    const head = paint(change, `${signs[action]} ${noun} ${printable(path)}${along}`);
    return [head, ...fields.map(({ field, from, to }) => `    ${printable(field)}: ${show(from)} → ${show(to)}`)];
  });
  const count = (action: Change['action']) => changes.filter(change => change.action === action).length;
  const [created, changed, deleted] = [count('create'), count('update'), count('delete')];
  const summary = done
    ? `Applied: ${created} created, ${changed} changed, ${deleted} deleted.`
    : `Plan: ${created} to create, ${changed} to change, ${deleted} to delete.`;
  return [...lines, '', summary].join('\n');
}

function show(value: unknown): string {
  if (value === null) return '(none)';
  if (value === '(secret)') return value;
  const text = printable(JSON.stringify(value));
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}
