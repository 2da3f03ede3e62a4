/**
 * Expands occurrences into deliveries. A page of decisions is always committed together with its cursor, so that a
 * crash resumes where it stopped:
 *
 * - First pages, of many occurrences at once, are locked, decided and stored in one transaction. That is all that
 *   nearly every occurrence needs. Triggers that are decided before they are stored do not even need that: see
 *   accept/decided.ts.
 * - Further pages of a fan-out, one occurrence at a time, are claimed by `owner`. A lock would delay the outcomes of
 *   earlier pages, which are counted in the same row.
 */
import type pg from 'pg';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import type { SilenceHit } from '../../../core/decision/silences.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { OccurrenceFacts } from '../../history/occurrences.ts';
import { columnsText, rowParameters } from '../columns.ts';
import { addSuppressedAcrossTenants, type SuppressedCount } from '../counts.ts';
import { type Cursor, startCursor } from '../cursor.ts';
import { addressInOnce, type Delivery, type NewDelivery, occurrenceInOnce } from '../deliver/deliveries.ts';
import { type ClaimRequest, claimText, claimValues, lockText, lockValues } from '../round-robin.ts';
import { outstandingText } from '../status-text.ts';
import { beginStepsAcrossTenants, type NewStep } from '../steps/new-steps.ts';
import { completedColumns, completionEventsText } from '../webhooks/events.ts';
import { type NewHold, recordHold } from './holds.ts';
import {
  claimedDeliveries,
  newDeliveryCount,
  newDeliveryValues,
  pairWithIds,
  type StoredRow,
  storeDeliveriesText,
  storedIdsText,
} from './new-deliveries.ts';
import { recordSilencedAcrossTenants } from './silenced.ts';
import { recordUnexpanded, type Unexpanded } from './unexpanded-counts.ts';

export interface ClaimedOccurrence extends Omit<OccurrenceFacts, 'attachments' | 'is_keyed' | 'earlier_contexts'> {
  project_id: number;
  application_id: number;
  priority: number;
  options: JsonObject;
  cursor: Cursor | null;
  /** When the acknowledgement ends; null: it does not. */
  acknowledged_until: Date | null;
  /** The number of deliveries so far. */
  deliveries: number;
  /** Why it waited; null: it did not. */
  reason: string | null;
}

/** The columns of `ClaimedOccurrence`. */
export const occurrenceColumns: readonly (keyof ClaimedOccurrence)[] = [
  ...(['organization_id', 'id', 'project_id', 'application_id', 'event_id', 'priority', 'context', 'options'] as const),
  ...(['cursor', 'deliveries', 'reason', 'correlation_id', 'key_id', 'due_at', 'round_began_at'] as const),
  ...([
    'expires_at',
    'created_at',
    'cancelled_at',
    'acknowledged_at',
    'acknowledged_until',
    'acknowledged_users',
  ] as const),
  ...(['resolved_at', 'traceparent'] as const),
];

/** The state of an occurrence after a page of it was decided. */
export interface ExpansionPage<Planned extends NewDelivery = NewDelivery> {
  organization_id: number;
  id: string;
  event_id: number;
  /** The priority class of the next page. */
  priority: number;
  /** Null: this was the last page. Otherwise the occurrence goes back to the queue, so that others get their turn. */
  cursor: Cursor | null;
  /** Why the occurrence has no deliveries, or why it is postponed. */
  reason: string | null;
  /** Set if nothing was decided: when to try again. `infinity`: when its pause ends, or it is approved. A silence has an end. */
  retryAt?: Date | 'infinity';
  /** At most one per notification, channel and address. */
  deliveries: Planned[];
  /** The first runs of notifications with steps. */
  steps?: NewStep[];
  /** Whether it asks for an acknowledgement. */
  awaitsAcknowledgement?: boolean;
  /** Set if the expansion stopped before all recipients were expanded. */
  unexpanded?: Unexpanded;
  /** Set if it waits for an approval. */
  hold?: NewHold;
  /** Set if a silence holds or suppresses it. */
  silenced?: SilenceHit;
  /** A dry run does not count in the statistics. */
  isDryRun?: boolean;
}

