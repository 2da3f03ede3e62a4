/** What organizations have stored encrypted: the columns `secrets`, whichever table they are in. */
import { sql } from 'kysely';
import type { PageRequest } from '../connection/page.ts';
import type { Db, Row } from '../connection/pool.ts';
import type { Tables } from '../connection/types.ts';

/** Derived from the schema, so that none is forgotten. */
export type SealedTable = { [T in keyof Tables]: 'secrets' extends keyof Tables[T] ? T : never }[keyof Tables];

export type SealedRow<T extends SealedTable> = Row<T> & {
  id: number;
  organization_id: number;
  secrets: Buffer;
  /** Slug. */
  organization: string;
  /** Slug of a channel's project. */
  project: string | null;
};

/** A page of what is stored encrypted: of one organization, or of all. */
export interface SealedPage extends PageRequest {
  organizationId?: number | undefined;
}

export async function listSealedAcrossTenants<T extends SealedTable>(
  db: Db,
  table: T,
  { after, limit, organizationId }: SealedPage,
): Promise<SealedRow<T>[]> {
  const { rows } = await sql<SealedRow<T>>`
    select t.*, o.slug as organization, p.slug as project
    from ${sql.table(table)} t
    join organizations o on o.id = t.organization_id
    left join projects p on p.organization_id = t.organization_id and p.id = ${table === 'channels' ? sql.ref('t.project_id') : null}
    where t.secrets is not null and t.id > ${after}
      and ${organizationId === undefined ? sql`true` : sql`t.organization_id = ${organizationId}`}
    order by t.id limit ${limit}`.execute(db);
  return rows;
}

/** Returns false if they were changed, or the row was deleted, since they were read. */
export async function replaceSecrets(
  db: Db,
  organizationId: number,
  table: SealedTable,
  id: number,
  { from, to }: { from: Buffer; to: Buffer },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set secrets = ${to}
    where organization_id = ${organizationId} and id = ${id} and secrets = ${from}`.execute(db);
  return numAffectedRows === 1n;
}
