/**
 * Turns of steps that notify one recipient at a time. A turn is taken once, when the first run of the step in an occurrence is
 * decided, and stored with the run: after a crash the run keeps it. Further runs of the step count on from it, and those of
 * later rounds begin with it again.
 */
import type pg from 'pg';
import type { Db } from '../../connection/pool.ts';

interface RotatingRun {
  occurrenceId: string;
  notificationId: number;
  /** The number of the run. */
  number: number;
  step: number;
}

// If two workers take it at once, because one was given up for dead, the second reads what the first has stored.
const take = {
  name: 'take_turn',
  text: `
    with begun as (
      select min(turn) as turn from steps
      where organization_id = $1 and occurrence_id = $2 and notification_id = $3 and step = $5 and turn is not null
    ), taken as (
      insert into rotations as r (organization_id, notification_id, step, turns)
      select n.organization_id, n.id, $5, 1 from notifications n, begun
      where n.organization_id = $1 and n.id = $3 and begun.turn is null
      on conflict (organization_id, notification_id, step) do update set turns = r.turns + 1
      returning turns
    )
    update steps s set turn = coalesce(s.turn, begun.turn, (select turns - 1 from taken), 0) from begun
    where s.organization_id = $1 and s.occurrence_id = $2 and s.notification_id = $3 and s.number = $4
    returning s.turn`,
};

/** Returns whose turn it is in a run, and takes a turn if the occurrence has none yet. */
export async function takeTurn(
  pool: pg.Pool,
  organizationId: number,
  { occurrenceId, notificationId, number, step }: RotatingRun,
): Promise<number> {
  const values = [organizationId, occurrenceId, notificationId, number, step];
  const { rows } = await pool.query<{ turn: number }>({ ...take, values });
  return rows[0]?.turn ?? 0;
}

/** Returns the turns that the next occurrence would take, by the number of the step. */
export async function listNextTurns(
  db: Db,
  organizationId: number,
  notificationId: number,
): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('rotations')
    .select(['step', 'turns'])
    .where('organization_id', '=', organizationId)
    .where('notification_id', '=', notificationId)
    .execute();
  return new Map(rows.map(({ step, turns }) => [step, turns]));
}
