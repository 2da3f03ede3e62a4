import { sql } from 'kysely';
import type { PauseCause } from '../../core/decision/guards/rate-guard.ts';
import { urgent } from '../../core/trigger.ts';
import type { Db } from '../connection/pool.ts';

export type Pausable = 'organization' | 'project' | 'application' | 'event' | 'channel' | 'key';

/** What the rate guard pauses. */
export const guardedKinds = ['key', 'event', 'application'] as const;
export type GuardedKind = (typeof guardedKinds)[number];

export const isGuardedKind = (noun: Pausable): noun is GuardedKind => guardedKinds.some(kind => kind === noun);

/** What holds an occurrence if it is paused, narrowest first: the table, the column of the occurrence with its id, and the noun. */
const holders = [
  ['events', 'event_id', 'event'],
  ['applications', 'application_id', 'application'],
  ['projects', 'project_id', 'project'],
  ['organizations', 'organization_id', 'organization'],
  ['keys', 'key_id', 'key'],
] as const;

/** SQL text: whether a pause of the rate guard holds the occurrence, which goes on if it is urgent. */
const guardHolds = (occurrence: string) =>
  `(r.pause_cause is distinct from 'guard.rate' or ${occurrence}.priority <> ${urgent})`;

function firstOf(occurrence: string, column: string, by: 'anyone' | 'person' = 'anyone'): string {
  const held = holders.map(([table, key, noun]) => {
    const own = table === 'organizations' ? '' : `r.organization_id = ${occurrence}.organization_id and`;
    const guarded = by === 'person' ? ' and r.pause_cause is null' : ` and ${guardHolds(occurrence)}`;
    return `(select r.${column} from ${table} r
      where ${own} r.id = ${occurrence}.${key} and r.paused_at is not null${isGuardedKind(noun) ? guarded : ''})`;
  });
  return `coalesce(${held.join(', ')})`;
}

/**
 * SQL text: whether an occurrence is paused by what it belongs to, or by the key that triggered it; `occurrence` is its alias. Each is
 * looked up by its key: with `exists`, the planner may read whole tables.
 */
export function isPausedText(occurrence: string): string {
  return `(${firstOf(occurrence, 'paused_at')} is not null)`;
}

/** SQL text: the reason code of the pause of a paused occurrence. */
export function pauseCodeText(occurrence: string): string {
  return `case when ${firstOf(occurrence, 'paused_at', 'person')} is null then 'guard.rate' else 'event.paused' end`;
}

/** SQL text: what the user who paused it gave as the reason. */
export function pauseReasonText(occurrence: string): string {
  return firstOf(occurrence, 'paused_reason');
}

/**
 * Pauses, or resumes with null. Pausing drops nothing: held messages have no due time until the pause ends. Pausing again keeps the
 * time, and the reason unless there is another one. What a guard has paused stays so, and then holds everything.
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
  const guarded = pause
    ? sql`, pause_cause = case when paused_at is not null and pause_cause is not null then 'guard.rate_all' end`
    : sql`, pause_cause = null`;
  const own = noun === 'organization' ? sql`` : sql`and organization_id = ${organizationId}`;
  const changed = noun === 'key' ? sql`` : sql`, updated_at = now()`;
  const all = sql`${columns}${isGuardedKind(noun) ? guarded : sql``}${changed}`;
  await sql`update ${sql.table(`${noun}s`)} set ${all} where id = ${id} ${own}`.execute(db);
}

/** Returns which guard has paused it; null: a person, or it is not paused. */
export async function findPauseCause(
  db: Db,
  organizationId: number,
  { noun, id }: { noun: Pausable; id: number | string },
): Promise<PauseCause | null> {
  if (!isGuardedKind(noun)) return null;
  const { rows } = await sql<{ cause: PauseCause | null }>`
    select pause_cause as cause from ${sql.table(`${noun}s`)}
    where organization_id = ${organizationId} and id = ${id} and paused_at is not null`.execute(db);
  return rows[0]?.cause ?? null;
}
