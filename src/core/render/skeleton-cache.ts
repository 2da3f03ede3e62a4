/**
 * Caches what was made of the last few skeletons. Recipients of a message share its skeleton as long as its conditions
 * and loops take the same branches for them, so Markdown is parsed once, not once per recipient.
 */
const maxEntries = 16;
/** Total characters of all cached skeletons. */
const maxCharacters = 131_072;

export interface SkeletonCache<T> {
  (skeleton: string): T;
  /** Returns the cached result, if there is one. */
  get(skeleton: string): T | undefined;
  /** Stores a result that was made elsewhere. */
  set(skeleton: string, made: T): void;
}

export function cacheBySkeleton<T>(make: (skeleton: string) => T): SkeletonCache<T> {
  const entries = new Map<string, T>();
  let characters = 0;
  // Mostly it is the same one as last time: comparing takes 5 µs, a lookup 25.
  let last: { skeleton: string; made: T } | undefined;
  const get = (skeleton: string) => {
    if (skeleton === last?.skeleton) return last.made;
    const made = entries.get(skeleton);
    if (made !== undefined) last = { skeleton, made };
    return made;
  };
  const set = (skeleton: string, made: T) => {
    if (skeleton.length > maxCharacters || entries.has(skeleton)) return;
    entries.set(skeleton, made);
    characters += skeleton.length;
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries && characters <= maxCharacters) break;
      entries.delete(oldest);
      characters -= oldest.length;
    }
  };
  const getOrMake = (skeleton: string) => {
    const found = get(skeleton);
    if (found !== undefined) return found;
    const made = make(skeleton);
    set(skeleton, made);
    return made;
  };
  return Object.assign(getOrMake, { get: get, set: set });
}
