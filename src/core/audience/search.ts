/** User search: "ann" finds Ann Smith, Smith Annette and ann@x; "ann smi" and "smi ann" find Ann Smith. */
import { fold } from '../text/text.ts';

/** The prefixes that a user's fields must have; an absent one matches anything. */
export interface SearchPrefixes {
  first?: string;
  last?: string;
  email?: string;
}

const maxWords = 4;

/** Returns the alternative prefixes to search for, most likely first; empty for an empty text. */
export function parseSearch(text: string): SearchPrefixes[] {
  const words = fold(text)
    .split(/\s+/)
    .filter(word => word !== '');
  const [only, ...others] = words;
  if (only === undefined) return [];
  if (others.length === 0) return [{ first: only }, { last: only }, { email: only }];
  const whole = words.join(' ');
  const splits = words
    .slice(1, maxWords)
    .map((_, i) => [words.slice(0, i + 1).join(' '), words.slice(i + 1).join(' ')]);
  const email = words.find(word => /[@.]/.test(word));
  const name = words.filter(word => word !== email).join(' ');
  return [
    ...splits.map(([first, last]) => ({ first, last })),
    ...splits.map(([last, first]) => ({ first, last })),
    { first: whole },
    { last: whole },
    ...(email && name
      ? [
          { first: name, email },
          { last: name, email },
        ]
      : []),
  ];
}

/** Returns the sort order of the results, which is that of the index used. */
export function searchOrder({ first, last, email }: SearchPrefixes): (keyof SearchPrefixes)[] {
  if (email !== undefined) return ['email'];
  // The longer prefix is the more selective one.
  const byLast = first === undefined || (last !== undefined && last.length > first.length);
  return byLast ? ['last', 'first'] : ['first', 'last'];
}

/** Normalizes a name for searching. */
export function searchKey(name: string): string {
  return fold(name.trim());
}
