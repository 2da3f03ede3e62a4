import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';

export type Pausable = 'organization' | 'project' | 'application' | 'event' | 'channel' | 'key';

/** What holds an occurrence if it is paused, narrowest first: the table, and the column of the occurrence with its id. */
const holders = [
  ['events', 'event_id'],
  ['applications', 'application_id'],
  ['projects', 'project_id'],
  ['organizations', 'organization_id'],
  ['keys', 'key_id'],
] as const;

const holderText = (occurrence: string, [table, key]: (typeof holders)[number], column: string) => {
  const own = table === 'organizations' ? '' : `r.organization_id = ${occurrence}.organization_id and`;
  return `(select r.${column} from ${table} r where ${own} r.id = ${occurrence}.${key} and r.paused_at is not null)`;
};

/**
 * SQL text: whether an occurrence is paused by what it belongs to, or by the key that triggered it; `occurrence` is its alias. Each is
 * looked up by its key: with `exists`, the planner may read whole tables.
 */
export function isPausedText(occurrence: string): string {
  return `(${firstOf(occurrence, 'paused_at')} is not null)`;
}

/** SQL text: what the user who paused it gave as the reason. */
export function pauseReasonText(occurrence: string): string {
  return firstOf(occurrence, 'paused_reason');
}

function firstOf(occurrence: string, column: string): string {
  return `coalesce(${holders.map(one => holderText(occurrence, one, column)).join(', ')})`;
}

/**
 * Pauses, or resumes with null. Pausing drops nothing: held messages have no due time until the pause ends. Pausing again keeps the
 * time, and the reason unless there is another one.
 */
export async function setPaused(
  db: Db,
  organizationId: number,
  { noun, id }: { noun: Pausable; id: number | string },
  pause: { reason: string | null } | null,
): Promise<void> {
  const columns = pause
    ? sql`paused_at = coalesce(paused_at, now()),
        paused_reason = coalesce(${pause.reason}, case when paused_at is not null then paused_reason end)`
    : sql`paused_at = null, paused_reason = null`;
  const own = noun === 'organization' ? sql`` : sql`and organization_id = ${organizationId}`;
  const changed = noun === 'key' ? sql`` : sql`, updated_at = now()`;
  await sql`update ${sql.table(`${noun}s`)} set ${columns}${changed} where id = ${id} ${own}`.execute(db);
}
