/** What is known about deliveries besides their status: conditions on `deliveries d` for the states that refine it. */
import { type RawBuilder, sql } from 'kysely';
import type { RefinedState } from '../../core/history/states.ts';

const keyOf = (table: string) => sql`${sql.ref(`${table}.organization_id`)} = d.organization_id
    and ${sql.ref(`${table}.occurrence_id`)} = d.occurrence_id and ${sql.ref(`${table}.delivery_id`)} = d.id`;

const isComplaint = sql`f.type = 'complained'`;
const isRetraction = sql`m.delivery_id > 0 and m.status = 'done' and m.log -> -1 ->> 'action' = 'retract'`;

/** Whether a sent message was reported as spam, or removed again. One probe of a primary key each. */
export const isComplained = sql`(d.status = 'sent' and exists (select from feedback f where ${keyOf('f')} and ${isComplaint}))`;
export const isRetracted = sql`(d.status = 'sent'
    and exists (select from message_updates m where ${keyOf('m')} and ${isRetraction}))`;

const isTimed = sql`d.status = 'pending' and d.due_at <> 'infinity'`;

const conditions: Record<RefinedState, RawBuilder<unknown>> = {
  bounced: sql`d.status = 'failed' and d.reason = 'bounced'`,
  held: sql`d.status = 'pending' and d.due_at = 'infinity'`,
  waiting_digest: sql`${isTimed} and d.reason = 'digest'`,
  waiting_quiet_hours: sql`${isTimed} and d.reason = 'quiet_hours'`,
  waiting_silence: sql`${isTimed} and d.reason = 'silenced'`,
  waiting: sql`${isTimed} and d.reason not in ('digest', 'quiet_hours', 'silenced')`,
  dry_run: sql`d.status = 'suppressed' and d.reason = 'dry_run'`,
  complained: isComplained,
  retracted: isRetracted,
};

export function conditionOfState(state: RefinedState): RawBuilder<unknown> {
  return conditions[state];
}

/** The newest reports or retractions that are searched. */
const maxSearched = 10_000;

/** Returns a condition on deliveries `d` that finds the few with this state by themselves; undefined if they have to be scanned for. */
export function keysOfState(state: RefinedState, organizationId: number): RawBuilder<unknown> | undefined {
  if (state === 'complained') {
    return sql`(d.occurrence_id, d.id) in (select f.occurrence_id, f.delivery_id from feedback f
      where f.organization_id = ${organizationId} and ${isComplaint} order by f.id desc limit ${maxSearched})`;
  }
  if (state !== 'retracted') return undefined;
  return sql`(d.occurrence_id, d.id) in (select m.occurrence_id, m.delivery_id from message_updates m
      where m.organization_id = ${organizationId} and ${isRetraction} order by m.occurrence_id desc limit ${maxSearched})`;
}
