/** What copying between databases needs from each of them, whatever is copied. */
import type pg from 'pg';

export interface TableShape {
  /** The columns without the generated ones. */
  columns: string[];
  /** The columns of the primary key. */
  key: string[];
  /** All columns with their types: equal in both databases. */
  signature: string;
}

export type Shapes = ReadonlyMap<string, TableShape>;

/** Prepares a connection for copying: text forms are equal on both sides, and derived columns are left alone. */
export async function beginCopySession(client: pg.PoolClient): Promise<void> {
  await client.query(`set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres';
    set extra_float_digits = 1; set bytea_output = 'hex'; set belfry.copying = 'on'`);
}

/** Describes the tables that are copied. */
export async function readShapes(client: pg.PoolClient, tables: readonly string[]): Promise<Shapes> {
  const { rows } = await client.query<{ name: string } & TableShape>(
    `select t.name,
       array(select attname::text from pg_attribute where attrelid = t.name::regclass and attnum > 0 and not attisdropped
         and attgenerated = '' order by attnum) as columns,
       array(select a.attname::text from pg_index i, unnest(i.indkey::smallint[]) with ordinality as k (number, position)
         join pg_attribute a on a.attrelid = t.name::regclass and a.attnum = k.number
         where i.indrelid = t.name::regclass and i.indisprimary order by k.position) as key,
       (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ',' order by attnum) from pg_attribute
         where attrelid = t.name::regclass and attnum > 0 and not attisdropped) as signature
     from unnest($1::text[]) as t (name)`,
    [tables],
  );
  return new Map(rows.map(({ name, ...shape }) => [name, shape]));
}

/**
 * Returns a marker for `haveWritersEnded`. Called after a change of state: statements that began before it was committed have
 * not seen the new state.
 */
export async function markWriters(client: pg.PoolClient): Promise<string> {
  const { rows } = await client.query<{ marker: string }>('select pg_current_xact_id()::text as marker');
  return rows[0]!.marker;
}

/** Returns whether every transaction has ended that was writing when the marker was made. */
export async function haveWritersEnded(client: pg.PoolClient, marker: string): Promise<boolean> {
  const { rows } = await client.query<{ ended: boolean }>(
    'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as ended',
    [marker],
  );
  return rows[0]!.ended;
}

export async function wakeWorkers(client: pg.PoolClient): Promise<void> {
  await client.query(`select pg_notify('belfry_work', '')`);
}
