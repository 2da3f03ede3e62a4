import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

export type Pausable = 'application' | 'event' | 'channel';

/**
 * Pauses, or resumes with null. Pausing drops nothing: held messages have no due time until the pause ends. Pausing again keeps the
 * time, and the reason unless there is another one.
 */
export async function setPaused(
  db: Db,
  organizationId: number,
  { noun, id }: { noun: Pausable; id: number },
  pause: { reason: string | null } | null,
): Promise<void> {
  const columns = pause
    ? sql`paused_at = coalesce(paused_at, now()),
        paused_reason = coalesce(${pause.reason}, case when paused_at is not null then paused_reason end)`
    : sql`paused_at = null, paused_reason = null`;
  await sql`
    update ${sql.table(`${noun}s`)} set ${columns}, updated_at = now()
    where organization_id = ${organizationId} and id = ${id}`.execute(db);
}
