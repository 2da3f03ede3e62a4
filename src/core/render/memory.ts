/**
 * Remembers what was made of the last few skeletons. All recipients of a message share its skeleton as long as its
 * conditions and loops go the same way for them, so Markdown is parsed once, not once for each of them.
 */
const most = 16;
/** Characters of all skeletons together. */
const mostCharacters = 131_072;

export interface Memory<T> {
  (skeleton: string): T;
  /** What is known already. */
  find(skeleton: string): T | undefined;
  /** What has been made of it elsewhere. */
  keep(skeleton: string, made: T): void;
}

export function remember<T>(make: (skeleton: string) => T): Memory<T> {
  const known = new Map<string, T>();
  let characters = 0;
  // Mostly it is the one before: to compare it takes 5 µs where to look it up takes 25.
  let last: { skeleton: string; made: T } | undefined;
  const find = (skeleton: string) => {
    if (skeleton === last?.skeleton) return last.made;
    const made = known.get(skeleton);
    if (made !== undefined) last = { skeleton, made };
    return made;
  };
  const keep = (skeleton: string, made: T) => {
    if (skeleton.length > mostCharacters || known.has(skeleton)) return;
    known.set(skeleton, made);
    characters += skeleton.length;
    for (const oldest of known.keys()) {
      if (known.size <= most && characters <= mostCharacters) break;
      known.delete(oldest);
      characters -= oldest.length;
    }
  };
  const recall = (skeleton: string) => {
    const found = find(skeleton);
    if (found !== undefined) return found;
    const made = make(skeleton);
    keep(skeleton, made);
    return made;
  };
  return Object.assign(recall, { find, keep });
}
