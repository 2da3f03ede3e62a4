/** Lists steps for the API, and deletes old ones. steps.ts runs them. */
import { sql } from 'kysely';
import type { Db } from '../connection/pool.ts';
import { stepKey } from '../ledger/steps/new-steps.ts';

export interface StepView {
  notification_id: number;
  notification: string | null;
  number: number;
  /** The number of runs in earlier rounds. */
  base: number;
  step: number;
  status: 'waiting' | 'done' | 'skipped' | 'ended';
  is_running: boolean;
  reason: string | null;
  due_at: Date;
  began_at: Date;
  ended_at: Date | null;
  messages: number;
  suppressed: number;
}

/** Lists the stored runs of steps, past and next. Later runs are stored only when the previous one ends. */
export async function listStoredSteps(db: Db, organizationId: number, occurrenceId: string): Promise<StepView[]> {
  const { rows } = await sql<StepView>`
    select s.notification_id, n.name as notification, s.number, s.base, s.step, s.status,
      s.status = 'waiting' and (s.owner is not null or s.cursor is not null) as is_running, s.reason, s.due_at, s.began_at,
      s.ended_at, s.messages, s.suppressed
    from steps s left join notifications n on n.organization_id = s.organization_id and n.id = s.notification_id
    where s.organization_id = ${organizationId} and s.occurrence_id = ${occurrenceId}
    order by s.notification_id, s.number < 0, s.number`.execute(db);
  return rows;
}

/** Deletes steps whose occurrence has been removed by retention. */
export async function deleteOldStepsAcrossTenants(db: Db, max: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from steps s using (
      select ${sql.raw(stepKey.join(', '))} from steps t
      where t.status <> 'waiting' and t.due_at < now() - interval '1 day' and not exists (
        select from occurrences o where o.organization_id = t.organization_id and o.id = t.occurrence_id)
      limit ${max}
    ) old
    where s.organization_id = old.organization_id and s.occurrence_id = old.occurrence_id
      and s.notification_id = old.notification_id and s.number = old.number`.execute(db);
  return Number(numAffectedRows ?? 0);
}
