/**
 * One thing of the configuration by itself: an entry of the declarative file without the file around it. It goes the
 * way of every file, so that each rule stands once; what is wrong with it is told as if there had been no file.
 */
import { type TSchema, Type } from 'typebox';
import { AppError, type FieldErrors, invalid } from './errors.ts';

export type Section =
  | 'projects'
  | 'applications'
  | 'events'
  | 'notifications'
  | 'channels'
  | 'layouts'
  | 'categories'
  | 'webhooks';

/** What stands above an entry, from the organization down. */
export interface Above {
  organization: Named;
  project?: Named;
  application?: Named;
  event?: Named & { active: boolean; category: string };
}

interface Named {
  slug: string;
  name: string;
}

/** The smallest file that holds the entry, or the organization's own fields, and where in it they stand. */
export function wrapEntry(above: Above, section: Section | undefined, entry: object): { document: object; at: string } {
  const { organization, project, application, event } = above;
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

/** The same mistakes, named as the entry's own. */
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

/** What is not given stays, null takes away. */
export function mergeEntry(entry: object, changes: object): object {
  const merged = { ...entry, ...withoutUndefined(changes) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Of these fields, those that cannot be changed must not be other than they are. */
export function refuseChanges(current: object, changes: object, fixed: Record<string, string>): void {
  const [was, is] = [current, changes] as [Record<string, unknown>, Record<string, unknown>];
  const wrong = Object.entries(fixed).filter(([field]) => is[field] !== undefined && is[field] !== was[field]);
  if (wrong.length === 0) return;
  throw invalid(Object.fromEntries(wrong.map(([field, advice]) => [field, [`cannot be changed: ${advice}`]])));
}

export const slugAdvice = 'it is part of addresses and of what applications call; create another one and delete this';

interface ObjectSchema {
  properties: Record<string, TSchema>;
  required?: string[];
}

/**
 * The body of a change of an entry: every field optional, null for one that may be absent. A fixed field may be there,
 * so that what was read can be sent back, and is refused elsewhere when it differs.
 */
export function changesOf<Changes>($id: string, entry: TSchema, fields: string[], fixed: string[] = []) {
  const { properties, required = [] } = entry as unknown as ObjectSchema;
  const change = (field: string) => {
    const schema = properties[field]!;
    return [field, Type.Optional(required.includes(field) ? schema : orNull(schema))];
  };
  const repeated = fixed.map(field => [
    field,
    Type.Optional(Type.Unknown({ description: 'Cannot be changed; may be repeated.' })),
  ]);
  return Type.Unsafe<Changes>(
    Type.Object(Object.fromEntries([...fields.map(change), ...repeated]), { $id, additionalProperties: false }),
  );
}

/** These fields of an entry, as it is created. */
export function fieldsOf<Entry>($id: string, entry: TSchema, fields: string[]) {
  const { properties, required = [] } = entry as unknown as ObjectSchema;
  const own = fields.map(field => [
    field,
    required.includes(field) ? properties[field]! : Type.Optional(properties[field]!),
  ]);
  return Type.Unsafe<Entry>(Type.Object(Object.fromEntries(own), { $id, additionalProperties: false }));
}

/** Without a union where that is possible: its mistakes are told once. */
function orNull(schema: TSchema): TSchema {
  const { type, enum: values } = schema as { type?: string | string[]; enum?: unknown[] };
  if (Array.isArray(type)) return schema;
  if (values) return { ...schema, ...(type && { type: [type, 'null'] }), enum: [...values, null] } as TSchema;
  return type ? ({ ...schema, type: [type, 'null'] } as unknown as TSchema) : Type.Union([schema, Type.Null()]);
}
