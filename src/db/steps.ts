/**
 * Steps in the ledger. A run of a step is claimed when it is due, decided a page of recipients at a time, and stored in one
 * transaction: the deliveries of the page, where it goes on, and after the last page the next run. So a crash at any moment
 * leaves a run as it was or done, and the run after it comes once.
 *
 * | run              | what happens                                     | becomes                                   |
 * | ---------------- | ------------------------------------------------ | ----------------------------------------- |
 * | —                | the occurrence is expanded, or the run before it | waiting, due later or at once             |
 * | waiting          | due, and claimed                                 | waiting, owned by one                     |
 * | waiting, owned   | a page in between is stored                      | waiting, owned by nobody                  |
 * | waiting, owned   | the last page is stored                          | done; skipped, when nobody was to be told |
 * | waiting          | acknowledged, resolved, cancelled                | ended                                     |
 * | waiting, owned   | its worker died                                  | waiting, owned by nobody                  |
 */

import type pg from 'pg';
import { plainArray } from './arrays.ts';
import { addSuppressedAcrossTenants, type SuppressedCount } from './counts.ts';
import type { NewDelivery } from './deliveries.ts';
import {
  type ClaimedOccurrence,
  type Cursor,
  type ExpansionPage,
  occurrenceColumns,
  type StoredDelivery,
} from './expansion.ts';
import { deliveryArrays, insertDeliveriesText, toDelivery } from './new-deliveries.ts';
import { type NewStep, stepKey, storeNewStepsAcrossTenants } from './new-steps.ts';
import { outstandingText } from './status-text.ts';
import { inTransaction } from './transaction.ts';
import { pickByTurns, type Turn, turnValues } from './turns.ts';
import { completedColumns, completionEventsText } from './webhook-events.ts';
import type { CountedCrash } from './workers.ts';

/** The number of the run that tells that an occurrence is resolved. */
export const resolutionRun = -1;

interface StepRow extends NewStep {
  organization_id: number;
  occurrence_id: string;
  cursor: Cursor | null;
  told: number;
  suppressed: number;
}

export interface StepOccurrence extends ClaimedOccurrence {
  cancelled_at: Date | null;
}

export interface ClaimedStep extends StepRow {
  /** Undefined where it is no longer kept. */
  occurrence: StepOccurrence | undefined;
}

/** What becomes of a run after a page of it has been decided. */
export interface StepPage<Given extends NewDelivery = NewDelivery> extends ExpansionPage<Given> {
  step: ClaimedStep;
  status: 'waiting' | 'done' | 'skipped' | 'ended';
  /** Where it waits again. */
  due_at: Date | null;
  /** What comes after it; null: that was the last one, or there is another page. */
  next: NewStep | null;
}

// Not waited for until it is on disk, as `claim_expanding`.
const claim = {
  name: 'claim_steps',
  text: `
    with ${pickByTurns('steps', stepKey)}, hurry as materialized (
      select set_config('synchronous_commit', 'off', true)
    )
    update steps s set owner = $8
    from picked p, hurry
    where s.organization_id = p.organization_id and s.occurrence_id = p.occurrence_id
      and s.notification_id = p.notification_id and s.number = p.number
    returning s.organization_id, s.occurrence_id, s.notification_id, s.number, s.step, s.priority, s.due_at, s.began_at,
      s.cursor, s.told, s.suppressed`,
};

const findOccurrences = {
  name: 'find_occurrences_of_steps',
  text: `
    select ${occurrenceColumns('o')}, o.cancelled_at
    from unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
    join occurrences o on o.organization_id = wanted.organization_id and o.id = wanted.id`,
};

/** Runs that are due, theirs until they are stored. */
export async function claimStepsAcrossTenants(pool: pg.Pool, turn: Turn): Promise<ClaimedStep[]> {
  const { rows } = await pool.query<StepRow>({ ...claim, values: [...turnValues(turn), turn.owner] });
  if (rows.length === 0) return [];
  const wanted = new Map(rows.map(row => [nameOf(row.organization_id, row.occurrence_id), row]));
  const keys = [...wanted.values()];
  const values = [keys.map(one => one.organization_id), keys.map(one => one.occurrence_id)];
  const found = await pool.query<StepOccurrence>({ ...findOccurrences, values });
  const occurrences = new Map(found.rows.map(row => [nameOf(row.organization_id, row.id), row]));
  return rows.map(row => ({ ...row, occurrence: occurrences.get(nameOf(row.organization_id, row.occurrence_id)) }));
}

