/**
 * What the expansion of occurrences and the runs of steps have in common: a claim, the decisions about pages of recipients, which
 * of their deliveries this worker sends at once and which go through the queue, and the report of what was stored.
 */
import type pg from 'pg';
import type { Reason } from '../../core/decision/decide.ts';
import { type Db, isUnavailable } from '../../db/connection/pool.ts';
import type { ExpansionPage, StoredDelivery } from '../../db/ledger/expand/expand.ts';
import { type ClaimRequest, claimProgress, type Queue, type Shares } from '../../db/ledger/round-robin.ts';
import type { Announcements } from '../../lib/caching/announcements.ts';
import type { Span, Traces } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { PlannedDelivery } from '../../pipeline/page.ts';
import type { Plans } from '../../pipeline/plans.ts';
import { RecipientReader } from '../../pipeline/recipients.ts';
import type { UsageMeter } from '../../services/configuration/limits/usage-meter.ts';
import type { ClaimedDelivery } from '../deliver/deliver.ts';
import type { Log } from '../log.ts';
import type { Meters } from '../telemetry/meters.ts';
import { endPages, traceFields } from '../telemetry/spans.ts';
import type { WorkMarker } from '../work-marker.ts';
import type { AudienceGuard } from './audiences.ts';

/** What deciding and storing pages needs. */
export interface ExpandTools {
  db: Db;
  /** One connection, for claims only: see `indexScansOnly`. */
  claims: pg.Pool;
  /** For the few statements that run for every message, also with `indexScansOnly`. */
  hot: pg.Pool;
  plans: Plans;
  usage: UsageMeter;
  audiences: AudienceGuard;
  /** Changes that can stop a message which is about to be sent, by organization. */
  stops: Announcements;
  /** The organization that was served last, for each queue and priority class. */
  lastServed: Record<Exclude<Queue, 'deliveries'>, number[]>;
  marker: WorkMarker;
  meters: Meters;
  log: Log;
  /** Undefined when tracing is off. */
  traces: Traces | undefined;
}

/** How many more deliveries this worker may take on, by priority class and organization. */
export interface Capacity {
  shares(priority: number): Shares;
  capacityFor(priority: number, organization: number): number;
  /** Returns how many recipients to decide together. */
  pageSize(priority: number): number;
  /** Returns the same for a further page of an organization. */
  pageSizeFor(priority: number, organization: number): number;
}

/** Who expands what: a worker's lease, a priority class, and the capacity that is left. */
export interface Turn {
  owner: number;
  priority: number;
  capacity: Capacity;
}

export interface ExpansionResult {
  /** Deliveries to send now. */
  claimed: ClaimedDelivery[];
  /** Priority classes with deliveries in the queue. */
  queued: Set<number>;
  /** Priority classes with further pages to expand. */
  next: Set<number>;
  /** Priority classes with steps to run. */
  steps: Set<number>;
  /** Whether nothing else is due. */
  isDrained: boolean;
}

export interface DecidedPage extends ExpansionPage<PlannedDelivery> {
  span?: Span | undefined;
}

/** Pages that were decided and stored. */
export interface Expansion {
  pages: DecidedPage[];
  stored: StoredDelivery<PlannedDelivery>[];
  /** Outcomes of occurrences that ended with these pages. */
  ended: readonly string[];
}

export const nothing: Expansion = { pages: [], stored: [], ended: [] };

/**
 * Claims work of a queue, and reports what `expand` makes of it; undefined when nothing was due. `expand` calls `claimed` with
 * what it claimed, before anything else can fail: the next claim then starts with another organization.
 */
export async function expandQueue<Row extends { organization_id: number }>(
  tools: ExpandTools,
  { queue, max }: { queue: Exclude<Queue, 'deliveries'>; max: number },
  { owner, priority, capacity }: Turn,
  expand: (request: ClaimRequest, claimed: (rows: Row[]) => Row[]) => Promise<Expansion>,
): Promise<ExpansionResult | undefined> {
  const after = tools.lastServed[queue][priority] ?? 0;
  const request = { priority, after, max, owner, shares: capacity.shares(priority) };
  const readAt = tools.stops.generation;
  let count = 0;
  let isDrained = false;
  const expansion = await expand(request, rows => {
    count = rows.length;
    const progress = claimProgress(request, rows);
    isDrained = progress.isDrained;
    tools.lastServed[queue][priority] = progress.after;
    return rows;
  });
  if (count === 0 && after === 0) return undefined;
  return report(tools, expansion, { isDrained: isDrained && expansion.pages.length === count, readAt });
}

