/**
 * Render snapshots: what messages were rendered from, except for the user. Each part is stored once, by its hash, and
 * never changed.
 */
import { sql } from 'kysely';
import type { Json, JsonObject } from '../../../core/json.ts';
import type { Db } from '../../connection/pool.ts';

export interface SnapshotPart {
  /** The hash of the content. */
  id: string;
  content: Json;
}

/**
 * Stores the parts and records that they are used now. They are sorted by id, so that two of these statements cannot
 * deadlock.
 */
export async function keepRenderSnapshots(db: Db, organizationId: number, parts: SnapshotPart[]): Promise<void> {
  await sql`
    insert into render_snapshots (organization_id, id, content)
    select ${organizationId}, id, content
    from unnest(${parts.map(part => part.id)}::uuid[], ${parts.map(part => JSON.stringify(part.content))}::jsonb[])
      as given (id, content)
    order by id
    on conflict (organization_id, id) do update set used_at = excluded.used_at`.execute(db);
}

interface SnapshotRow {
  /** The context around the message: see pipeline/rendering/render-snapshots.ts. */
  renderContext: JsonObject;
  message: JsonObject;
  /** The layout's body; null unless it is an email. */
  layout: string | null;
}

export async function findRenderSnapshot(db: Db, organizationId: number, id: string): Promise<SnapshotRow | undefined> {
  const { rows } = await sql<SnapshotRow>`
    select s.content as "renderContext", m.content as message, l.content as layout
    from render_snapshots s
    join render_snapshots m on m.organization_id = s.organization_id and m.id = (s.content ->> 'message')::uuid
    left join render_snapshots l on l.organization_id = s.organization_id and l.id = (s.content ->> 'layout')::uuid
    where s.organization_id = ${organizationId} and s.id = ${id}`.execute(db);
  const row = rows[0];
  // Snapshots of earlier versions have the old name.
  const maxItems = row?.renderContext.most_items;
  return row && { ...row, renderContext: { ...row.renderContext, ...(maxItems && { max_items: maxItems }) } };
}
