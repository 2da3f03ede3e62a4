/**
 * PostgreSQL arrays of values that need no quoting: numbers, UUIDs, booleans, words such as statuses. The driver's own way
 * quotes and escapes each element, and took a twelfth of the engine's time.
 */
export function plainArray(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map(value => value ?? 'NULL').join()}}`;
}