const nameOf = (organizationId: number, occurrenceId: string) => `${organizationId}/${occurrenceId}`;

// Whoever acknowledges changes the occurrence first: what is locked here either waits for that and is not found, or makes it
// wait until the page is stored, and then its pending deliveries are cancelled. The keys come in order.
const lockOpen = {
  name: 'lock_escalating',
  text: `
    select g.place from unnest($1::bigint[], $2::uuid[], $3::smallint[]) with ordinality
      as g (organization_id, id, number, place)
    join occurrences o on o.organization_id = g.organization_id and o.id = g.id
    where o.cancelled_at is null and (g.number = ${resolutionRun} or o.acknowledged_at is null and o.resolved_at is null)
    for update of o`,
};

const lockOwned = {
  name: 'lock_owned_steps',
  text: `
    select g.place from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[]) with ordinality
      as g (organization_id, occurrence_id, notification_id, number, place)
    join steps s on s.organization_id = g.organization_id and s.occurrence_id = g.occurrence_id
      and s.notification_id = g.notification_id and s.number = g.number
    where s.status = 'waiting' and s.owner = $5
    for update of s`,
};

const insertDeliveries = {
  name: 'store_step_deliveries',
  text: `
    with stored as (
      ${insertDeliveriesText} on conflict do nothing
      returning d.id, d.occurrence_id, d.notification_id, d.channel_id, d.user_id, d.address, d.step, d.status
    )
    select now() as stored_at, coalesce(json_agg(json_build_array(
      occurrence_id, notification_id, step, channel_id, user_id, address, id, status)), '[]') as rows
    from stored`,
};

type StoredRow = [
  occurrence: string,
  notification: number,
  step: number,
  channel: number,
  user: number,
  address: string | null,
  id: number,
  status: NewDelivery['status'],
];

const advance = {
  name: 'advance_steps',
  text: `
    update steps s set status = g.status, reason = g.reason, cursor = g.cursor, owner = null,
      due_at = coalesce(g.due_at, s.due_at), told = s.told + g.told, suppressed = s.suppressed + g.suppressed,
      ended_at = case when g.status <> 'waiting' then now() end
    from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::jsonb[],
      $8::timestamptz[], $9::integer[], $10::integer[]) as g (
      organization_id, occurrence_id, notification_id, number, status, reason, cursor, due_at, told, suppressed)
    where s.organization_id = g.organization_id and s.occurrence_id = g.occurrence_id
      and s.notification_id = g.notification_id and s.number = g.number`,
};

const escalating = 'greatest(0, o.escalating - g.ended)';
const outstanding = `${outstandingText('o')} + g.deliveries - g.suppressed + ${escalating}`;

/** What webhooks are told of an occurrence that came to its end. */
const endedNow = `${completedColumns}, case when o.status = 'completed' and o.completed_at = now() then o.outcome end as outcome`;

const advanceOccurrences = {
  name: 'advance_escalations',
  text: `
    with advanced as (
      update occurrences o set deliveries = o.deliveries + g.deliveries, suppressed = o.suppressed + g.suppressed,
        escalating = ${escalating}, reason = coalesce(g.reason, o.reason),
        status = case when o.status = 'sending' and ${outstanding} <= 0 then 'completed' else o.status end,
        completed_at = case when o.status = 'sending' and ${outstanding} <= 0 then now() else o.completed_at end
      from unnest($1::bigint[], $2::uuid[], $3::integer[], $4::integer[], $5::integer[], $6::text[]) as g (
        organization_id, id, deliveries, suppressed, ended, reason)
      where o.organization_id = g.organization_id and o.id = g.id
      returning ${endedNow}
    ), ${completionEventsText('advanced')}
    select from advanced`,
};

