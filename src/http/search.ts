/** Searching for people: the parameter, and where a page of what is found ends. */
import { Type } from 'typebox';
import { type Beginnings, searchOrder } from '../core/search.ts';
import { limits } from '../core/text.ts';
import type { SearchPlace } from '../services/users.ts';
import { badCursor } from './route.ts';

export const Search = Type.Object({
  search: Type.Optional(
    Type.String({
      maxLength: limits.name,
      description:
        'What the first name, the last name or the email begins with: `ann` finds Ann, Annette and ann@…; `ann smi` and ' +
        '`smi ann` find Ann Smith.',
    }),
  ),
});

export function placeText({ way, id, keys }: SearchPlace): string {
  return JSON.stringify([way, id, ...keys]);
}

/** Undefined for the beginning. */
export function parsePlace(text: string, ways: Beginnings[]): SearchPlace | undefined {
  if (text === '') return undefined;
  try {
    const [way, id, ...keys] = JSON.parse(text) as [number, number, ...string[]];
    const fits = Number.isSafeInteger(way) && Number.isSafeInteger(id) && ways[way] !== undefined;
    if (fits && keys.length === searchOrder(ways[way]!).length && keys.every(isStorable)) return { way, id, keys };
  } catch {}
  throw badCursor();
}

/** Undefined for the beginning. */
export function parseNamePlace(text: string): { id: number; key: string } | undefined {
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
