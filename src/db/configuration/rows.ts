/**
 * The plain statements of configuration nouns, derived from their declarations: each field is a column of the same name,
 * unless `specials` says otherwise. Statements that do more are in the file of the noun.
 */
import { type RawBuilder, sql } from 'kysely';
import {
  type NounFields,
  type NounName,
  nouns,
  parentOf,
  pathNouns,
  sectionOf,
} from '../../core/configuration/document.ts';
import type { Noun } from '../../core/configuration/nouns/noun.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import { fold } from '../../core/text/text.ts';
import { priorities } from '../../core/trigger.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';
import type { PathIds } from './organizations.ts';

/** Columns that are read besides the id and the fields. */
interface MoreColumns {
  channel: { project_id: number | null; providers: JsonObject[]; secrets: Buffer | null };
  layout: { project_id: number | null; name_key: string };
  webhook: { secrets: Buffer };
  application: { project_id: number } & Pausable;
  event: { application_id: number } & Pausable;
  notification: { event_id: number };
  source: { application_id: number; secrets: Buffer };
  heartbeat: { application_id: number; secrets: Buffer };
  watch: { application_id: number; secrets: Buffer | null };
}

interface Pausable {
  paused_at: Date | null;
  paused_reason: string | null;
  created_at: Date;
}

/** All but the organization, whose statements are in organizations.ts. */
export type RowNoun = Exclude<NounName, 'organization'>;

export type RowOf<N extends RowNoun> = { id: number } & Required<NounFields<N>> &
  (N extends keyof MoreColumns ? MoreColumns[N] : unknown);

interface Special {
  more?: readonly string[];
  /** Expressions that read fields, if not columns of the same names. */
  read?: Record<string, RawBuilder<unknown>>;
  /** Returns the columns that store the fields, if not the same. */
  // biome-ignore lint/suspicious/noExplicitAny: each noun knows its own fields
  write?: (fields: any, organizationId: number) => object;
}

const pausable = ['paused_at', 'paused_reason', 'created_at'];

const specials: { [noun in RowNoun]?: Special } = {
  channel: { more: ['providers', 'secrets'] },
  layout: { more: ['name_key'], write: ({ name, ...fields }) => ({ ...fields, name, name_key: fold(name) }) },
  category: {
    read: { default: sql`default_on` },
    write: ({ default: default_on, ...fields }) => ({ ...fields, default_on }),
  },
  webhook: { more: ['secrets'] },
  source: { more: ['secrets'] },
  heartbeat: { more: ['secrets'] },
  watch: { more: ['secrets'] },
  application: { more: pausable },
  event: {
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

/** Tables have the names of sections. */
const tableOf = (noun: RowNoun) => sectionOf(noun) as 'channels';

/** Returns the column of the row above; that of channels and layouts is null for the organization's own. */
export function parentColumnOf(noun: NounName): string | undefined {
  const { parent } = parentOf(noun);
  return parent && `${parent}_id`;
}

/** Limits a read to the rows on a path, and to those that they can refer to. */
function isWithin(noun: RowNoun, ids: PathIds): RawBuilder<unknown> {
  const part = pathNouns.find(one => one === noun);
  if (part) return sql`id = ${ids[part] ?? 0}`;
  const { parent, isShared } = parentOf(noun);
  if (!parent) return sql`true`;
  const column = sql.ref(`${parent}_id`);
  return isShared ? sql`(${column} is null or ${column} = ${ids[parent] ?? 0})` : sql`${column} = ${ids[parent] ?? 0}`;
}

export function categoryId(organizationId: number, slug: string | null): RawBuilder<number | null> {
  return sql`(select id from categories where organization_id = ${organizationId} and slug = ${slug})`;
}

/** Returns the columns of a noun's fields for a select, of the table or of its alias. */
export function columnsOf(noun: RowNoun, alias: string = tableOf(noun)): RawBuilder<unknown> {
  const { read = {} } = specials[noun] ?? {};
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
  const parentColumn = parentColumnOf(noun);
  const { more = [] } = specials[noun] ?? {};
  const conditions = [
    sql`organization_id = ${organizationId}`,
    ...(id === undefined ? [] : [sql`id = ${id}`]),
    ...(slug === undefined ? [] : [sql`slug = ${slug}`]),
    ...(parent === undefined
      ? []
      : [sql`${sql.ref(parentColumn!)} ${parent === null ? sql`is null` : sql`= ${parent}`}`]),
    ...(within ? [isWithin(noun, within)] : []),
    ...(page ? [sql`id > ${page.after}`] : []),
  ];
  const others = ['id', ...(parentColumn ? [parentColumn] : []), ...more].map(column => sql.ref(column));
  const { rows } = await sql<RowOf<N>>`
    select ${sql.join(others)}, ${columnsOf(noun)} from ${sql.table(tableOf(noun))}
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
  fields: NounFields<N>,
  more: object = {},
): Promise<number> {
  const parent = parentColumnOf(noun);
  const values = { organization_id: organizationId, ...(parent && { [parent]: parentId }) };
  const row = await db
    .insertInto(tableOf(noun))
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
  fields: NounFields<N>,
  more: object = {},
): Promise<void> {
  await setColumns(db, organizationId, noun, id, { ...toColumns(noun, organizationId, fields), ...more });
}

export async function setColumns(db: Db, organizationId: number, noun: RowNoun, id: number, columns: object) {
  await db
    .updateTable(tableOf(noun))
    .set({ ...columns, updated_at: sql`now()` } as never)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

/** Renames a row. Returns false if another one at the same place has the name. */
export async function renameRow(
  db: Db,
  organizationId: number,
  noun: 'layout' | 'notification',
  id: number,
  name: string,
): Promise<boolean> {
  const [table, parent] = [sql.table(tableOf(noun)), sql.ref(parentColumnOf(noun)!)];
  const same = parentOf(noun).isShared ? sql`is not distinct from` : sql`=`;
  const { foldsKey }: Noun = nouns[noun];
  const [key, value] = foldsKey ? ['name_key', fold(name)] : ['name', name];
  const columns = sql.join(
    Object.entries({ name, [key]: value }).map(([column, text]) => sql`${sql.ref(column)} = ${text}`),
  );
  const { numAffectedRows } = await sql`
    update ${table} one set ${columns}, updated_at = now()
    where one.organization_id = ${organizationId} and one.id = ${id} and not exists (
      select from ${table} twin
      where twin.organization_id = one.organization_id and twin.${sql.ref(key)} = ${value} and twin.id <> one.id
        and twin.${parent} ${same} one.${parent})`.execute(db);
  return Number(numAffectedRows) === 1;
}

/** Foreign keys delete the rows below. */
export async function deleteRow(db: Db, organizationId: number, noun: RowNoun, id: number): Promise<void> {
  await db.deleteFrom(tableOf(noun)).where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

/** Leaves out what is not a field, and undefined ones. */
function toColumns(noun: RowNoun, organizationId: number, state: object): object {
  const { write } = specials[noun] ?? {};
  const values = Object.keys(nouns[noun].fields).map(field => [field, toColumn((state as JsonObject)[field])]);
  const columns = Object.fromEntries(values.filter(([, value]) => value !== undefined));
  return write ? write(columns, organizationId) : columns;
}

/** Arrays of texts have columns of that type; other arrays and objects are JSON. */
function toColumn(value: unknown): unknown {
  return isObject(value) || (Array.isArray(value) && value.some(isObject)) ? JSON.stringify(value) : value;
}
