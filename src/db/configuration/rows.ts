/**
 * The plain statements of configuration nouns, derived from their declarations: each field is a column of the same name,
 * unless `tables` says otherwise. Statements that do more are in the file of the noun.
 */
import { type RawBuilder, sql } from 'kysely';
import { nouns } from '../../core/configuration/document.ts';
import type { NotificationFields } from '../../core/configuration/nouns/notification.ts';
import type { FieldsOf } from '../../core/configuration/nouns/noun.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import { fold } from '../../core/text/text.ts';
import { priorities } from '../../core/trigger.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

/** Columns that are read besides the fields. */
interface MoreColumns {
  channel: { project_id: number | null; providers: JsonObject[]; secrets: Buffer | null };
  layout: { project_id: number | null; name_key: string };
  category: object;
  webhook: { secrets: Buffer };
  project: object;
  application: { project_id: number } & Pausable;
  event: { application_id: number } & Pausable;
  notification: { event_id: number };
}

interface Pausable {
  paused_at: Date | null;
  paused_reason: string | null;
  created_at: Date;
}

export type RowNoun = keyof MoreColumns;

/** All fields of a noun, as stored. */
export type StoredFields<N extends RowNoun> = N extends 'notification'
  ? NotificationFields
  : Required<FieldsOf<(typeof nouns)[N]>>;

export type RowOf<N extends RowNoun> = { id: number } & StoredFields<N> & MoreColumns[N];

interface Table {
  table: string;
  /** The column of the row above; those of channels and layouts are null for the organization's own. */
  parent?: string;
  /** The part of a path that limits reads to one row, or to the rows below it. */
  within?: (ids: PathIds) => RawBuilder<unknown>;
  more?: readonly string[];
  /** Expressions that read fields, if not columns of the same names. */
  read?: Record<string, RawBuilder<unknown>>;
  /** Returns the columns that store the fields, if not the same. */
  // biome-ignore lint/suspicious/noExplicitAny: each noun knows its own fields
  write?: (fields: any, organizationId: number) => object;
}

const inProject = ({ project = 0 }: PathIds) => sql`(project_id is null or project_id = ${project})`;
const pausable = ['paused_at', 'paused_reason', 'created_at'];

const tables: Record<RowNoun, Table> = {
  channel: { table: 'channels', parent: 'project_id', within: inProject, more: ['providers', 'secrets'] },
  layout: {
    table: 'layouts',
    parent: 'project_id',
    within: inProject,
    more: ['name_key'],
    write: ({ name, ...fields }) => ({ ...fields, name, name_key: fold(name) }),
  },
  category: {
    table: 'categories',
    read: { default: sql`default_on` },
    write: ({ default: default_on, ...fields }) => ({ ...fields, default_on }),
  },
  webhook: { table: 'webhooks', more: ['secrets'] },
  project: { table: 'projects', within: ({ project = 0 }) => sql`id = ${project}` },
  application: {
    table: 'applications',
    parent: 'project_id',
    within: ({ application = 0 }) => sql`id = ${application}`,
    more: pausable,
  },
  event: {
    table: 'events',
    parent: 'application_id',
    within: ({ event = 0 }) => sql`id = ${event}`,
    more: pausable,
    read: {
      category: sql`(select c.slug from categories c where c.organization_id = events.organization_id and c.id = category_id)`,
    },
    write: ({ category, ...fields }, organizationId) => ({
      ...fields,
      category_id: categoryId(organizationId, category),
    }),
  },
  notification: {
    table: 'notifications',
    parent: 'event_id',
    within: ({ event = 0 }) => sql`event_id = ${event}`,
    read: {
      priority: sql`(${sql.lit(`{${priorities.join()}}`)}::text[])[priority + 1]`,
      // The database keeps the old name of `max` for processes of the previous version.
      throttle: sql`throttle - 'most'`,
      digest: sql`digest - 'most'`,
    },
    write: ({ priority, ...fields }) => ({
      ...fields,
      priority: priority === null ? null : priorities.indexOf(priority),
    }),
  },
};

