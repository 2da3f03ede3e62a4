/** Names of another system as slugs, names and time zones here. */
import { isTimezone } from '../decision/quiet-hours.ts';
import { limits } from '../text/text.ts';

export function slugOf(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, limits.slug - 4)
    .replaceAll(/^-+|-+$/g, '');
}

/** Returns a function that makes each text unique among those that it has returned, in the order of the calls. */
export function makeUnique(separator: string): (text: string) => string {
  const taken = new Set<string>();
  return text => {
    let found = text;
    for (let n = 2; taken.has(found.toLowerCase()); n++) found = `${text}${separator}${n}`;
    taken.add(found.toLowerCase());
    return found;
  };
}

/** Returns a function that turns each name into another slug; `fallback` is for names without any letter or digit. */
export function makeSlugs(fallback: string): (name: string) => string {
  const unique = makeUnique('-');
  return name => unique(slugOf(name) || fallback);
}

/** Returns a single line that is short enough for a name, and no reference to an environment variable. */
export function nameOf(text: string, fallback: string): string {
  const line = text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll('${', '$ {')
    .trim();
  return (line || fallback).slice(0, limits.name - 4).toWellFormed();
}

/** Returns the IANA name of a time zone; undefined if it is not known. */
export function readTimezone(name: string | null | undefined): string | undefined {
  if (!name) return undefined;
  return /^etc\/utc$/i.test(name) ? 'UTC' : isTimezone(name) ? name : undefined;
}
