/**
 * Steps in the ledger. A run of a step is claimed when it is due, decided a page of recipients at a time, and stored in one
 * transaction: the deliveries of the page, the cursor, and after the last page the next run. A crash therefore leaves a run
 * either unchanged or done, and the next run is planned exactly once.
 *
 * | state            | event                                            | next state                                |
 * | ---------------- | ------------------------------------------------ | ----------------------------------------- |
 * | —                | the occurrence or the previous run is expanded   | waiting, due later or immediately         |
 * | waiting          | due, and claimed                                 | waiting, owned                            |
 * | waiting, owned   | a page other than the last is stored             | waiting                                   |
 * | waiting, owned   | the last page is stored                          | done; skipped if no one was notified      |
 * | waiting, owned   | a silence matches                                | waiting, due when the silence ends        |
 * | waiting          | acknowledged, resolved, cancelled                | ended                                     |
 * | —                | acknowledged until a time: it expires or is a snooze | waiting, due then: see rounds.ts      |
 * | —                | an acknowledgement is taken back                 | waiting, due immediately                  |
 * | waiting, owned   | its worker died                                  | waiting                                   |
 */

import type pg from 'pg';
import { plainArray } from '../../connection/arrays.ts';
import { columnsText } from '../columns.ts';
import { addSuppressedAcrossTenants } from '../counts.ts';
import type { Cursor } from '../cursor.ts';
import type { NewDelivery } from '../deliver/deliveries.ts';
import {
  type ClaimedOccurrence,
  type ExpansionPage,
  occurrenceColumns,
  type StoredDelivery,
  silencedOf,
  suppressedCounts,
} from '../expand/expand.ts';
import {
  claimedDeliveries,
  newDeliveryValues,
  pairWithIds,
  storeDeliveriesText,
  storedIdsText,
} from '../expand/new-deliveries.ts';
import { extendSilencedAcrossTenants, recordSilencedAcrossTenants } from '../expand/silenced.ts';
import { type ClaimRequest, claimText, claimValues } from '../round-robin.ts';
import { outstandingText } from '../status-text.ts';
import { completedColumns, completionEventsText } from '../webhooks/events.ts';
import type { CountedCrash } from '../workers.ts';
import { type NewStep, stepKey, storeNewStepsAcrossTenants } from './new-steps.ts';
import { reopenAcrossTenants } from './rounds.ts';

/** The number of the run that notifies recipients that the occurrence is resolved. */
export const resolutionRun = -1;

interface StepRow extends NewStep {
  organization_id: number;
  occurrence_id: string;
  cursor: Cursor | null;
  messages: number;
  suppressed: number;
}

export interface ClaimedStep extends StepRow {
  /** Undefined if it was deleted by retention. */
  occurrence: ClaimedOccurrence | undefined;
}

/** The state of a run after a page of it was decided. */
export interface StepPage<Planned extends NewDelivery = NewDelivery> extends ExpansionPage<Planned> {
  step: ClaimedStep;
  /** Set if the run begins a round because the acknowledgement ends; whether it asks for another. */
  reopens?: { awaitsAcknowledgement: boolean };
  status: 'waiting' | 'done' | 'skipped' | 'ended';
  /** When it is due again. */
  due_at: Date | null;
  /** The run after it; null: this was the last run, or there is another page. */
  next: NewStep | null;
}

const claim = {
  name: 'claim_steps',
  text: claimText({
    queue: 'steps',
    alias: 's',
    key: stepKey,
    returning: columnsText('s', [
      ...stepKey,
      'step',
      'priority',
      'due_at',
      'began_at',
      'base',
      'turn',
      'cursor',
      'messages',
      'suppressed',
    ]),
    isAsynchronous: true,
  }),
};

const findOccurrences = {
  name: 'find_occurrences_of_steps',
  text: `
    select ${columnsText('o', occurrenceColumns)}
    from unnest($1::bigint[], $2::uuid[]) as wanted (organization_id, id)
    join occurrences o on o.organization_id = wanted.organization_id and o.id = wanted.id`,
};

