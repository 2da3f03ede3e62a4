/** Creates a sample context from a schema: its examples and defaults, or placeholder values where there are none. */

import { isObject, type Json, type JsonObject } from '../json.ts';
import { lookUp } from '../lookup.ts';
import { type ContextSchema, expandReferences } from './schema.ts';

const byFormat: Record<string, string> = {
  date: '2030-01-31',
  time: '09:00:00Z',
  'date-time': '2030-01-31T09:00:00Z',
  duration: 'P1D',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '0190a5a0-0000-7000-8000-000000000000',
};

export function sampleContext(schema: ContextSchema): JsonObject {
  const sample = sampleOf(expandReferences(schema), 'context');
  return isObject(sample) ? sample : {};
}

/** `name` is the placeholder for text. */
function sampleOf(schema: Json, name: string): Json {
  if (!isObject(schema)) return name;
  const { examples, enum: values, prefixItems, items, properties } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0]!;
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(values)) return values[0]!;
  const [first] = [schema.anyOf, schema.oneOf].flatMap(branches =>
    Array.isArray(branches) ? branches.slice(0, 1) : [],
  );
  const parts = [...(Array.isArray(schema.allOf) ? schema.allOf : []), ...(first === undefined ? [] : [first])];
  const others = parts.map(part => sampleOf(part, name));
  switch (typeOf(schema)) {
    case 'object': {
      const own = Object.entries((properties as JsonObject | undefined) ?? {});
      const inner = Object.fromEntries(own.map(([key, value]) => [key, sampleOf(value, key)]));
      return Object.assign({}, ...others.filter(isObject), inner) as JsonObject;
    }
    case 'array':
      if (Array.isArray(prefixItems)) return prefixItems.map(item => sampleOf(item, name));
      return items === undefined ? [] : [sampleOf(items, name)];
    case 'number':
    case 'integer':
      return numberOf(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'string':
      return lookUp(byFormat, String(schema.format)) ?? name;
    default:
      return others[0] ?? name;
  }
}

function typeOf({ type, properties, items }: JsonObject): Json | undefined {
  const [first] = [type ?? []].flat().filter(one => one !== 'null');
  return first ?? (Array.isArray(type) ? 'null' : type) ?? (properties ? 'object' : items ? 'array' : undefined);
}

function numberOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonObject): number {
  if (typeof minimum === 'number') return minimum;
  if (typeof exclusiveMinimum === 'number') return exclusiveMinimum + 1;
  const max = typeof maximum === 'number' ? maximum : typeof exclusiveMaximum === 'number' ? exclusiveMaximum - 1 : 1;
  return Math.min(1, max);
}
