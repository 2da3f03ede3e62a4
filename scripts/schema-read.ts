/** Reads the schema from PostgreSQL's catalogs. */
import type { Pool } from 'pg';

export interface Column {
  name: string;
  type: string;
  /** Set if it is not the default of the type. */
  collation: string | null;
  notNull: boolean;
  /** SQL of the default; for a generated column, the expression. */
  default: string | null;
  identity: 'ALWAYS' | 'BY DEFAULT' | null;
  generated: 'STORED' | 'VIRTUAL' | null;
}

export interface Table {
  name: string;
  /** Unlogged tables are truncated after a crash of the server. */
  unlogged: boolean;
  columns: Column[];
  /** The partition key, such as `RANGE (id)`. */
  partitionedBy: string | null;
  /** The parent table and the bounds of this partition. */
  partition: { of: string; bound: string } | null;
  constraints: { name: string; definition: string }[];
  indexes: string[];
  triggers: string[];
}

export interface Schema {
  /** Names of sequences that belong to no identity column. */
  sequences: string[];
  /** In order of creation, so that each table only refers to earlier ones. */
  tables: Table[];
  views: string[];
  functions: string[];
}

/** Kysely's own tables, and monthly partitions, whose names depend on the date. */
const excluded = /^belfry_migrations|_\d{4}_\d{2}$/;

// Our migrations create everything in `public`; objects of extensions are excluded.
const ours = "n.nspname = 'public' and not exists (select from pg_depend d where d.objid = o.oid and d.deptype = 'e')";

const tables = `
  select o.relname as name,
    o.relpersistence = 'u' as unlogged,
    pg_get_partkeydef(o.oid) as "partitionedBy",
    (select json_build_object('of', i.inhparent::regclass, 'bound', pg_get_expr(o.relpartbound, o.oid))
      from pg_inherits i where i.inhrelid = o.oid and o.relispartition) as partition,
    (select json_agg(json_build_object(
        'name', attname,
        'type', format_type(atttypid, atttypmod),
        'collation', (select quote_ident(collname) from pg_collation c join pg_type t on t.oid = atttypid
          where c.oid = attcollation and attcollation <> t.typcollation),
        'notNull', attnotnull,
        'default', (select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = attnum),
        'identity', case attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end,
        'generated', case attgenerated when 's' then 'STORED' when 'v' then 'VIRTUAL' end) order by attnum)
      from pg_attribute where attrelid = o.oid and attnum > 0 and not attisdropped) as columns,
    coalesce((select json_agg(json_build_object('name', conname, 'definition', pg_get_constraintdef(oid, true))
        order by array_position(array['p', 'u', 'x', 'c', 'f']::"char"[], contype), conname)
      from pg_constraint
      where conrelid = o.oid and conparentid = 0 and contype in ('p', 'u', 'x', 'c', 'f')), '[]') as constraints,
    coalesce((select json_agg(pg_get_indexdef(indexrelid, 0, true) || ';' ||
        coalesce(' -- ' || obj_description(indexrelid, 'pg_class'), '') order by indexrelid::regclass::text)
      from pg_index join pg_class i on i.oid = indexrelid
      where indrelid = o.oid and not i.relispartition
        and not exists (select from pg_constraint where conindid = indexrelid)), '[]') as indexes,
    coalesce((select json_agg(pg_get_triggerdef(oid, true) order by tgname)
      from pg_trigger where tgrelid = o.oid and not tgisinternal and tgparentid = 0), '[]') as triggers
  from pg_class o join pg_namespace n on n.oid = o.relnamespace
  where ${ours} and o.relkind in ('r', 'p')
  order by o.oid`;

const functions = `
  select pg_get_functiondef(o.oid) as text
  from pg_proc o join pg_namespace n on n.oid = o.pronamespace
  where ${ours} order by o.proname, o.oid`;

const sequences = `
  select o.relname as name from pg_class o join pg_namespace n on n.oid = o.relnamespace
  where ${ours} and o.relkind = 'S'
    and not exists (select from pg_depend d where d.objid = o.oid and d.deptype in ('a', 'i'))
  order by o.relname`;

const views = `
  select 'CREATE VIEW ' || o.relname || E' AS\\n' || pg_get_viewdef(o.oid, true) as text
  from pg_class o join pg_namespace n on n.oid = o.relnamespace
  where ${ours} and o.relkind = 'v' order by o.relname`;

/** Our own types and other objects, which are not supported yet. */
const others = `
  select o.relname as name from pg_class o join pg_namespace n on n.oid = o.relnamespace
  where ${ours} and o.relkind in ('m', 'f')
  union all
  select o.typname from pg_type o join pg_namespace n on n.oid = o.typnamespace
  where ${ours} and o.typtype in ('e', 'd', 'r')`;

export async function readSchema(pool: Pool): Promise<Schema> {
  const names = async (query: string) => (await pool.query<{ name: string }>(query)).rows.map(row => row.name);
  const unknown = await names(others);
  if (unknown.length > 0) {
    throw new Error(`scripts/schema-read.ts does not support these objects yet: ${unknown.join(', ')}`);
  }
  const found = await pool.query<Table>(tables);
  const texts = async (query: string) => (await pool.query<{ text: string }>(query)).rows.map(row => row.text);
  return {
    sequences: await names(sequences),
    tables: found.rows.filter(table => !excluded.test(table.name)),
    views: await texts(views),
    functions: await texts(functions),
  };
}
