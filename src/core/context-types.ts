/** The contexts of events as TypeScript: what `belfry types` writes for @belfry/client. */
import { type ContextSchema, expandReferences } from './context-schema.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

export interface TypedEvent {
  /** prj/app/evt */
  path: string;
  name: string;
  /** Null: any context will do. */
  context_schema?: ContextSchema | null;
}

export function toTypeScript(organization: string, events: readonly TypedEvent[]): string {
  const sorted = events.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const lines = sorted.flatMap(({ path, name, context_schema }) => {
    const type = context_schema ? typeOf(expandReferences(context_schema), 2) : 'object';
    return [...comment(name, 2), `${indent(2)}${quoted(path)}: ${type};`];
  });
  return [
    `// Written by \`belfry types ${organization}\`: write it anew when events or their schemas change.`,
    "import '@belfry/client';",
    '',
    "declare module '@belfry/client' {",
    `${indent(1)}interface Events {`,
    ...lines,
    `${indent(1)}}`,
    '}',
    '',
  ].join('\n');
}

const indent = (depth: number) => '  '.repeat(depth);
const quoted = (value: unknown) =>
  JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

/** An end of the comment inside it would end it. */
function comment(text: unknown, depth: number): string[] {
  if (typeof text !== 'string' || text.trim() === '') return [];
  const lines = text
    .trim()
    .replaceAll('*/', '*\\/')
    .split(/\s*[\r\n\u2028\u2029]+\s*/);
  if (lines.length === 1) return [`${indent(depth)}/** ${lines[0]} */`];
  return [`${indent(depth)}/**`, ...lines.map(line => `${indent(depth)} * ${line}`), `${indent(depth)} */`];
}

function typeOf(schema: Json, depth: number): string {
  if (!isObject(schema)) return schema === false ? 'never' : 'unknown';
  if (schema.const !== undefined) return literal(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
  const own = [schema.type ?? impliedType(schema)].flat().map(type => ofType(String(type), schema, depth));
  const parts = [
    ...(own.includes('unknown') ? [] : [union(own)]),
    ...listOf(schema.allOf).map(part => typeOf(part, depth)),
    ...[schema.anyOf, schema.oneOf].filter(Array.isArray).map(all => union(all.map(part => typeOf(part, depth)))),
  ];
  const known = [...new Set(parts)].filter(part => part !== 'unknown');
  if (known.length === 0) return 'unknown';
  return known.length === 1 ? known[0]! : known.map(part => (part.includes(' | ') ? `(${part})` : part)).join(' & ');
}

/** Of a schema that names none; what applies to several is any of them. */
function impliedType({ properties, required, items, prefixItems }: JsonObject): string {
  if (properties ?? required) return 'object';
  return (items ?? prefixItems) ? 'array' : 'unknown';
}

function ofType(type: string, schema: JsonObject, depth: number): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return arrayOf(schema, depth);
    case 'object':
      return objectOf(schema, depth);
    default:
      return 'unknown';
  }
}

function arrayOf({ prefixItems, items = true, minItems = 0 }: JsonObject, depth: number): string {
  const rest = typeOf(items, depth);
  const list = /^[\w"]+$/.test(rest) ? `${rest}[]` : `(${rest})[]`;
  if (!Array.isArray(prefixItems)) return list;
  const first = prefixItems.map((item, i) => `(${typeOf(item, depth)})${i < Number(minItems) ? '' : '?'}`);
  return `[${[...first, ...(items === false ? [] : [`...${list}`])].join(', ')}]`;
}

/**
 * Fields beside those that are named are only typed where the schema speaks of them: it allows them by itself, and a
 * misspelt field would go unnoticed.
 */
function objectOf(schema: JsonObject, depth: number): string {
  const { properties = {}, required = [], additionalProperties, patternProperties } = schema;
  const named = Object.entries(properties as JsonObject);
  const unnamed = listOf(required).filter(name => !Object.hasOwn(properties as JsonObject, String(name)));
  const lines = [
    ...named.flatMap(([name, value]) => {
      const mark = listOf(required).includes(name) ? '' : '?';
      const described = isObject(value) ? comment(value.description ?? value.title, depth + 1) : [];
      return [...described, `${indent(depth + 1)}${quoted(name)}${mark}: ${typeOf(value, depth + 1)};`];
    }),
    ...unnamed.map(name => `${indent(depth + 1)}${quoted(name)}: unknown;`),
  ];
  if (patternProperties || (additionalProperties ?? false)) {
    const isOnly = lines.length === 0 && !patternProperties && additionalProperties !== undefined;
    const value = isOnly ? typeOf(additionalProperties, depth + 1) : 'unknown';
    lines.push(`${indent(depth + 1)}[field: string]: ${value};`);
  }
  if (lines.length > 0) return `{\n${lines.join('\n')}\n${indent(depth)}}`;
  return additionalProperties === false ? 'Record<string, never>' : 'object';
}

function union(types: string[]): string {
  const distinct = [...new Set(types)];
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ');
}

function literal(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (!isObject(value)) return quoted(value);
  return `{ ${Object.entries(value)
    .map(([name, one]) => `${quoted(name)}: ${literal(one)}`)
    .join('; ')} }`;
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
