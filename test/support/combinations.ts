/** Yields every choice of one to `max` of these names, each with every one of the counts. */
export function* combinations<Name extends string>(
  names: readonly Name[],
  max: number,
  counts: readonly number[],
): Generator<Partial<Record<Name, number>>> {
  for (const [i, name] of names.entries()) {
    for (const count of counts) {
      const first = { [name]: count } as Partial<Record<Name, number>>;
      yield first;
      if (max > 1) for (const more of combinations(names.slice(i + 1), max - 1, counts)) yield { ...first, ...more };
    }
  }
}
