/** The search parameter for users and members, and the cursors of search results. */
import { Type } from 'typebox';
import { type SearchPrefixes, searchOrder } from '../../core/audience/search.ts';
import { optionalString } from '../../core/optional.ts';
import { limits } from '../../core/text/text.ts';
import type { SearchPosition } from '../../services/audience/users.ts';
import { badCursor } from '../server/route.ts';

export const Search = Type.Object({
  search: optionalString({
    maxLength: limits.name,
    description:
      'Prefix of the first name, last name or email: `ann` finds Ann, Annette and ann@…; `ann smi` and `smi ann` find Ann ' +
      'Smith.',
  }),
});

export function formatSearchCursor({ pattern, id, keys }: SearchPosition): string {
  return JSON.stringify([pattern, id, ...keys]);
}

/** Parses a search cursor; undefined for the first page. */
export function parseSearchCursor(text: string, patterns: SearchPrefixes[]): SearchPosition | undefined {
  if (text === '') return undefined;
  try {
    const [pattern, id, ...keys] = JSON.parse(text) as [number, number, ...string[]];
    const isValid = Number.isSafeInteger(pattern) && Number.isSafeInteger(id) && patterns[pattern] !== undefined;
    if (isValid && keys.length === searchOrder(patterns[pattern]!).length && keys.every(isStorable))
      return { pattern, id, keys };
  } catch {}
  throw badCursor();
}

/** Parses a cursor of users by name; undefined for the first page. */
export function parseNameCursor(text: string): { id: number; key: string } | undefined {
  if (text === '') return undefined;
  try {
    const [id, key] = JSON.parse(text) as [number, string];
    if (Number.isSafeInteger(id) && isStorable(key)) return { id, key };
  } catch {}
  throw badCursor();
}

function isStorable(text: unknown): boolean {
  return typeof text === 'string' && text.isWellFormed() && !text.includes('\0');
}
