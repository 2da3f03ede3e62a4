/**
 * The states of an organization that moves to another cell, in the databases of both. The row of the source decides: every
 * change of state is one statement that names the state before, so an abort and a move that run at the same time cannot
 * both succeed. docs/architecture.md has the table.
 */
import { sql } from 'kysely';
import type pg from 'pg';
import { wakeWorkers } from '../connection/copying.ts';
import type { Db } from '../connection/pool.ts';

export type MoveState = 'arriving' | 'arrived' | 'copying' | 'draining' | 'closing' | 'frozen' | 'moved' | 'left';

export interface OrganizationMove {
  organization_id: number;
  id: string;
  slug: string;
  state: MoveState;
  url: string | null;
  copied: string[];
}

/** Class of the advisory lock that a command holds while it moves an organization; any number that no other lock uses. */
const lockClass = 0x6d6f7665;

const columns = 'organization_id, id, slug, state, url, copied';

export async function findMove(client: pg.PoolClient, organizationId: number): Promise<OrganizationMove | undefined> {
  const { rows } = await client.query<OrganizationMove>(
    `select ${columns} from organization_moves where organization_id = $1`,
    [organizationId],
  );
  return rows[0];
}

export interface KnownMove extends Pick<OrganizationMove, 'organization_id' | 'slug' | 'state' | 'url'> {
  feedback_tokens: string[];
}

/** Lists the moves that every process has to know: normally none. */
export async function listMovesAcrossTenants(db: Db): Promise<KnownMove[]> {
  const { rows } = await sql<KnownMove>`
    select organization_id, slug, state, url, feedback_tokens from organization_moves
    where state not in ('copying', 'draining', 'arrived')`.execute(db);
  return rows;
}

/** Returns the organization with this slug, also after it has left. */
export async function findOrganizationToMoveAcrossTenants(
  client: pg.PoolClient,
  slug: string,
): Promise<{ id: number; name: string } | undefined> {
  const { rows } = await client.query<{ id: number; name: string }>(
    'select id, name from organizations where slug = $1',
    [slug],
  );
  return rows[0];
}

/** Locks the move until the connection ends; returns false if another process has locked it. */
export async function lockMove(client: pg.PoolClient, organizationId: number): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
    lockClass,
    organizationId,
  ]);
  return rows[0]!.locked;
}

/**
 * Resumes sending for organizations whose move was interrupted before they left. The connection that holds the lock also
 * changes the state, so the two cannot contradict each other.
 */
export async function recoverMovesAcrossTenants(db: Db): Promise<void> {
  await sql`
    update organization_moves m set state = 'copying', state_at = now()
    where state in ('draining', 'closing', 'frozen') and not exists (
      select from pg_locks where locktype = 'advisory' and classid = ${lockClass} and objid = m.organization_id and granted
        and database = (select oid from pg_database where datname = current_database()))`.execute(db);
}

/** Records the move, in place of one that has ended. */
export async function createMove(
  client: pg.PoolClient,
  organizationId: number,
  { id, slug, state, url }: Pick<OrganizationMove, 'id' | 'slug' | 'state' | 'url'>,
): Promise<void> {
  await client.query(
    `insert into organization_moves (organization_id, id, slug, state, url) values ($1, $2, $3, $4, $5)
     on conflict (organization_id) do update set id = excluded.id, slug = excluded.slug, state = excluded.state,
       url = excluded.url, copied = '{}', feedback_tokens = '{}', began_at = now(), state_at = now()`,
    [organizationId, id, slug, state, url],
  );
}

/** Records that the organization is expected. Where it has been before, its new address is kept in case of an abort. */
export async function createArrival(
  client: pg.PoolClient,
  organizationId: number,
  { id, slug }: Pick<OrganizationMove, 'id' | 'slug'>,
): Promise<void> {
  await client.query(
    `insert into organization_moves (organization_id, id, slug, state) values ($1, $2, $3, 'arriving')
     on conflict (organization_id) do update set id = excluded.id, slug = excluded.slug, state = excluded.state,
       copied = '{}', began_at = now(), state_at = now()`,
    [organizationId, id, slug],
  );
}

/** Changes the state of a move; returns false if it was aborted, or is in another state. */
export async function changeState(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  from: readonly MoveState[],
  to: MoveState,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update organization_moves set state = $4, state_at = now(), url = case when $4 <> 'arrived' then url end,
       feedback_tokens = case $4 when 'moved' then array(select feedback_token from channels where organization_id = $1)
         when 'arrived' then '{}' else feedback_tokens end
     where organization_id = $1 and id = $2 and state = any($3::text[])`,
    [organizationId, id, from, to],
  );
  return rowCount === 1;
}

/** Runs a transaction of the target, unless the move was aborted. An abort waits until it has ended. */
export async function whileArriving(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<boolean> {
  await client.query('begin');
  try {
    const { rowCount } = await client.query(
      `select from organization_moves where organization_id = $1 and id = $2 and state = 'arriving' for share`,
      [organizationId, id],
    );
    if (rowCount === 1) await work(client);
    await client.query('commit');
    return rowCount === 1;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

export async function addCopied(client: pg.PoolClient, organizationId: number, tables: readonly string[]) {
  await client.query('update organization_moves set copied = copied || $2::text[] where organization_id = $1', [
    organizationId,
    tables,
  ]);
}

/** Gives the organization back to the source; returns false if it has already left. */
export async function cancelMove(client: pg.PoolClient, organizationId: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `delete from organization_moves
     where organization_id = $1 and state in ('copying', 'draining', 'closing', 'frozen')`,
    [organizationId],
  );
  await wakeWorkers(client);
  return rowCount === 1;
}

/**
 * Invalidates what has arrived so far: no transaction of `whileArriving` succeeds any more. Returns whether the organization
 * had been here before; undefined if it was not expected.
 */
export async function discardArrival(client: pg.PoolClient, organizationId: number): Promise<boolean | undefined> {
  const { rows } = await client.query<{ was_here: boolean }>(
    `update organization_moves set id = gen_random_uuid(), copied = '{}'
     where organization_id = $1 and state = 'arriving' returning url is not null as was_here`,
    [organizationId],
  );
  return rows[0]?.was_here;
}

/** Ends an arrival: the organization is again where it has moved to, or unknown here. */
export async function deleteArrival(client: pg.PoolClient, organizationId: number): Promise<void> {
  await client.query(
    `update organization_moves set state = 'left', state_at = now()
     where organization_id = $1 and state = 'arriving' and url is not null`,
    [organizationId],
  );
  await client.query(`delete from organization_moves where organization_id = $1 and state = 'arriving'`, [
    organizationId,
  ]);
}

/** Counts what is being expanded or sent for the organization. */
export async function countInFlight(client: pg.PoolClient, organizationId: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select (select count(*) from deliveries where organization_id = $1 and status = 'sending')
       + (select count(*) from occurrences where organization_id = $1 and status = 'expanding' and owner is not null)
       + (select count(*) from steps where organization_id = $1 and status = 'waiting' and owner is not null)
       + (select count(*) from webhook_messages where organization_id = $1 and status = 'waiting'
           and claimed_at is not null and due_at > now())
       + (select count(*) from message_updates where organization_id = $1 and status = 'waiting'
           and claimed and due_at > now())
       + (select count(*) from source_updates where organization_id = $1 and status = 'waiting'
           and claimed and due_at > now()) as count`,
    [organizationId],
  );
  return rows[0]!.count;
}
