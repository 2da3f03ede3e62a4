/**
 * The JSON Schema that an event may declare for its context: a bounded subset of draft 2020-12 without external or
 * recursive references, so that every schema expands to a finite tree. Unsupported keywords are refused when the schema is
 * saved: ignoring them would accept invalid contexts.
 */
import type { ValidateFunction } from 'ajv';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { createAjv, findErrors, toFieldErrors } from '../schema.ts';
import { compilePattern, countClasses, patternLimits } from './patterns.ts';

const schemaLimits = {
  /** The maximum length of the JSON in characters. */
  size: 65_536,
  /** The maximum nesting of the JSON: each level of the context takes two. */
  depth: 64,
  /** The maximum number of subschemas after references are expanded. */
  nodes: 2_000,
};

/** The schema of a context, which is an object. References point below `$defs` or `definitions`. */
export type ContextSchema = JsonObject;

interface SchemaMistake {
  /** JSON pointer without its leading slash; empty for the schema itself. */
  at: string;
  message: string;
}

/** Supported formats, as defined by ajv-formats. */
export const schemaFormats = [
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uuid',
];

const schema = { $ref: '#' };
const schemas = { type: 'array', items: schema, minItems: 1, maxItems: 100 };
const schemaMap = { type: 'object', additionalProperties: schema };
const names = { type: 'array', items: { type: 'string' }, maxItems: 1_000 };
const count = { type: 'integer', minimum: 0 };
const text = { type: 'string' };
const number = { type: 'number' };
const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** The schema of schemas: the supported keywords and their values. */
const subset = {
  $id: 'context-schema',
  type: ['object', 'boolean'],
  additionalProperties: false,
  properties: {
    $schema: {
      enum: [
        'https://json-schema.org/draft/2020-12/schema',
        'http://json-schema.org/draft-07/schema#',
        'http://json-schema.org/draft-07/schema',
      ],
    },
    $id: text,
    $comment: text,
    $ref: {
      type: 'string',
      pattern: '^#/(\\$defs|definitions)/[^/~%]+$',
      patternHint: 'must point below $defs of this schema, such as #/$defs/address',
    },
    $defs: schemaMap,
    definitions: schemaMap,
    title: text,
    description: text,
    default: {},
    examples: { type: 'array' },
    deprecated: { type: 'boolean' },
    readOnly: { type: 'boolean' },
    writeOnly: { type: 'boolean' },
    // Uses if/then instead of a union, so that a mistake is reported once.
    type: {
      type: ['string', 'array'],
      items: { enum: types },
      minItems: 1,
      if: { type: 'string' },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { enum: types },
    },
    enum: { type: 'array', minItems: 1, maxItems: 1_000 },
    const: {},
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: { type: 'number', exclusiveMinimum: 0 },
    minLength: count,
    maxLength: count,
    pattern: { type: 'string', maxLength: patternLimits.source },
    format: { enum: schemaFormats },
    items: schema,
    prefixItems: schemas,
    minItems: count,
    maxItems: count,
    uniqueItems: { type: 'boolean' },
    properties: schemaMap,
    required: names,
    additionalProperties: schema,
    patternProperties: schemaMap,
    propertyNames: schema,
    minProperties: count,
    maxProperties: count,
    dependentRequired: { type: 'object', additionalProperties: names },
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    if: schema,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: schema,
    else: schema,
  },
};

let validateSubset: ValidateFunction | undefined;