export function categoryId(organizationId: number, slug: string | null): RawBuilder<number | null> {
  return sql`(select id from categories where organization_id = ${organizationId} and slug = ${slug})`;
}

/** Returns the columns of a noun's fields for a select, of the table or of its alias. */
export function columnsOf(noun: RowNoun, alias = tables[noun].table): RawBuilder<unknown> {
  const { read = {} } = tables[noun];
  const columns = Object.keys(nouns[noun].fields).map(field =>
    read[field] ? sql`${read[field]} as ${sql.ref(field)}` : sql.ref(`${alias}.${field}`),
  );
  return sql.join(columns);
}

interface Selection {
  id?: number;
  /** Null: the organization's own. */
  parent?: number | null;
  slug?: string;
  within?: PathIds;
  page?: PageRequest;
}

/** Returns rows in order of creation. */
export async function listRows<N extends RowNoun>(
  db: Db,
  organizationId: number,
  noun: N,
  { id, parent, slug, within, page }: Selection = {},
): Promise<RowOf<N>[]> {
  const { table, parent: parentColumn, within: isWithin, more = [] } = tables[noun];
  const conditions = [
    sql`organization_id = ${organizationId}`,
    ...(id === undefined ? [] : [sql`id = ${id}`]),
    ...(slug === undefined ? [] : [sql`slug = ${slug}`]),
    ...(parent === undefined
      ? []
      : [sql`${sql.ref(parentColumn!)} ${parent === null ? sql`is null` : sql`= ${parent}`}`]),
    ...(within && isWithin ? [isWithin(within)] : []),
    ...(page ? [sql`id > ${page.after}`] : []),
  ];
  const others = ['id', ...(parentColumn ? [parentColumn] : []), ...more].map(column => sql.ref(column));
  const { rows } = await sql<RowOf<N>>`
    select ${sql.join(others)}, ${columnsOf(noun)} from ${sql.table(table)}
    where ${sql.join(conditions, sql` and `)} order by id ${page ? sql`limit ${page.limit}` : sql``}`.execute(db);
  return rows;
}

export async function findRow<N extends RowNoun>(
  db: Db,
  organizationId: number,
  noun: N,
  selection: Selection,
): Promise<RowOf<N> | undefined> {
  return (await listRows(db, organizationId, noun, selection))[0];
}

/** Returns the id of the new row. `more` are columns besides the fields. */
export async function insertRow<N extends RowNoun>(
  db: Db,
  organizationId: number,
  noun: N,
  parentId: number | null,
  fields: FieldsOf<(typeof nouns)[N]>,
  more: object = {},
): Promise<number> {
  const { table, parent } = tables[noun];
  const values = { organization_id: organizationId, ...(parent && { [parent]: parentId }) };
  const row = await db
    .insertInto(table as 'channels')
    .values({ ...values, ...toColumns(noun, organizationId, fields), ...more } as never)
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

/** An undefined field is left unchanged. */
export async function updateRow<N extends RowNoun>(
  db: Db,
  organizationId: number,
  noun: N,
  id: number,
  fields: FieldsOf<(typeof nouns)[N]>,
  more: object = {},
): Promise<void> {
  await db
    .updateTable(tables[noun].table as 'channels')
    .set({ ...toColumns(noun, organizationId, fields), ...more, updated_at: sql`now()` } as never)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

/** Foreign keys delete the rows below. */
export async function deleteRow(db: Db, organizationId: number, noun: RowNoun, id: number): Promise<void> {
  await db
    .deleteFrom(tables[noun].table as 'channels')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

/** Leaves out what is not a field, and undefined ones. */
function toColumns(noun: RowNoun, organizationId: number, state: object): object {
  const { write } = tables[noun];
  const values = Object.keys(nouns[noun].fields).map(field => [field, toColumn((state as JsonObject)[field])]);
  const columns = Object.fromEntries(values.filter(([, value]) => value !== undefined));
  return write ? write(columns, organizationId) : columns;
}

/** Arrays of texts have columns of that type; other arrays and objects are JSON. */
function toColumn(value: unknown): unknown {
  return isObject(value) || (Array.isArray(value) && value.some(isObject)) ? JSON.stringify(value) : value;
}