/** A delivery that this worker claimed by storing it, and the plan it was made from. */
export interface StoredDelivery<Planned> {
  delivery: Delivery;
  planned: Planned;
}

export interface StoredPages<Planned> {
  stored: StoredDelivery<Planned>[];
  /** Outcomes of occurrences that ended with these pages, because there was nothing to send. */
  ended: OccurrenceOutcome[];
}

const lockAccepted = {
  name: 'lock_accepted',
  text: lockText('accepted', occurrenceColumns),
};

const pageRows = rowParameters<ExpansionPage>({
  organization_id: ['bigint', page => page.organization_id],
  id: ['uuid', page => page.id],
  status: ['word', statusAfter],
  deliveries: ['integer', page => page.deliveries.length],
  suppressed: ['integer', countSuppressed],
  priority: ['smallint', page => page.priority],
  cursor: ['jsonb', page => page.cursor && JSON.stringify(page.cursor)],
  reason: ['text', reasonAfter],
  due_at: ['timestamptz', page => page.retryAt ?? null],
});

// First pages of any number of occurrences. All rows are new, so the counts are known in advance. The parts of this
// statement are not joined: that took quadratic time.
const storeFirst = {
  name: 'store_first_pages',
  text: `
    with ${storeDeliveriesText({ owner: '$1', first: 2 })}, advanced as (
      update occurrences o set status = p.status, deliveries = p.deliveries, suppressed = p.suppressed,
        priority = p.priority, cursor = p.cursor, reason = p.reason, due_at = coalesce(p.due_at, o.due_at),
        completed_at = case when p.status = 'completed' then now() end,
        outcome = case when p.status = 'sending' and o.outcome is null then 'sending' else o.outcome end
      from ${pageRows.unnest(2 + newDeliveryCount)} as p (${pageRows.names})
      where o.organization_id = p.organization_id and o.id = p.id
      returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome
    ), ${completionEventsText('advanced')}
    select ${storedIdsText}, array(select outcome from advanced) as outcomes`,
};

/** Locks due occurrences until the transaction ends. */
export async function lockAcceptedAcrossTenants(
  client: pg.PoolClient,
  request: ClaimRequest,
): Promise<ClaimedOccurrence[]> {
  return (await client.query<ClaimedOccurrence>({ ...lockAccepted, values: lockValues(request) })).rows;
}

/** Marks occurrences to be expanded page by page, which tolerates deliveries that already exist. */
export async function expandByPagesAcrossTenants(pool: pg.Pool, claimed: ClaimedOccurrence[]): Promise<void> {
  await pool.query(
    `update occurrences set status = 'expanding', cursor = $3
     where organization_id = any($1::bigint[]) and id = any($2::uuid[]) and status = 'accepted'`,
    [claimed.map(one => one.organization_id), claimed.map(one => one.id), JSON.stringify(startCursor)],
  );
}

/**
 * Stores the first pages of locked occurrences and commits. Fails with a unique violation, storing nothing, if one of
 * them already has deliveries.
 */
export async function storeFirstPagesAcrossTenants<Planned extends NewDelivery>(
  client: pg.PoolClient,
  owner: number,
  pages: ExpansionPage<Planned>[],
  commit: () => Promise<unknown>,
): Promise<StoredPages<Planned>> {
  const storing = client.query<{ stored_at: Date; ids: string[]; outcomes: (OccurrenceOutcome | null)[] }>({
    ...storeFirst,
    values: [owner, ...newDeliveryValues(pages), ...pageRows.values(pages)],
  });
  if (pages.some(hasMore)) {
    await storing;
    await storeMoreAcrossTenants(client, pages);
  }
  const [{ rows }] = await Promise.all([storing, commit()]);
  const { stored_at, ids, outcomes } = rows[0]!;
  const paired = pairWithIds(pages, ids);
  const stored = pages.flatMap((page, i) => claimedDeliveries(page, paired[i]!, { owner, at: stored_at }));
  return { stored, ended: outcomes.filter(outcome => outcome !== null) };
}

