/**
 * Copies the rows of an organization from one database to another. The databases have the same schema and different ranges
 * of ids, so rows are copied unchanged, as text of their composite type.
 *
 * First every table is copied while the source works on. Triggers at the source note the keys of rows that change
 * meanwhile; these rows are copied again, round by round, and the last round runs when nothing changes any more. Copying a
 * row again has no effect, so a copy can be interrupted and repeated at any moment.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { AppError } from '../../core/errors.ts';
import type { Shapes, TableShape } from '../connection/copying.ts';
import { sqlState } from '../connection/pool.ts';
import { inLedgerTransaction } from '../connection/transaction.ts';
import { deletedLast, type OrganizationTable, organizationTables } from './organization-tables.ts';

/** A batch has at most this size, however long its rows are. */
const bytesPerBatch = 4 * 1024 * 1024;
const rowsPerBatch = { first: 100, max: 2_000 };
const lockTimeoutMs = 250;
const lockAttempts = 40;
const lockNotAvailable = '55P03';

/** The column that names the organization. */
const ownerOf = (table: string) => (table === 'organizations' ? 'id' : 'organization_id');

/** Makes the source note what changes. Returns when every transaction that was not noted has ended. */
export async function watchChanges(client: pg.PoolClient, organizationId: number, shapes: Shapes): Promise<void> {
  const existing = await listTriggers(client, organizationId);
  for (const [table, { key }] of shapes) {
    const call = `execute function note_moving_change(${[table, ...key].map(name => `'${name}'`).join(', ')})`;
    for (const [suffix, event, row] of [
      ['', 'insert or update', 'new'],
      ['_deleted', 'delete', 'old'],
    ]) {
      const name = `moving_${organizationId}${suffix}`;
      if (existing.some(one => one.table === table && one.name === name)) continue;
      await withLock(client, () =>
        client.query(
          `create trigger ${name} after ${event} on ${table} for each row
           when (${row}.${ownerOf(table)} = ${organizationId}) ${call}`,
        ),
      );
    }
  }
}

/** Ends what `watchChanges` began. */
export async function unwatchChanges(client: pg.PoolClient, organizationId: number): Promise<void> {
  for (const { table, name } of await listTriggers(client, organizationId)) {
    await withLock(client, () => client.query(`drop trigger ${name} on ${table}`));
  }
  await client.query('delete from organization_changes where organization_id = $1', [organizationId]);
}

/** Lists the triggers of a move, without those that partitions inherit. */
async function listTriggers(client: pg.PoolClient, organizationId: number): Promise<{ table: string; name: string }[]> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `select tgrelid::regclass::text as table, tgname as name from pg_trigger
     where tgname = any($1::text[]) and tgparentid = 0`,
    [[`moving_${organizationId}`, `moving_${organizationId}_deleted`]],
  );
  return rows;
}

/** Waits for the lock of a table only briefly, as statements of all tenants queue behind it. */
async function withLock(client: pg.PoolClient, change: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query('begin');
      await client.query(`set local lock_timeout = '${lockTimeoutMs}ms'`);
      await change();
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      if (sqlState(error) !== lockNotAvailable || attempt === lockAttempts) throw error;
      await sleep(Math.random() * lockTimeoutMs);
    }
  }
}

/** Copies tables whole, in one snapshot of the source. `write` runs one transaction of the target. */
export async function copyTables(
  client: pg.PoolClient,
  organizationId: number,
  tables: readonly string[],
  shapes: Shapes,
  write: (work: (target: pg.PoolClient) => Promise<void>) => Promise<void>,
): Promise<number> {
  let copied = 0;
  await inSnapshot(client, async () => {
    for (const table of tables) {
      const query = `select t::text as row from ${table} t where ${ownerOf(table)} = ${organizationId}`;
      for await (const rows of readBatches<{ row: string }>(client, query)) {
        copied += rows.length;
        const texts = rows.map(({ row }) => row);
        await write(target => storeRows(target, organizationId, table, shapes.get(table)!, texts));
      }
    }
  });
  return copied;
}

/** Copies the rows that have changed since they were copied; returns how many changes there were. */
export async function copyChanges(
  client: pg.PoolClient,
  organizationId: number,
  shapes: Shapes,
  write: (work: (target: pg.PoolClient) => Promise<void>) => Promise<void>,
): Promise<number> {
  let changes = 0;
  await inSnapshot(client, async () => {
    // Prevents plans that read a whole table: there are few changes, but the planner does not know.
    await client.query(
      `set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_seqscan = off`,
    );
    const { rows: changed } = await client.query<{ table_name: string }>(
      'select distinct table_name from organization_changes where organization_id = $1',
      [organizationId],
    );
    const names = organizationTables
      .map(({ name }) => name)
      .filter(name => changed.some(one => one.table_name === name));
    if (names.length === 0) return;
    // What the source has deleted goes first: another row may have its slug now.
    const deletions = names.toReversed().filter(name => !deletedLast.has(name));
    await write(async target => {
      const remove = (table: string) => removeDeleted(client, organizationId, target, table, shapes.get(table)!);
      for (const table of deletions) await remove(table);
      for (const table of names) {
        const { key } = shapes.get(table)!;
        const query = `select t::text as row from (${changedKeys(organizationId, table)}) k join ${table} t
          on ${key.map(column => `t.${column} = k.${column}`).join(' and ')}`;
        for await (const rows of readBatches<{ row: string }>(client, query)) {
          await storeRows(
            target,
            organizationId,
            table,
            shapes.get(table)!,
            rows.map(({ row }) => row),
          );
        }
      }
      for (const table of names.filter(name => deletedLast.has(name))) await remove(table);
    });
    // Only what this snapshot sees. If this fails, the same rows are copied again.
    const consumed = await client.query('delete from organization_changes where organization_id = $1', [
      organizationId,
    ]);
    changes = consumed.rowCount ?? 0;
  });
  return changes;
}

