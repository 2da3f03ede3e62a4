/**
 * An entry is one configuration object as the declarative file writes it. The API changes a single entry by wrapping it
 * in the smallest possible document, so that every rule is implemented once; errors are reported relative to the entry.
 */
import { type TSchema, type TUnsafe, Type } from 'typebox';
import { AppError, type FieldErrors, invalid } from '../errors.ts';
import { type EntryOf, type NounName, nouns, pathNouns, sectionOf } from './document.ts';
import type { FieldsOf, Noun } from './nouns/noun.ts';
import { closed } from './nouns/schemas.ts';

/** The objects that contain an entry, from the organization down. */
interface ParentPath {
  organization: NamedObject;
  project?: NamedObject;
  application?: NamedObject;
  event?: NamedObject & { active: boolean; category: string };
}

interface NamedObject {
  slug: string;
  name: string;
}

/** Returns the smallest document that contains the entry and its path in it. */
export function wrapEntry(parents: ParentPath, noun: NounName, entry: object): { document: object; at: string } {
  const { organization } = parents;
  const section = sectionOf(noun);
  let inner: object = section ? { [section]: [entry] } : {};
  let at = section ? `/${section}/0` : '';
  for (const part of pathNouns.toReversed()) {
    const parent = parents[part];
    if (!parent) continue;
    const { slug, name } = parent;
    const { active, category } = parents.event ?? {};
    const above = sectionOf(part)!;
    inner = { [above]: [{ slug, name, ...(part === 'event' && { active, category }), ...inner }] };
    at = `/${above}/0${at}`;
  }
  const own = section ? { slug: organization.slug, name: organization.name } : entry;
  return { document: { organizations: [{ ...own, ...inner }] }, at: `organizations/0${at}` };
}

/** Rewrites the field paths of an error to be relative to the entry. */
export function unwrapError(error: unknown, at: string): unknown {
  if (!(error instanceof AppError) || error.code !== 'file.invalid') return error;
  const fields: FieldErrors = {};
  for (const [field, messages] of Object.entries(error.details.fields ?? {})) {
    const own = field === at ? 'body' : field.startsWith(`${at}/`) ? field.slice(at.length + 1) : field;
    fields[own] = messages.map(message => message.replaceAll(`${at}/`, ''));
  }
  const isTemplate = Object.values(fields)
    .flat()
    .every(message => /^line \d+, column \d+: /.test(message));
  return invalid(fields, isTemplate ? 'template.invalid' : 'request.invalid');
}

/** Applies changes to an entry: an absent field keeps its value, null removes it. */
export function mergeEntry(entry: object, changes: object): object {
  const merged = { ...entry, ...withoutUndefined(changes) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Throws when one of the fixed fields would change; `fixed` maps each to advice for the caller. */
export function refuseChanges(current: object, changes: object, fixed: Record<string, string>): void {
  const [currentFields, newFields] = [current, changes] as [Record<string, unknown>, Record<string, unknown>];
  const refused = Object.entries(fixed).filter(
    ([field]) => newFields[field] !== undefined && newFields[field] !== currentFields[field],
  );
  if (refused.length === 0) return;
  throw invalid(Object.fromEntries(refused.map(([field, advice]) => [field, [`cannot be changed: ${advice}`]])));
}

/** Returns the schema of a body that creates an object: the noun's fields, and what it has besides. */
export function newSchemaOf<N extends NounName>($id: string, noun: N) {
  const { fields, more }: Noun = nouns[noun];
  return Type.Unsafe<EntryOf<N>>(Type.Object({ ...fields, ...more }, { $id, ...closed }));
}

/** The changes of an object: null removes an optional field. */
export type ChangesOf<Entry> = { [F in keyof Entry]?: Entry[F] | (undefined extends Entry[F] ? null : never) };

/**
 * Returns the schema of a PATCH body: every field is optional, and null is accepted where the entry's field is optional.
 * Absent fields keep their values, so there are no defaults. Fixed fields are accepted so that a response can be sent back;
 * `refuseChanges` rejects a different value.
 */
export function changesSchemaOf<Entry>($id: string, { fields, fixed = {}, more = {} }: Noun) {
  const change = ([field, { default: _, ...schema }]: [string, TSchema & { default?: unknown }]) => {
    if (field in fixed)
      return Type.Unknown({ description: 'Cannot be changed. Accepted if equal to the current value.' });
    return isOptional({ ...fields, ...more }[field]!) ? orNull(schema) : schema;
  };
  const changes = Object.entries({ ...fields, ...more }).map(field => [field[0], Type.Optional(change(field))]);
  return Type.Unsafe<ChangesOf<Entry>>(Type.Object(Object.fromEntries(changes), { $id, ...closed }));
}

type Responses<N extends Noun> = { [F in keyof FieldsOf<N>]-?: TUnsafe<Required<FieldsOf<N>>[F]> };

/** Returns the schemas of the noun's fields in responses: all are present, and null instead of absent; limits are left out. */
export function responseFieldsOf<N extends Noun>({ fields, kept = {} }: N): Responses<N> {
  const responses = Object.entries(fields).map(([field, schema]) => {
    const {
      default: value,
      description: text,
      ...own
    } = schema as TSchema & { default?: unknown; description?: string };
    const isNullable = isOptional(schema) && value === undefined && !(field in kept);
    const description = isNullable ? text?.replace('Absent:', 'Null:') : text?.replace(/ ?Absent: .*?\.(?= |$)/, '');
    const shown = Object.entries(own).filter(([keyword]) => !limitKeywords.has(keyword));
    const response = { ...Object.fromEntries(shown), ...(description && { description }) };
    return [field, isNullable ? orNull(response) : response];
  });
  return Object.fromEntries(responses);
}

const limitKeywords = new Set([
  ...['minLength', 'maxLength', 'pattern', 'patternHint', 'format', 'minimum', 'maximum', 'minItems', 'maxItems'],
]);

function isOptional(schema: TSchema): boolean {
  return '~optional' in schema;
}

/** Allows null, without a union where possible: a union would report each mistake once per branch. */
function orNull(schema: TSchema): TSchema {
  const { type, enum: values } = schema as { type?: string | string[]; enum?: unknown[] };
  if (Array.isArray(type)) return schema;
  if (values) return { ...schema, ...(type && { type: [type, 'null'] }), enum: [...values, null] } as TSchema;
  return type ? ({ ...schema, type: [type, 'null'] } as unknown as TSchema) : Type.Union([schema, Type.Null()]);
}
