/** What somebody types to find a person: "ann" is Ann Smith, Smith Annette and ann@x; "ann smi" and "smi ann" the first. */
import { fold } from './text.ts';

/** What each of these must begin with; absent: anything. */
export interface Beginnings {
  first?: string;
  last?: string;
  email?: string;
}

const mostWords = 4;

/** The ways to be found, the likeliest first; none when nothing is asked. */
export function readSearch(text: string): Beginnings[] {
  const words = fold(text)
    .split(/\s+/)
    .filter(word => word !== '');
  const [only, ...others] = words;
  if (only === undefined) return [];
  if (others.length === 0) return [{ first: only }, { last: only }, { email: only }];
  const whole = words.join(' ');
  const splits = words
    .slice(1, mostWords)
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

/** What those who are found this way are ordered by, as the indexes are. */
export function searchOrder({ first, last, email }: Beginnings): (keyof Beginnings)[] {
  if (email !== undefined) return ['email'];
  // The longer beginning is that of fewer people.
  const byLast = first === undefined || (last !== undefined && last.length > first.length);
  return byLast ? ['last', 'first'] : ['first', 'last'];
}

/** A name as it is searched for. */
export function searchKey(name: string): string {
  return fold(name.trim());
}
