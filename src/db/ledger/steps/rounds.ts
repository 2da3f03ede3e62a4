/**
 * Rounds of steps. An acknowledgement may end: it expires, is a snooze, or is taken back. The steps then run again from the first one,
 * in a round with its own run numbers, so that what earlier rounds sent or cancelled stays as it is. The first run of the next round
 * is stored with the acknowledgement and due when that ends. The run itself ends it, in the transaction that stores its first page.
 * Each answer ends the runs that wait, so that at most one round is planned.
 */
import type pg from 'pg';
import { runLimit, stepLimits } from '../../../core/decision/steps.ts';
import type { ResponseKind } from '../../../core/history/responses.ts';
import { answerEventsText } from '../webhooks/events.ts';
import { queueSourceUpdates } from '../webhooks/source-updates.ts';

/** A notification whose steps run again, and when. */
export interface PlannedRound {
  notificationId: number;
  priority: number;
  due_at: Date;
}

/** No one acknowledges so often. Leaves room for the runs of the round. */
const maxNumber = runLimit - stepLimits.runs;

const planRounds = {
  text: `
    with planned as (
      insert into steps (organization_id, occurrence_id, notification_id, number, step, priority, due_at, began_at, base)
      select $1, $2, g.notification_id, coalesce(s.last, 0) + 1, 1, g.priority, g.due_at, g.due_at, coalesce(s.last, 0)
      from unnest($3::bigint[], $4::smallint[], $5::timestamptz[]) as g (notification_id, priority, due_at), lateral (
        select max(number) as last from steps
        where organization_id = $1 and occurrence_id = $2 and notification_id = g.notification_id and number > 0) s
      where case $6 when 'begun' then s.last < ${maxNumber} when 'unbegun' then s.last is null else coalesce(s.last, 0) < ${maxNumber} end
      on conflict do nothing returning due_at
    ), reopened as (
      update occurrences o set escalating = o.escalating + (select count(*) from planned), completed_at = null,
        status = case when o.status = 'completed' then 'sending' else o.status end,
        acknowledged_until = case when o.acknowledged_at is not null then (select min(due_at) from planned) end
      where o.organization_id = $1 and o.id = $2 and exists (select from planned)
    )
    select pg_notify('belfry_work', '') from planned`,
};

/**
 * Plans a round for those of the notifications that have begun to escalate, that have not, or for all. The occurrence is locked, and no runs
 * of these notifications wait. Returns the number of rounds.
 */
export async function planNextRounds(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  rounds: readonly PlannedRound[],
  which: 'begun' | 'unbegun' | 'all' = 'begun',
): Promise<number> {
  if (rounds.length === 0) return 0;
  const { rowCount } = await client.query({
    ...planRounds,
    values: [
      organizationId,
      id,
      rounds.map(one => one.notificationId),
      rounds.map(one => one.priority),
      rounds.map(one => one.due_at),
      which,
    ],
  });
  return rowCount!;
}

/**
 * Lets further triggers with its key join the occurrence until then. Runs before the occurrence is locked, as triggers lock the key
 * first.
 */
export async function keepKeyOpen(client: pg.PoolClient, organizationId: number, id: string, until: Date) {
  await client.query({
    text: `
      update dedup_keys d set closes_at = $3 from occurrences o
      where o.organization_id = $1 and o.id = $2 and d.organization_id = $1 and d.event_id = o.event_id
        and d.key = o.dedup_key and d.occurrence_id = o.id and d.closes_at < $3`,
    values: [organizationId, id, until],
  });
}

export interface NewResponse {
  kind: ResponseKind;
  by: string | null;
  until?: Date | null;
}

const numberText = (row: string) => `(
        select coalesce(max(number), 0) + 1 from responses
        where organization_id = ${row}.organization_id and occurrence_id = ${row}.id)`;

/** Records a response to an occurrence that is locked. */
export async function recordResponse(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  { kind, by, until = null }: NewResponse,
): Promise<void> {
  await client.query({
    text: `
      insert into responses (organization_id, occurrence_id, number, kind, by, until)
      select o.organization_id, o.id, ${numberText('o')}, $3, $4, $5
      from (values ($1::bigint, $2::uuid)) as o (organization_id, id)`,
    values: [organizationId, id, kind, by, until],
  });
}

// Several notifications may begin a round at the same time: the first of them ends the acknowledgement.
const reopen = {
  text: `
    with before as (
      select o.organization_id, o.id, o.snoozed_by, o.acknowledged_until, g.awaits
      from unnest($1::bigint[], $2::uuid[], $3::boolean[], $4::timestamptz[]) as g (organization_id, id, awaits, due_at)
      join occurrences o on o.organization_id = g.organization_id and o.id = g.id
      where o.acknowledged_until <= g.due_at and o.resolved_at is null and o.cancelled_at is null
    ), reopened as (
      update occurrences o set acknowledged_at = null, acknowledged_by = null, acknowledged_until = null, acknowledged_users = null, snoozed_by = null,
        round_began_at = b.acknowledged_until, awaits_acknowledgement = b.awaits
      from before b where o.organization_id = b.organization_id and o.id = b.id
      returning o.organization_id, o.id, o.event_id, o.correlation_id, b.acknowledged_until as began_at,
        case when b.snoozed_by is null then 'expired' else 'snooze_ended' end as kind
    ), recorded as (
      insert into responses (organization_id, occurrence_id, number, kind, at)
      select organization_id, id, ${numberText('r')}, kind, began_at from reopened r
    ), updates as (
      insert into message_updates (organization_id, occurrence_id, delivery_id, change, changed_at)
      select u.organization_id, u.occurrence_id, 0, 'reopened', now() from reopened r, lateral (
        select distinct organization_id, occurrence_id from message_updates
        where organization_id = r.organization_id and occurrence_id = r.id) u
      on conflict (organization_id, occurrence_id, delivery_id) do update set change = excluded.change,
        changed_by = null, changed_at = excluded.changed_at, until = null, due_at = now(), claimed = false, attempts = 0, cursor = 0
    ), ${answerEventsText('reopened', 'occurrence.reopened', `'reason', c.kind`)}
    -- Wakes those that update messages and report to senders.
    select organization_id, id, kind, pg_notify('belfry_stop', organization_id || ' ' || id) from reopened`,
};

interface ReopeningPage {
  organization_id: number;
  id: string;
  step: { due_at: Date };
  reopens?: { awaitsAcknowledgement: boolean };
}

/** Ends the acknowledgements of occurrences whose next round begins with these pages. Their rows are locked. */
export async function reopenAcrossTenants(client: pg.PoolClient, pages: readonly ReopeningPage[]): Promise<void> {
  const byOccurrence = Map.groupBy(
    pages.filter(page => page.reopens),
    page => `${page.organization_id}/${page.id}`,
  );
  if (byOccurrence.size === 0) return;
  const groups = [...byOccurrence.values()];
  const { rows } = await client.query<{ organization_id: number; id: string; kind: 'expired' | 'snooze_ended' }>({
    ...reopen,
    values: [
      groups.map(([first]) => first!.organization_id),
      groups.map(([first]) => first!.id),
      groups.map(own => own.some(({ reopens }) => reopens!.awaitsAcknowledgement)),
      groups.map(own => new Date(Math.max(...own.map(({ step }) => step.due_at.getTime())))),
    ],
  });
  for (const { organization_id, id, kind } of rows) {
    const by = kind === 'expired' ? 'the expiry of the acknowledgement' : 'the end of the snooze';
    await queueSourceUpdates(client, organization_id, id, { state: 'unacknowledged', by });
  }
}