/** Claims due runs, until their page is stored. */
export async function claimStepsAcrossTenants(pool: pg.Pool, request: ClaimRequest): Promise<ClaimedStep[]> {
  const { rows } = await pool.query<StepRow>({ ...claim, values: claimValues(request) });
  if (rows.length === 0) return [];
  const byOccurrence = new Map(rows.map(row => [nameOf(row.organization_id, row.occurrence_id), row]));
  const keys = [...byOccurrence.values()];
  const values = [keys.map(one => one.organization_id), keys.map(one => one.occurrence_id)];
  const found = await pool.query<ClaimedOccurrence>({ ...findOccurrences, values });
  const occurrences = new Map(found.rows.map(row => [nameOf(row.organization_id, row.id), row]));
  return rows.map(row => ({ ...row, occurrence: occurrences.get(nameOf(row.organization_id, row.occurrence_id)) }));
}

const nameOf = (organizationId: number, occurrenceId: string) => `${organizationId}/${occurrenceId}`;

// An acknowledgement updates the occurrence first: either this lock waits for it and then finds no row, or the
// acknowledgement waits until the page is stored, and then cancels its pending deliveries. A run that is due when the
// acknowledgement ends, or is put off until then, may be stored. If a recipient has acknowledged alone, the page is decided again. The
// keys are sorted.
const lockOpen = {
  name: 'lock_escalating',
  text: `
    select g.position from unnest($1::bigint[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::integer[]) with ordinality
      as g (organization_id, id, number, due_at, acknowledged, position)
    join occurrences o on o.organization_id = g.organization_id and o.id = g.id
    where o.cancelled_at is null and coalesce(jsonb_array_length(o.acknowledged_users), 0) = g.acknowledged and (g.number = ${resolutionRun}
      or o.resolved_at is null and (o.acknowledged_at is null or o.acknowledged_until <= g.due_at))
    for update of o`,
};

const lockOwned = {
  name: 'lock_owned_steps',
  text: `
    select g.position from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[]) with ordinality
      as g (organization_id, occurrence_id, notification_id, number, position)
    join steps s on s.organization_id = g.organization_id and s.occurrence_id = g.occurrence_id
      and s.notification_id = g.notification_id and s.number = g.number
    where s.status = 'waiting' and s.owner = $5
    for update of s`,
};

const insertDeliveries = {
  name: 'store_step_deliveries',
  text: `
    with ${storeDeliveriesText({ owner: '$1', first: 2, condition: 'on conflict do nothing' })}
    select ${storedIdsText}, array(select id from stored) as inserted`,
};

const advance = {
  name: 'advance_steps',
  text: `
    update steps s set status = g.status, reason = g.reason, cursor = g.cursor, owner = null,
      due_at = coalesce(g.due_at, s.due_at), messages = s.messages + g.messages, suppressed = s.suppressed + g.suppressed,
      ended_at = case when g.status <> 'waiting' then now() end
    from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::jsonb[],
      $8::timestamptz[], $9::integer[], $10::integer[]) as g (
      organization_id, occurrence_id, notification_id, number, status, reason, cursor, due_at, messages, suppressed)
    where s.organization_id = g.organization_id and s.occurrence_id = g.occurrence_id
      and s.notification_id = g.notification_id and s.number = g.number`,
};

const escalating = 'greatest(0, o.escalating - g.ended)';
const outstanding = `${outstandingText('o')} + g.deliveries - g.suppressed + ${escalating}`;

/** SQL text: the columns for the webhooks of an occurrence that ended. */
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
 * Locks the pages' occurrences and runs until the transaction ends. Returns the pages that no longer belong to the
 * worker, because their occurrence was acknowledged or cancelled meanwhile.
 */