/** Returns the mistakes in a schema; empty when it is valid. */
export function findSchemaMistakes(value: unknown): SchemaMistake[] {
  if (isDeeper(value, schemaLimits.depth)) {
    return [{ at: '', message: `is nested more than ${schemaLimits.depth} levels deep` }];
  }
  const size = JSON.stringify(value).length;
  if (size > schemaLimits.size) return [{ at: '', message: `is longer than ${schemaLimits.size} characters of JSON` }];
  validateSubset ??= createAjv(false).compile(subset);
  const errors = toFieldErrors(
    findErrors(validateSubset, value).filter(({ keyword }) => keyword !== 'if'),
    '',
  );
  const mistakes = Object.entries(errors).map(([at, [message = 'is invalid']]) => ({ at, message: shorten(message) }));
  if (mistakes.length > 0) return mistakes;
  if (!isObject(value) || value.type !== 'object') {
    return [{ at: 'type', message: 'must be "object" at the top: a context is an object' }];
  }
  try {
    return findPatternMistake([...visit(expandReferences(value))]);
  } catch (error) {
    if (error instanceof SchemaError) return [{ at: error.at, message: error.message }];
    throw error;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some(item => isDeeper(item, levels - 1));
}

/** Drops the list of all keywords, which is too long to be useful. */
function shorten(message: string): string {
  return message.startsWith('is not a known field') ? 'is not a supported keyword' : message;
}

class SchemaError extends Error {
  readonly at: string;
  constructor(at: string, message: string) {
    super(message);
    this.at = at;
  }
}

/** Returns at most one mistake, because each pattern takes time to compile. */
function findPatternMistake(nodes: { at: string; node: JsonObject }[]): SchemaMistake[] {
  const patterns = nodes.flatMap(({ at, node }) => [
    ...(typeof node.pattern === 'string' ? [{ at: join(at, 'pattern'), source: node.pattern }] : []),
    ...keysOf(node.patternProperties).map(source => ({ at: join(at, 'patternProperties', source), source })),
  ]);
  if (patterns.length > patternLimits.perSchema) {
    return [{ at: '', message: `has more than ${patternLimits.perSchema} patterns after references are expanded` }];
  }
  const classes = patterns.reduce((sum, { source }) => sum + countClasses(source), 0);
  if (classes > patternLimits.classes) {
    const message = `has more than ${patternLimits.classes} Unicode classes in its patterns (with (?i), each counts as 25)`;
    return [{ at: '', message: `${message}: use fewer \\p{…} and ranges beyond ASCII` }];
  }
  for (const { at, source } of patterns) {
    const compiled = compilePattern(source);
    if ('mistake' in compiled) return [{ at, message: compiled.mistake }];
  }
  return [];
}

function keysOf(value: Json | undefined): string[] {
  return isObject(value) ? Object.keys(value) : [];
}

const inPlace = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const single = ['not', 'if', 'then', 'else', 'items', 'additionalProperties', 'propertyNames'];
const maps = ['properties', 'patternProperties'];
const annotations = new Set(['title', 'description', 'default', 'examples', 'deprecated', '$comment']);

/** Replaces each `$ref` by its target. Throws a SchemaError for missing targets and recursive references. */
export function expandReferences(root: ContextSchema): ContextSchema {
  const defined = new Map<string, Json>();
  for (const section of ['$defs', 'definitions']) {
    for (const [name, value] of Object.entries((root[section] as JsonObject | undefined) ?? {})) {
      defined.set(`#/${section}/${name}`, value);
    }
  }
  let nodes = 0;

  function expand(node: Json, at: string, within: readonly string[]): Json {
    if (++nodes > schemaLimits.nodes) {
      throw new SchemaError('', `has more than ${schemaLimits.nodes} subschemas after references are expanded`);
    }
    if (!isObject(node)) return node;
    const { $schema: _, $id: __, $defs: ___, definitions: ____, $ref, ...own } = node;
    const result: JsonObject = {};
    for (const [keyword, value] of Object.entries(own)) {
      if (single.includes(keyword)) result[keyword] = expand(value, join(at, keyword), within);
      else if (inPlace.includes(keyword)) {
        result[keyword] = (value as Json[]).map((one, i) => expand(one, join(at, keyword, i), within));
      } else if (maps.includes(keyword)) {
        result[keyword] = mapValues(value as JsonObject, (one, name) => expand(one, join(at, keyword, name), within));
      } else result[keyword] = value;
    }
    if (typeof $ref !== 'string') return result;
    const target = defined.get($ref);
    if (target === undefined) throw new SchemaError(join(at, '$ref'), `${$ref} does not exist`);
    if (within.includes($ref)) {
      throw new SchemaError(join(at, '$ref'), `${$ref} contains itself: expand it to the depth you need`);
    }
    const expanded = expand(target, at, [...within, $ref]);
    if (isObject(expanded) && Object.keys(result).every(keyword => annotations.has(keyword))) {
      return { ...expanded, ...result };
    }
    return { ...result, allOf: [...((result.allOf as Json[]) ?? []), expanded] };
  }
  return expand(root, '', []) as ContextSchema;
}

/** Yields every subschema of an expanded schema, including the schema itself. */
function* visit(node: Json, at = ''): Generator<{ at: string; node: JsonObject }> {
  if (!isObject(node)) return;
  yield { at, node };
  for (const keyword of single) if (keyword in node) yield* visit(node[keyword]!, join(at, keyword));
  for (const keyword of inPlace) {
    for (const [i, one] of ((node[keyword] as Json[]) ?? []).entries()) yield* visit(one, join(at, keyword, i));
  }
  for (const keyword of maps) {
    for (const [name, one] of Object.entries((node[keyword] as JsonObject) ?? {})) {
      yield* visit(one, join(at, keyword, name));
    }
  }
}

function mapValues(values: JsonObject, map: (value: Json, name: string) => Json): JsonObject {
  // Assignment would fail for a property named __proto__.
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}

function join(...parts: (string | number)[]): string {
  return parts.filter(part => part !== '').join('/');
}