const isSuppressed = ({ status }: NewDelivery) => status === 'suppressed';

/** Returns whether a page needs more than the statement that stores its deliveries. */
export function hasMore({ steps, deliveries, unexpanded, hold, silenced }: ExpansionPage): boolean {
  const isStopped = unexpanded !== undefined || hold !== undefined || silenced !== undefined;
  return isStopped || (steps?.length ?? 0) > 0 || deliveries.some(isSuppressed);
}

/** Stores the rest, in the same transaction. */
export async function storeMoreAcrossTenants(client: pg.PoolClient, pages: ExpansionPage[]): Promise<void> {
  await beginStepsAcrossTenants(client, pages);
  for (const { organization_id, id, event_id, unexpanded, hold } of pages) {
    if (unexpanded) await recordUnexpanded(client, organization_id, id, unexpanded);
    if (hold) await recordHold(client, organization_id, { id, event_id }, hold);
  }
  await recordSilencedAcrossTenants(client, silencedOf(pages));
  await addSuppressedAcrossTenants(client, suppressedCounts(pages));
}

/** Returns what the silences of these pages hold or suppress. */
export function silencedOf(pages: readonly Pick<ExpansionPage, 'organization_id' | 'id' | 'silenced'>[]) {
  return pages.flatMap(({ organization_id, id, silenced }) => {
    if (!silenced) return [];
    const { silence, until, effect } = silenced;
    return { organization_id, occurrence_id: id, silence_id: silence.id, until, effect };
  });
}

function countSuppressed({ deliveries }: ExpansionPage): number {
  return deliveries.filter(isSuppressed).length;
}

/** Returns what is stored with an occurrence after its first page, which was its last. */
export function stateAfter(page: ExpansionPage) {
  return {
    status: statusAfter(page),
    deliveries: page.deliveries.length,
    suppressed: countSuppressed(page),
    reason: reasonAfter(page),
  };
}

/** A reason is kept only if nothing, or not everything, was sent, or not to the users on call. */
function reasonAfter({ deliveries, reason }: ExpansionPage): string | null {
  return deliveries.length === 0 || reason?.startsWith('limit.') || reason === 'schedule.fallback' ? reason : null;
}

function statusAfter(page: ExpansionPage): string {
  if (page.retryAt && !page.cursor) return 'accepted';
  if (page.cursor) return 'expanding';
  const outstanding = page.deliveries.length - countSuppressed(page) + (page.steps?.length ?? 0);
  return outstanding > 0 ? 'sending' : 'completed';
}

/** Counts suppressed deliveries by event and channel, except for those of dry runs. */
export function suppressedCounts(
  pages: readonly (Pick<ExpansionPage, 'organization_id' | 'event_id' | 'isDryRun'> & {
    deliveries: readonly NewDelivery[];
  })[],
): SuppressedCount[] {
  const counts = new Map<string, SuppressedCount>();
  for (const { organization_id, event_id, deliveries, isDryRun } of pages) {
    if (isDryRun) continue;
    for (const { status, channel_id } of deliveries) {
      if (status !== 'suppressed') continue;
      const name = `${organization_id}/${event_id}/${channel_id}`;
      const count = counts.get(name) ?? { organization_id, event_id, channel_id, count: 0 };
      counts.set(name, count);
      count.count++;
    }
  }
  return [...counts.values()];
}

// Losing a claim in a power cut is harmless, because the page that follows is committed synchronously, after it.
const claimExpanding = {
  name: 'claim_expanding',
  text: claimText({
    queue: 'expanding',
    alias: 'o',
    key: ['organization_id', 'id'],
    returning: columnsText('o', occurrenceColumns),
    isAsynchronous: true,
  }),
};

