/**
 * Formats PostgreSQL arrays of values that need no quoting: numbers, UUIDs, booleans, identifiers such as statuses. The
 * driver quotes and escapes each element, which took a twelfth of the engine's time.
 */
export function plainArray(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map(value => value ?? 'NULL').join()}}`;
}