/** Ends the spans, counts, and returns what to do next. `readAt` is the generation of `stops` before anything was read. */
export function report(
  { meters }: ExpandTools,
  { pages, stored, ended }: Expansion,
  { isDrained, readAt }: { isDrained: boolean; readAt: number },
): ExpansionResult {
  endPages(pages);
  meters.batch('expand', pages.length);
  meters.expanded(pages);
  meters.ended(ended);
  const queued = new Set<number>();
  const next = new Set<number>();
  const steps = new Set<number>();
  for (const { deliveries, cursor, retryAt, priority, steps: own = [] } of pages) {
    for (const one of own) steps.add(one.priority);
    for (const one of deliveries) if (one.status === 'pending' && !one.due_at) queued.add(one.priority);
    if (cursor && !retryAt) next.add(priority);
  }
  const claimed = stored.map(({ delivery, planned: { occurrence, recipient } }) => ({
    delivery,
    state: { occurrence, recipient, readAt },
  }));
  return { claimed, queued, next, steps, isDrained };
}

/** Reads recipients with prepared statements on the hot pool, and creates users on any connection. */
export function recipientReader({ db, hot: pool, plans, usage }: ExpandTools): RecipientReader {
  return new RecipientReader({ db, pool, plans }, { usage });
}

/** How many are decided together: few at first, because each may have a full page of recipients. */
const firstGroupSize = 8;
const groupGrowth = 8;

/**
 * Decides the first of these until they have about a page of recipients together: more would take too much memory and delay
 * urgent work.
 */
export async function decideMany<Claimed, Page extends DecidedPage>(
  claimed: readonly Claimed[],
  limit: number,
  decide: (one: Claimed) => Promise<Page>,
): Promise<Page[]> {
  const pages: Page[] = [];
  let decided = 0;
  let size = firstGroupSize;
  for (let from = 0; from < claimed.length && decided < limit; ) {
    const group = claimed.slice(from, from + size);
    from += size;
    size *= groupGrowth;
    for (const page of await Promise.all(group.map(decide))) {
      // Pages decided beyond the limit are dropped, and decided again after the next claim.
      if (decided >= limit) break;
      decided += page.deliveries.length;
      pages.push(page);
    }
  }
  return pages;
}

/** How long until a page that could not be decided is tried again: nothing accepted is given up. */
export const retryPageMs = 30_000;
const retryUnavailableMs = 1_000;

/** Decides a page. A page that fails is logged and postponed, so that it does not affect the others of its claim. */
export async function decideSafely<Page extends DecidedPage>(
  { log }: ExpandTools,
  occurrence: { id: string; traceparent: string | null } | undefined,
  span: Span | undefined,
  decide: () => Promise<Page>,
  putOff: (until: Date) => Page,
): Promise<Page> {
  try {
    return { ...(await decide()), span };
  } catch (error) {
    const where = { occurrence: occurrence?.id, ...traceFields(occurrence) };
    log.error({ err: error, ...where }, 'could not decide a page of recipients; trying again later');
    span?.end('service.internal');
    return putOff(new Date(currentTime() + (isUnavailable(error) ? retryUnavailableMs : retryPageMs)));
  }
}

export function logLimit(
  { log }: ExpandTools,
  limit: Reason | undefined,
  occurrence: { id: string; traceparent: string | null },
): void {
  if (limit !== 'limit.fan_out') return;
  const where = { occurrence: occurrence.id, ...traceFields(occurrence) };
  log.warn(where, 'stopped an occurrence at the limit of deliveries per trigger');
}

/** Deliveries per claim that a channel with limits sends without going through the queue. */
const maxForLimited = 50;

/**
 * Sends deliveries that exceed the capacity through the queue, where organizations take turns. So do most deliveries of
 * a channel with limits, which claims them at its own rate.
 */
export function deferOverflow<Page extends DecidedPage>(pages: readonly Page[], capacity: Capacity): Page[] {
  const left = new Map<string, number>();
  const take = (share: string, free: () => number): boolean => {
    const now = left.get(share) ?? free();
    left.set(share, now - 1);
    return now > 0;
  };
  return pages.map(page => {
    const { organization_id } = page;
    const deferred = new Set<PlannedDelivery>();
    for (const delivery of page.deliveries) {
      if (delivery.status !== 'sending') continue;
      const { priority, channel_id, isLimited } = delivery;
      const fits =
        take(`${priority}/${organization_id}`, () => capacity.capacityFor(priority, organization_id)) &&
        (!isLimited || take(`channel ${channel_id}`, () => maxForLimited));
      if (!fits) deferred.add(delivery);
    }
    if (deferred.size === 0) return page;
    const deliveries = page.deliveries.map(one => (deferred.has(one) ? { ...one, status: 'pending' as const } : one));
    return { ...page, deliveries };
  });
}
