/** Stores runs of steps when they are planned. */
import type pg from 'pg';

export interface NewStep {
  notification_id: number;
  /** The number of the run. */
  number: number;
  /** The number of the step in the notification. */
  step: number;
  priority: number;
  due_at: Date;
  began_at: Date;
  /** The number of runs in earlier rounds. */
  base: number;
  /** Whose turn it is, from the run before it; null: not decided yet, or it notifies everyone. */
  turn?: number | null;
}

/** The primary key of `steps`. */
export const stepKey = ['organization_id', 'occurrence_id', 'notification_id', 'number'] as const;

const insertSteps = {
  name: 'insert_steps',
  text: `
    insert into steps (${stepKey.join(', ')}, step, priority, due_at, began_at, base, turn)
    select * from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[], $5::smallint[], $6::smallint[],
      $7::timestamptz[], $8::timestamptz[], $9::smallint[], $10::bigint[])
    on conflict do nothing
    returning organization_id, occurrence_id`,
};

type StepKey = { organization_id: number; occurrence_id: string };
type NewStepRow = NewStep & { organization_id: number; occurrence_id: string };

export async function storeNewStepsAcrossTenants(client: pg.PoolClient, steps: NewStepRow[]): Promise<StepKey[]> {
  if (steps.length === 0) return [];
  const names = [...stepKey, 'step', 'priority', 'due_at', 'began_at', 'base'] as const;
  const values = [...names.map(name => steps.map(one => one[name])), steps.map(one => one.turn ?? null)];
  return (await client.query<StepKey>({ ...insertSteps, values })).rows;
}

const beginEscalations = {
  name: 'begin_escalations',
  text: `
    update occurrences o set escalating = o.escalating + g.count, awaits_acknowledgement =
      o.awaits_acknowledgement or g.awaits and o.acknowledged_at is null and o.resolved_at is null
    from unnest($1::bigint[], $2::uuid[], $3::integer[], $4::boolean[]) as g (organization_id, id, count, awaits)
    where o.organization_id = g.organization_id and o.id = g.id`,
};

/** A page of an occurrence, with the first runs of its steps. */
interface StepsPage {
  organization_id: number;
  id: string;
  steps?: NewStep[];
  awaitsAcknowledgement?: boolean;
}

/** Stores the first runs of steps, in the transaction that stores the page of the occurrence. */
export async function beginStepsAcrossTenants(client: pg.PoolClient, pages: readonly StepsPage[]): Promise<void> {
  const some = pages.filter(page => page.steps?.length);
  if (some.length === 0) return;
  const steps = some.flatMap(({ organization_id, id, steps: own }) =>
    own!.map(one => ({ ...one, organization_id, occurrence_id: id })),
  );
  // Runs that already exist are not counted again.
  const stored = await storeNewStepsAcrossTenants(client, steps);
  const nameOf = (organizationId: number, id: string) => `${organizationId}/${id}`;
  const begun = Map.groupBy(stored, one => nameOf(one.organization_id, one.occurrence_id));
  await client.query({
    ...beginEscalations,
    values: [
      some.map(page => page.organization_id),
      some.map(page => page.id),
      some.map(page => begun.get(nameOf(page.organization_id, page.id))?.length ?? 0),
      some.map(page => page.awaitsAcknowledgement ?? false),
    ],
  });
}
