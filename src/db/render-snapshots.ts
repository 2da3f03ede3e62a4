/** What messages were written with, but for the user: each thing once, found by its hash, and never changed. */
import { sql } from 'kysely';
import type { Json, JsonObject } from '../core/json.ts';
import type { Db } from './pool.ts';

export interface SnapshotPart {
  /** Of the content. */
  id: string;
  content: Json;
}

/** Also notes that they are used now; in the order of their ids, so that two of these never wait crosswise. */
export async function keepRenderSnapshots(db: Db, organizationId: number, parts: SnapshotPart[]): Promise<void> {
  await sql`
    insert into wordings (organization_id, id, content)
    select ${organizationId}, id, content
    from unnest(${parts.map(part => part.id)}::uuid[], ${parts.map(part => JSON.stringify(part.content))}::jsonb[])
      as given (id, content)
    order by id
    on conflict (organization_id, id) do update set used_at = excluded.used_at`.execute(db);
}

export interface SnapshotRow {
  /** What stands around the message: see services/render-snapshots.ts. */
  renderContext: JsonObject;
  message: JsonObject;
  /** The body; null for what is no email. */
  layout: string | null;
}

export async function findRenderSnapshot(db: Db, organizationId: number, id: string): Promise<SnapshotRow | undefined> {
  const { rows } = await sql<SnapshotRow>`
    select w.content as "renderContext", m.content as message, l.content as layout
    from wordings w
    join wordings m on m.organization_id = w.organization_id and m.id = (w.content ->> 'message')::uuid
    left join wordings l on l.organization_id = w.organization_id and l.id = (w.content ->> 'layout')::uuid
    where w.organization_id = ${organizationId} and w.id = ${id}`.execute(db);
  return rows[0];
}
