/**
 * An entry is one configuration object as the declarative file writes it. The API changes a single entry by wrapping it
 * in the smallest possible document, so that every rule is implemented once; errors are reported relative to the entry.
 */
import { type TSchema, Type } from 'typebox';
import { AppError, type FieldErrors, invalid } from '../errors.ts';

export type Section =
  | 'projects'
  | 'applications'
  | 'events'
  | 'notifications'
  | 'channels'
  | 'layouts'
  | 'categories'
  | 'webhooks';

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

/** Returns the smallest document that contains the entry, or the organization's own fields, and their path in it. */
export function wrapEntry(
  parents: ParentPath,
  section: Section | undefined,
  entry: object,
): { document: object; at: string } {
  const { organization, project, application, event } = parents;
  let inner: object = section ? { [section]: [entry] } : {};
  let at = section ? `/${section}/0` : '';
  if (event) {
    const { slug, name, active, category } = event;
    inner = { events: [{ slug, name, active, category, ...inner }] };
    at = `/events/0${at}`;
  }
  if (application) {
    inner = { applications: [{ slug: application.slug, name: application.name, ...inner }] };
    at = `/applications/0${at}`;
  }
  if (project) {
    inner = { projects: [{ slug: project.slug, name: project.name, ...inner }] };
    at = `/projects/0${at}`;
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

export const slugAdvice = 'it is part of URLs that applications call; create another one and delete this one';

interface ObjectSchema {
  properties: Record<string, TSchema>;
  required?: string[];
}

/**
 * Returns the schema of a PATCH body: every field is optional, and null is accepted where the entry's field is optional.
 * Fixed fields are accepted so that a response can be sent back; `refuseChanges` rejects a different value.
 */
export function updateSchemaOf<Changes>($id: string, entry: TSchema, fields: string[], fixed: string[] = []) {
  const { properties, required = [] } = entry as unknown as ObjectSchema;
  const change = (field: string) => {
    const schema = properties[field]!;
    return [field, Type.Optional(required.includes(field) ? schema : orNull(schema))];
  };
  const repeated = fixed.map(field => [
    field,
    Type.Optional(Type.Unknown({ description: 'Cannot be changed. Accepted if equal to the current value.' })),
  ]);
  return Type.Unsafe<Changes>(
    Type.Object(Object.fromEntries([...fields.map(change), ...repeated]), { $id, additionalProperties: false }),
  );
}

/** Returns the schema of a body that creates an entry, with these fields. */
export function createSchemaOf<Entry>($id: string, entry: TSchema, fields: string[]) {
  const { properties, required = [] } = entry as unknown as ObjectSchema;
  const own = fields.map(field => [
    field,
    required.includes(field) ? properties[field]! : Type.Optional(properties[field]!),
  ]);
  return Type.Unsafe<Entry>(Type.Object(Object.fromEntries(own), { $id, additionalProperties: false }));
}

/** Allows null, without a union where possible: a union would report each mistake once per branch. */
function orNull(schema: TSchema): TSchema {
  const { type, enum: values } = schema as { type?: string | string[]; enum?: unknown[] };
  if (Array.isArray(type)) return schema;
  if (values) return { ...schema, ...(type && { type: [type, 'null'] }), enum: [...values, null] } as TSchema;
  return type ? ({ ...schema, type: [type, 'null'] } as unknown as TSchema) : Type.Union([schema, Type.Null()]);
}
