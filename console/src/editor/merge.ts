/** Compares a draft with what someone else saved in the meantime. */

export interface ConflictingField {
  /** Such as `name` or `message.subject`. */
  name: string;
  theirs: unknown;
  mine: unknown;
}

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns the draft on top of theirs: the fields that were edited, and theirs for the others. */
export function rebase<Draft extends object>(base: Draft, mine: Draft, theirs: Draft): Draft {
  const edited = Object.entries(mine).filter(([name, value]) => !isSame(value, base[name as keyof Draft]));
  return { ...theirs, ...Object.fromEntries(edited) };
}

/** Lists what `mine`, which is based on `theirs`, would replace; nested objects by their parts. */
export function listReplaced(theirs: object, mine: object): ConflictingField[] {
  return compare('', theirs, mine);
}

/** Lists the names of the fields that only the other person changed. */
export function listKept<Draft extends object>(base: Draft, mine: Draft, theirs: Draft): string[] {
  return Object.keys(theirs).filter(name => {
    const field = name as keyof Draft;
    return isSame(mine[field], base[field]) && !isSame(theirs[field], base[field]);
  });
}

function compare(name: string, theirs: unknown, mine: unknown): ConflictingField[] {
  if (isSame(theirs, mine)) return [];
  if (!isObject(theirs) || !isObject(mine)) return [{ name, theirs, mine }];
  const parts = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
  return parts.flatMap(part => compare(name ? `${name}.${part}` : part, theirs[part], mine[part]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