const releaseThese = {
  name: 'release_these_steps',
  text: `
    update steps s set owner = null
    from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[]) as g (
      organization_id, occurrence_id, notification_id, number)
    where s.organization_id = g.organization_id and s.occurrence_id = g.occurrence_id
      and s.notification_id = g.notification_id and s.number = g.number and s.status = 'waiting' and s.owner = $5`,
};

/**
 * Stores the pages of claimed runs, all or none. Returns those that are theirs no longer, because somebody has acknowledged or
 * cancelled meanwhile: then nothing is stored, they are released, and the others may be tried again.
 */
export async function storeStepPagesAcrossTenants<Given extends NewDelivery>(
  pool: pg.Pool,
  owner: number,
  pages: StepPage<Given>[],
  /** What is still to be decided in the transaction itself. */
  decide: (client: pg.PoolClient) => Promise<void>,
): Promise<{ stored: StoredDelivery<Given>[]; lost: Set<StepPage<Given>> }> {
  const sorted = pages.toSorted(
    (a, b) => a.organization_id - b.organization_id || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
  const result = await inTransaction<{ stored: StoredDelivery<Given>[]; lost: Set<StepPage<Given>> }>(
    pool,
    async (client, { rollback }) => {
      await decide(client);
      const lost = await findLost(client, owner, sorted);
      if (lost.size > 0) return rollback({ stored: [], lost });
      return { stored: await store(client, owner, sorted), lost };
    },
  );
  if (result.lost.size > 0) {
    await pool.query({ ...releaseThese, values: [...keysOf([...result.lost]), owner] });
  }
  return result;
}

async function findLost<Given extends NewDelivery>(client: pg.PoolClient, owner: number, pages: StepPage<Given>[]) {
  const open = pages.filter(page => page.status !== 'ended');
  const placesOf = async (statement: { name: string; text: string }, values: unknown[], of: StepPage<Given>[]) => {
    const { rows } = await client.query<{ place: number }>({ ...statement, values });
    const found = new Set(rows.map(row => Number(row.place)));
    return of.filter((_, i) => !found.has(i + 1));
  };
  const [organizations, occurrences, , numbers] = keysOf(open);
  const closed = await placesOf(lockOpen, [organizations, occurrences, numbers], open);
  const taken = await placesOf(lockOwned, [...keysOf(pages), owner], pages);
  return new Set([...closed, ...taken]);
}

function keysOf(pages: StepPage[]) {
  return [
    pages.map(page => page.organization_id),
    pages.map(page => page.id),
    pages.map(page => page.step.notification_id),
    pages.map(page => page.step.number),
  ] as const;
}

async function store<Given extends NewDelivery>(
  client: pg.PoolClient,
  owner: number,
  pages: StepPage<Given>[],
): Promise<StoredDelivery<Given>[]> {
  const { rows } = await client.query<{ stored_at: Date; rows: StoredRow[] }>({
    ...insertDeliveries,
    values: deliveryArrays(owner, pages),
  });
  const { stored_at, rows: inserted } = rows[0]!;
  const byRun = Map.groupBy(inserted, ([occurrence, notification, step]) => `${occurrence} ${notification} ${step}`);
  const ownOf = (page: StepPage) => byRun.get(`${page.id} ${page.step.notification_id} ${page.step.number}`) ?? [];
  const counts = pages.map(page => {
    const own = ownOf(page);
    const suppressed = own.filter(row => row[7] === 'suppressed').length;
    return { told: own.length - suppressed, suppressed };
  });
  await client.query({
    ...advance,
    values: [
      ...keysOf(pages),
      pages.map(page => page.status),
      pages.map(page => page.reason),
      pages.map(page => page.cursor && JSON.stringify(page.cursor)),
      pages.map(page => page.due_at),
      plainArray(counts.map(one => one.told)),
      plainArray(counts.map(one => one.suppressed)),
    ],
  });
  await storeNewStepsAcrossTenants(
    client,
    pages.flatMap(({ organization_id, id, next }) => (next ? [{ ...next, organization_id, occurrence_id: id }] : [])),
  );
  await advanceAll(client, pages, counts);
  await addSuppressedAcrossTenants(
    client,
    pages.flatMap(page => suppressedOf(page, ownOf(page))),
  );
  return pages.flatMap(page => {
    const ids = new Map(ownOf(page).map(([, , , channel, user, address, id]) => [`${channel} ${user} ${address}`, id]));
    return page.deliveries.flatMap(given => {
      const id = ids.get(`${given.channel_id} ${given.user_id} ${given.address}`);
      return id === undefined || given.status !== 'sending'
        ? []
        : [{ delivery: toDelivery(page, given, id, stored_at), given }];
    });
  });
}

/** Once for each occurrence, of which several notifications may have steps. */
async function advanceAll(client: pg.PoolClient, pages: StepPage[], counts: { told: number; suppressed: number }[]) {
  const totals = new Map<string, { page: StepPage; deliveries: number; suppressed: number; ended: number }>();
  for (const [i, page] of pages.entries()) {
    const name = nameOf(page.organization_id, page.id);
    const total = totals.get(name) ?? { page, deliveries: 0, suppressed: 0, ended: 0 };
    totals.set(name, total);
    total.deliveries += counts[i]!.told + counts[i]!.suppressed;
    total.suppressed += counts[i]!.suppressed;
    if (page.status !== 'waiting' && !page.next) total.ended++;
  }
  const all = [...totals.values()];
  await client.query({
    ...advanceOccurrences,
    values: [
      all.map(one => one.page.organization_id),
      all.map(one => one.page.id),
      all.map(one => one.deliveries),
      all.map(one => one.suppressed),
      all.map(one => one.ended),
      all.map(({ page }) => (page.reason === 'gave_up' || page.reason?.startsWith('limit.') ? page.reason : null)),
    ],
  });
}

function suppressedOf({ organization_id, event_id }: StepPage, rows: StoredRow[]): SuppressedCount[] {
  const byChannel = Map.groupBy(
    rows.filter(row => row[7] === 'suppressed'),
    row => row[3],
  );
  return [...byChannel].map(([channel_id, { length: count }]) => ({ organization_id, event_id, channel_id, count }));
}

const releaseOwned = {
  name: 'release_steps',
  text: `update steps set owner = null where status = 'waiting' and owner is not null and owner = $1`,
};

/** Of a worker that is gone, or of this one between two rounds. */
export async function releaseStepsAcrossTenants(pool: pg.Pool, owner: number): Promise<number> {
  const { rowCount } = await pool.query({ ...releaseOwned, values: [owner] });
  return rowCount!;
}

/** Counts that running a step has ended a worker; the last time, its escalation ends. Returns whether it did. */
export async function countStepCrash(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  most: number,
): Promise<CountedCrash> {
  const { rows } = await pool.query<CountedCrash>(
    `with crashed as (
      update steps set crashes = crashes + 1, owner = null,
        status = case when crashes + 1 >= $3 then 'ended' else status end,
        reason = case when crashes + 1 >= $3 then 'crashed' else reason end,
        ended_at = case when crashes + 1 >= $3 then now() end
      where organization_id = $1 and occurrence_id = $2 and status = 'waiting' and owner is not null
      returning status
    ), g as (
      select 0 as deliveries, 0 as suppressed, count(*)::int as ended from crashed where status = 'ended'
    ), ended as (
      update occurrences o set escalating = ${escalating},
        status = case when o.status = 'sending' and ${outstanding} <= 0 then 'completed' else o.status end,
        completed_at = case when o.status = 'sending' and ${outstanding} <= 0 then now() else o.completed_at end
      from g where g.ended > 0 and o.organization_id = $1 and o.id = $2
      returning ${endedNow}
    ), ${completionEventsText('ended')}
    select coalesce(bool_or(status = 'ended'), false) as "isSetAside",
      array(select outcome from ended where outcome is not null) as ended from crashed`,
    [organizationId, occurrenceId, most],
  );
  return rows[0]!;
}
