/**
 * A configuration noun is declared once: its fields with their schemas and defaults, its key, and what cannot change.
 * Types, normalization, plan, export, plain SQL, the schemas of the API and the console's defaults are derived from it.
 */

import { type Static, type TOptional, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox';
import { canonicalJson, isObject } from '../../json.ts';
import { Name } from './schemas.ts';

export interface Noun<
  Fields extends TProperties = TProperties,
  Kept extends object = object,
  More extends TProperties = TProperties,
> {
  name: string;
  /** What it is, for the description of its entry in a file. */
  description?: string;
  /** The field that names an object among its siblings. */
  key: 'slug' | 'name';
  /** Whether keys that differ only in case are the same. */
  foldsKey?: true;
  /**
   * The fields that are stored in columns of the same names. An optional field without a default is null when absent,
   * unless it is one of `kept`.
   */
  fields: Fields;
  /** What an entry has besides the fields. Each noun stores it in its own way. */
  more?: More;
  /** How many of them an organization can have. */
  max?: number;
  /** Optional fields that keep their stored value when absent, with their initial values. */
  kept?: Kept;
  /** Fields that cannot change, with advice for the caller. */
  fixed?: { [field in keyof Fields]?: string };
  /** Normalizes fields before the defaults are filled in. */
  // biome-ignore lint/suspicious/noExplicitAny: each noun normalizes its own entries
  normalize?: (entry: any) => object;
}

type Field<Schema extends TSchema> = Schema extends { default: unknown }
  ? Static<Schema>
  : Schema extends TOptional<TSchema>
    ? Static<Schema> | null
    : Static<Schema>;

/** The fields of a noun in a comparable form, with defaults filled in. An undefined one is left unchanged. */
export type FieldsOf<N extends Noun> =
  N extends Noun<infer Fields, infer Kept, infer _More>
    ? { [F in Exclude<keyof Fields, keyof Kept>]: Field<Fields[F]> } & {
        [F in keyof Fields & keyof Kept]?: Static<Fields[F]>;
      }
    : never;

/** Infers the types of a declaration. */
export function declareNoun<
  Fields extends TProperties,
  Kept extends { [F in keyof Fields]?: unknown } = object,
  More extends TProperties = Record<never, TSchema>,
>(noun: Noun<Fields, Kept, More>): Noun<Fields, Kept, More> {
  return noun;
}

/** Declares an optional field with the value that it has when absent. */
export function withDefault<Schema extends TSchema, Value extends Static<Schema>>(
  value: Value,
  schema: Schema,
): TOptional<TUnsafe<Static<Schema>>> & { default: Value } {
  const { description } = schema as { description?: string };
  const text = [description, typeof value !== 'object' && value !== '' && `Absent: ${value}.`].filter(Boolean);
  return Type.Optional(
    Type.Unsafe<Static<Schema>>({ ...schema, default: value, ...(text.length > 0 && { description: text.join(' ') }) }),
  ) as never;
}

/** A name that is the slug when absent. A noun that has it normalizes with `withName`. */
export const nameOrSlug = withDefault('', Type.String({ ...Name, description: 'Absent: the slug.' }));

export function withName({ slug, name }: { slug: string; name?: string }): { name: string } {
  return { name: name || slug };
}

/** Returns the value of an optional field that equals its absence; undefined for a required one. */
export function defaultOf({ fields, kept }: Noun, field: string): unknown {
  const schema = fields[field] as { default?: unknown };
  if (kept && field in kept) return (kept as Record<string, unknown>)[field];
  if ('default' in schema) return schema.default;
  return '~optional' in schema ? null : undefined;
}

/** Returns the noun's own fields of a valid entry, normalized and with defaults filled in. */
export function toFields<N extends Noun>(noun: N, entry: object): FieldsOf<N> {
  const given = (noun.normalize ? { ...entry, ...noun.normalize(entry) } : entry) as Record<string, unknown>;
  const complete = Object.keys(noun.fields).map(field => {
    const isAbsent = given[field] === undefined && !(field in (noun.kept ?? {}));
    return [field, isAbsent ? defaultOf(noun, field) : given[field]];
  });
  return Object.fromEntries(complete) as FieldsOf<N>;
}

/** Selects the noun's own fields. */
export function pickFields<N extends Noun, State extends FieldsOf<N>>(
  { fields }: N,
  state: State,
): Pick<State, keyof FieldsOf<N> & keyof State> {
  return Object.fromEntries(
    Object.keys(fields).map(field => [field, (state as Record<string, unknown>)[field]]),
  ) as Pick<State, keyof FieldsOf<N> & keyof State>;
}

/** Returns the fields as a hand-written entry has them: without what equals the default. */
export function toEntryFields(noun: Noun, state: object): Record<string, unknown> {
  const values = Object.entries(noun.fields).map(([field, schema]) => {
    const value = (state as Record<string, unknown>)[field];
    const isDefault = canonicalJson(value ?? null) === canonicalJson(defaultOf(noun, field) ?? null);
    return [field, isDefault ? undefined : inSchemaOrder(value, schema)];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Sorts the keys of objects as in the schema, because jsonb does not keep their order. */
export function inSchemaOrder<Value>(value: Value, schema: object): Value {
  const { properties, items, patternProperties = {} } = schema as Record<string, Record<string, object> | undefined>;
  const [values] = Object.values(patternProperties);
  if (Array.isArray(value)) return items ? (value.map(item => inSchemaOrder(item, items)) as Value) : value;
  if (!isObject(value)) return value;
  const names = properties ? Object.keys(properties).filter(name => value[name] !== undefined) : Object.keys(value);
  return Object.fromEntries(
    names.map(name => [name, inSchemaOrder(value[name], properties?.[name] ?? values ?? {})]),
  ) as Value;
}

export const slugAdvice = 'it is part of URLs that applications call; create another one and delete this one';
