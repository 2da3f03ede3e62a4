/**
 * Returns what a record has under a name that comes from outside: from a request, a file or a service. Names such as
 * `constructor`, which every object inherits, are not found.
 */
export function lookUp<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
