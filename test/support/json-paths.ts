/** Access to nested values of a JSON body by their paths. */

export type Step = string | number;

/** Returns the path and value of everything in it, starting with the value itself. */
export function listValues(value: unknown, path: Step[] = []): [Step[], unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const inner: [Step, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [[path, value], ...inner.flatMap(([step, item]) => listValues(item, [...path, step]))];
}

/** Returns a copy with another value at the path. */
export function withValueAt(whole: unknown, [step, ...rest]: Step[], value: unknown): unknown {
  if (step === undefined) return value;
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<Step, unknown>;
  copy[step] = withValueAt(copy[step], rest, value);
  return copy;
}
