/**
 * Remembers what was made of the last few skeletons. All recipients of a message share its skeleton as long as its
 * conditions and loops go the same way for them, so Markdown is parsed once, not once for each of them.
 */
const most = 16;
/** Characters: what is longer is not worth keeping. */
const longest = 32_768;

export function remember<T>(make: (skeleton: string) => T): (skeleton: string) => T {
  const known = new Map<string, T>();
  return skeleton => {
    const found = known.get(skeleton);
    if (found !== undefined) return found;
    const made = make(skeleton);
    if (skeleton.length <= longest) {
      if (known.size >= most) known.delete(known.keys().next().value!);
      known.set(skeleton, made);
    }
    return made;
  };
}