/** Claims occurrences with further pages, until the next page is stored. */
export async function claimExpandingAcrossTenants(pool: pg.Pool, request: ClaimRequest): Promise<ClaimedOccurrence[]> {
  return (await pool.query<ClaimedOccurrence>({ ...claimExpanding, values: claimValues(request) })).rows;
}

const insertPage = {
  name: 'store_page',
  text: `
    with ${storeDeliveriesText({
      owner: '$1',
      first: 2,
      condition: `on conflict (organization_id, (${occurrenceInOnce}), notification_id, channel_id,
        (${addressInOnce}), step, occurrence_id) do nothing`,
    })}
    select ${storedIdsText}, array(select id from stored) as inserted`,
};

/** SQL text: the reasons that are kept although there are messages. */
const keptReasons = "any ('{limit.%,schedule.fallback}')";
const outstanding = `(${outstandingText('o')} + $4 - $5 + o.escalating)`;

// The occurrence is updated last: locking it first delayed the outcomes of earlier pages by 70 ms.
const advancePage = {
  name: 'advance_page',
  text: `
    with advanced as (
      update occurrences o set deliveries = o.deliveries + $4::integer, suppressed = o.suppressed + $5::integer,
        cursor = $7, owner = null, priority = $6,
        reason = case when $9::timestamptz is not null or o.deliveries + $4 = 0 or $10 or $8 like ${keptReasons} then $8
          when o.reason like ${keptReasons} then o.reason end, due_at = coalesce($9, o.due_at),
        status = case when $7::jsonb is not null or $9::timestamptz is not null then 'expanding'
          when ${outstanding} = 0 then 'completed' else 'sending' end,
        completed_at = case when $7::jsonb is null and $9::timestamptz is null and ${outstanding} = 0 then now() end
      where o.organization_id = $1 and o.id = $2 and o.status = 'expanding' and o.owner = $3
      returning ${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome
    ), ${completionEventsText('advanced')}
    select outcome from advanced`,
};

/**
 * Stores deliveries, counts and cursor of a further page. Deliveries that an earlier page has stored are left out.
 * Returns undefined if the occurrence was cancelled or taken over meanwhile: then the transaction must be rolled back.
 */
export async function storePageAcrossTenants<Planned extends NewDelivery>(
  client: pg.PoolClient,
  owner: number,
  page: ExpansionPage<Planned>,
): Promise<StoredPages<Planned> | undefined> {
  const { organization_id, id, priority, reason, retryAt } = page;
  const { rows } = await client.query<{ stored_at: Date; ids: string[]; inserted: string[] }>({
    ...insertPage,
    values: [owner, ...newDeliveryValues([page])],
  });
  await beginStepsAcrossTenants(client, [page]);
  const { stored_at, ids, inserted } = rows[0]!;
  const [paired] = pairWithIds([page], ids, inserted) as [StoredRow<Planned>[]];
  const deliveries = paired.map(({ planned }) => planned);
  const advanced = await client.query<{ outcome: OccurrenceOutcome | null }>({
    ...advancePage,
    values: [
      organization_id,
      id,
      owner,
      deliveries.length,
      deliveries.filter(one => one.status === 'suppressed').length,
      priority,
      page.cursor && JSON.stringify(page.cursor),
      reason,
      retryAt ?? null,
      page.unexpanded !== undefined,
    ],
  });
  const [after] = advanced.rows;
  if (!after) return undefined;
  if (page.unexpanded) await recordUnexpanded(client, organization_id, id, page.unexpanded);
  if (page.hold) await recordHold(client, organization_id, page, page.hold);
  await recordSilencedAcrossTenants(client, silencedOf([page]));
  await addSuppressedAcrossTenants(client, suppressedCounts([{ ...page, deliveries }]));
  return {
    stored: claimedDeliveries(page, paired, { owner, at: stored_at }),
    ended: after.outcome ? [after.outcome] : [],
  };
}
