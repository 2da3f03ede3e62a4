/** Leaves out what is not read: other fields may contain secrets. */
import type { TSchema } from 'typebox';
import { isObject } from '../json.ts';

/** Returns what a schema knows of a value; null is the same as absent. Values of another type stay, for the schema to report. */
export function pick(schema: TSchema, value: unknown): unknown {
  const { properties, items, anyOf } = schema as TSchema & {
    properties?: Record<string, TSchema>;
    items?: TSchema;
    anyOf?: TSchema[];
  };
  if (anyOf) return pick(anyOf.find(one => 'properties' in one) ?? schema, value);
  if (items && Array.isArray(value)) return value.map(item => pick(items, item));
  if (!properties || !isObject(value)) return value;
  const known = Object.keys(properties).filter(name => Object.hasOwn(value, name) && (value[name] ?? null) !== null);
  return Object.fromEntries(known.map(name => [name, pick(properties[name]!, value[name])]));
}