/** SQL text: the keys of the rows that changed, as rows of the table. */
const changedKeys = (organizationId: number, table: string) => `
  select k.* from (
    select key from organization_changes where organization_id = ${organizationId} and table_name = '${table}'
    group by key order by min(id)
  ) changed, lateral jsonb_populate_record(null::${table}, changed.key) k`;

async function removeDeleted(
  client: pg.PoolClient,
  organizationId: number,
  target: pg.PoolClient,
  table: string,
  { key }: TableShape,
): Promise<void> {
  const query = `
    select jsonb_build_object(${key.map(column => `'${column}', k.${column}`).join(', ')})::text as key
    from (${changedKeys(organizationId, table)}) k
    where not exists (select from ${table} t where ${key.map(column => `t.${column} = k.${column}`).join(' and ')})`;
  for await (const rows of readBatches<{ key: string }>(client, query)) {
    await target.query(
      `delete from ${table} t using jsonb_populate_recordset(null::${table}, $1::jsonb) k
       where ${key.map(column => `t.${column} = k.${column}`).join(' and ')}`,
      [`[${rows.map(row => row.key).join()}]`],
    );
  }
}

/** Stores rows as they are at the source, whether they exist or not. */
async function storeRows(
  client: pg.PoolClient,
  _organizationId: number,
  table: string,
  { columns, key }: TableShape,
  rows: string[],
): Promise<void> {
  const changed = columns.filter(column => !key.includes(column));
  const update =
    changed.length > 0 ? `update set ${changed.map(column => `${column} = excluded.${column}`).join(', ')}` : 'nothing';
  // Workers of both cells have the same ids: what one of the source holds is not held here.
  const values = columns.map(column => (column === 'owner' ? 'null' : column));
  await client.query(
    `insert into ${table} (${columns.join(', ')}) overriding system value
     select ${values.join(', ')} from unnest($1::${table}[]) as t on conflict (${key.join(', ')}) do ${update}`,
    [rows],
  );
}

async function inSnapshot(client: pg.PoolClient, work: () => Promise<void>): Promise<void> {
  await client.query('begin isolation level repeatable read');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** Reads a query within the current transaction, in batches of a limited size. */
async function* readBatches<Row extends object>(client: pg.PoolClient, query: string): AsyncGenerator<Row[]> {
  await client.query(`declare batches no scroll cursor for ${query}`);
  let size: number = rowsPerBatch.first;
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${size} from batches`);
    if (rows.length > 0) yield rows;
    if (rows.length < size) break;
    const bytes = rows.reduce((sum, row) => sum + String(Object.values(row)[0]).length, 0);
    size = Math.min(rowsPerBatch.max, Math.max(1, Math.floor((bytesPerBatch * rows.length) / bytes)));
  }
  await client.query('close batches');
}

/** They have several rows for each user. */
const uncounted: ReadonlySet<string> = new Set<OrganizationTable>(['inbox', 'user_history', 'preference_history']);

/** Counts the rows of tables that are small enough to be counted while the organization is frozen. */
export async function countRows(client: pg.PoolClient, organizationId: number): Promise<Record<string, number>> {
  const counted = organizationTables.filter(({ phase, name }) => phase === 'referring' && !uncounted.has(name));
  const waiting = {
    occurrences: `status in ('accepted', 'expanding')`,
    deliveries: `status in ('pending', 'retrying')`,
  };
  const parts = [
    ...counted.map(({ name }) => `select '${name}' as name, count(*) from ${name} where ${ownerOf(name)} = $1`),
    ...Object.entries(waiting).map(
      ([name, condition]) => `select '${name}', count(*) from ${name} where organization_id = $1 and ${condition}`,
    ),
  ];
  const { rows } = await client.query<{ name: string; count: number }>(parts.join(' union all '), [organizationId]);
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/** Deletes the organization's rows, of tables that refer to others first. */
export async function deleteRows(
  client: pg.PoolClient,
  organizationId: number,
  kept: ReadonlySet<string> = new Set(),
): Promise<void> {
  const last = organizationTables.filter(({ name }) => deletedLast.has(name));
  const others = organizationTables
    .filter(({ name }) => !deletedLast.has(name) && name !== 'organizations')
    .toReversed();
  for (const { name } of [...others, ...last]) {
    if (!kept.has(name)) await client.query(`delete from ${name} where organization_id = $1`, [organizationId]);
  }
  if (!kept.has('organizations')) await client.query('delete from organizations where id = $1', [organizationId]);
}

const deadlock = '40P01';
const deletionAttempts = 5;

/** Deletes the organization with its history, also while workers change its rows. */
export async function deleteOrganizationEntirely(pool: pg.Pool, organizationId: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inLedgerTransaction(pool, async client => {
        await client.query(`set local belfry.copying = 'on'`);
        await deleteRows(client, organizationId);
      });
    } catch (error) {
      if (sqlState(error) !== deadlock || attempt === deletionAttempts) throw error;
    }
  }
}

/** Throws unless both databases have the same tables and columns. */
export function requireSameShapes(source: Shapes, target: Shapes): void {
  const different = [...source].filter(([table, { signature }]) => target.get(table)?.signature !== signature);
  if (different.length === 0) return;
  throw new AppError(
    'move.refused',
    `the databases differ in ${different.map(([table]) => table).join(', ')}: run the same version of Belfry in both cells`,
  );
}