export async function lockRunsAcrossTenants<Page extends StepPage>(
  client: pg.PoolClient,
  owner: number,
  pages: readonly Page[],
): Promise<Set<Page>> {
  const sorted = pages.toSorted(
    (a, b) => a.organization_id - b.organization_id || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
  const open = sorted.filter(page => page.status !== 'ended');
  const missing = async (statement: { name: string; text: string }, values: unknown[], of: Page[]) => {
    const { rows } = await client.query<{ position: number }>({ ...statement, values });
    const found = new Set(rows.map(row => Number(row.position)));
    return of.filter((_, i) => !found.has(i + 1));
  };
  const [organizations, occurrences, , numbers] = keysOf(open);
  const due = open.map(page => page.due_at ?? page.step.due_at);
  const acknowledged = open.map(page => page.step.occurrence?.acknowledged_users?.length ?? 0);
  const closed = await missing(lockOpen, [organizations, occurrences, numbers, due, acknowledged], open);
  const taken = await missing(lockOwned, [...keysOf(sorted), owner], sorted);
  return new Set([...closed, ...taken]);
}

/** Releases claimed runs. */
export async function releaseRunsAcrossTenants(
  pool: pg.Pool,
  owner: number,
  pages: readonly StepPage[],
): Promise<void> {
  await pool.query({ ...releaseThese, values: [...keysOf(pages), owner] });
}

function keysOf(pages: readonly StepPage[]) {
  return [
    pages.map(page => page.organization_id),
    pages.map(page => page.id),
    pages.map(page => page.step.notification_id),
    pages.map(page => page.step.number),
  ] as const;
}

/** Stores the pages of locked runs, and the runs that follow. */
export async function storeStepPagesAcrossTenants<Planned extends NewDelivery>(
  client: pg.PoolClient,
  owner: number,
  pages: StepPage<Planned>[],
): Promise<StoredDelivery<Planned>[]> {
  const { rows } = await client.query<{ stored_at: Date; ids: string[]; inserted: string[] }>({
    ...insertDeliveries,
    values: [owner, ...newDeliveryValues(pages)],
  });
  const { stored_at, ids, inserted } = rows[0]!;
  const paired = pairWithIds(pages, ids, inserted);
  const counts = paired.map(own => {
    const suppressed = own.filter(({ planned }) => planned.status === 'suppressed').length;
    return { notified: own.length - suppressed, suppressed };
  });
  await client.query({
    ...advance,
    values: [
      ...keysOf(pages),
      pages.map(page => page.status),
      pages.map(page => page.reason),
      pages.map(page => page.cursor && JSON.stringify(page.cursor)),
      pages.map(page => page.due_at),
      plainArray(counts.map(one => one.notified)),
      plainArray(counts.map(one => one.suppressed)),
    ],
  });
  await reopenAcrossTenants(client, pages);
  await storeNewStepsAcrossTenants(
    client,
    pages.flatMap(({ organization_id, id, next }) => (next ? [{ ...next, organization_id, occurrence_id: id }] : [])),
  );
  await advanceAll(client, pages, counts);
  await recordSilencedAcrossTenants(client, silencedOf(pages));
  await extendSilencedAcrossTenants(
    client,
    pages.flatMap(({ step, silenced }) => (silenced ? step : [])),
  );
  await addSuppressedAcrossTenants(
    client,
    suppressedCounts(
      pages.map(({ organization_id, event_id }, i) => ({
        organization_id,
        event_id,
        deliveries: paired[i]!.map(({ planned }) => planned),
      })),
    ),
  );
  return pages.flatMap((page, i) => claimedDeliveries(page, paired[i]!, { owner, at: stored_at }));
}

/** Updates each occurrence once, although several of its notifications may have steps. */
async function advanceAll(
  client: pg.PoolClient,
  pages: StepPage[],
  counts: { notified: number; suppressed: number }[],
) {
  const totals = new Map<string, { page: StepPage; deliveries: number; suppressed: number; ended: number }>();
  for (const [i, page] of pages.entries()) {
    const name = nameOf(page.organization_id, page.id);
    const total = totals.get(name) ?? { page, deliveries: 0, suppressed: 0, ended: 0 };
    totals.set(name, total);
    total.deliveries += counts[i]!.notified + counts[i]!.suppressed;
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

const releaseOwned = {
  name: 'release_steps',
  text: `update steps set owner = null where status = 'waiting' and owner is not null and owner = $1`,
};

/** Releases the runs of a dead worker, or of this one between two rounds. */
export async function releaseStepsAcrossTenants(pool: pg.Pool, owner: number): Promise<number> {
  const { rowCount } = await pool.query({ ...releaseOwned, values: [owner] });
  return rowCount!;
}

/** Counts a crash caused by running a step. At the limit its escalation ends; the result says whether it did. */
export async function countStepCrash(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  max: number,
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
    [organizationId, occurrenceId, max],
  );
  return rows[0]!;
}
