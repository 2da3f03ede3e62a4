/** What digests that are bundles of alerts need besides: see core/decision/bundle.ts. */
import type pg from 'pg';
import { bundleLimits, createBundleId, isBundleId } from '../../../core/decision/bundle.ts';
import { digestLimits } from '../../../core/decision/digest.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { contextAtText } from '../context-text.ts';
import {
  addItemsAcrossTenants,
  carriedDueAt,
  digestsByIdText,
  lockDigestsAcrossTenants,
  notEndedText,
} from './digest-items.ts';

interface BundleReference {
  organizationId: number;
  id: string;
}

const openNext = {
  name: 'open_next_bundles',
  text: `
    insert into digests (organization_id, id, event_id, notification_id, channel_id, recipient_id, user_id, address, key,
      items, closes_at)
    select g.organization_id, ($3::uuid[])[array_position($2::uuid[], g.id)], g.event_id, g.notification_id, g.channel_id,
      g.recipient_id, g.user_id, g.address, g.key, 0,
      now() + least(case when isfinite(g.closes_at) then 2 * (g.closes_at - g.opened_at) end,
        interval '${bundleLimits.maxWindowMs} milliseconds')
    from digests g where ${digestsByIdText('g', '$1', '$2')} and g.closed_at = now()
    on conflict do nothing`,
};

/** Opens the next windows of bundles that this transaction has closed: in these, nothing is sent at once. */
export async function openNextBundlesAcrossTenants(
  client: pg.PoolClient,
  requests: readonly BundleReference[],
): Promise<void> {
  const bundles = requests.filter(({ id }) => isBundleId(id));
  if (bundles.length === 0) return;
  const now = currentTime();
  const values = [bundles.map(one => one.organizationId), bundles.map(one => one.id)];
  await client.query({ ...openNext, values: [...values, bundles.map(() => createBundleId(now))] });
}

const countCritical = {
  name: 'count_critical_alerts',
  text: `
    select w.id, (
      select count(*)::int from deliveries d
      join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
      where d.organization_id = w.organization_id and d.digest_id = w.id
        and ${contextAtText('d.created_at')} ->> 'severity' = 'critical'
    ) as count
    from unnest($1::bigint[], $2::uuid[]) as w (organization_id, id)`,
};

/** Counts the critical alerts of each bundle among these digests. */
export async function countCriticalAlertsAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  requests: readonly BundleReference[],
): Promise<Map<string, number>> {
  const bundles = requests.filter(({ id }) => isBundleId(id));
  if (bundles.length === 0) return new Map();
  const values = [bundles.map(one => one.organizationId), bundles.map(one => one.id)];
  const { rows } = await client.query<{ id: string; count: number }>({ ...countCritical, values });
  return new Map(rows.map(row => [row.id, row.count]));
}

/** The due occurrences of an organization and priority class that are searched for alerts. */
const maxSearched = 100;

// Class by class and in order: only the index of due work offers that, also when planned on empty tables. Runs that a worker
// has claimed are few, and are found by the index of their owners. The condition on the digest leaves only the index of its id.
const findBacklog = {
  name: 'find_bundle_backlog',
  text: `
    select g.opened_at, exists (
      select from unnest('{0,1,2}'::smallint[]) as class (priority), lateral (
        select from steps s where s.priority = class.priority and organization_id = $1 and status = 'waiting'
          and owner is null and due_at <= now() order by due_at limit 1
      ) due
    ) or exists (
      select from steps where status = 'waiting' and owner is not null and organization_id = $1 and due_at <= now()
    ) or exists (
      select from unnest('{0,1,2}'::smallint[]) as class (priority), lateral (
        select options from occurrences o where o.priority = class.priority and organization_id = $1
          and status = 'accepted' and due_at <= now() order by due_at limit ${maxSearched}
      ) due where options ? 'dedup_key'
    ) as is_behind
    from digests g where g.organization_id = $1 and g.id = $2 and coalesce(g.closed_at, 'infinity') = 'infinity'`,
};

/** Returns when an open bundle was opened, and whether alerts of its organization have not been expanded yet. */
export async function findBundleBacklog(
  pool: pg.Pool,
  organizationId: number,
  id: string,
): Promise<{ opened_at: Date; is_behind: boolean } | undefined> {
  const { rows } = await pool.query<{ opened_at: Date; is_behind: boolean }>({
    ...findBacklog,
    values: [organizationId, id],
  });
  return rows[0];
}

interface JoinedAlert {
  organization_id: number;
  occurrence_id: string;
  id: number;
  attempts: number;
  digest_id: string;
  due_at: Date;
}

// The status `sending` is a parameter, as for settling.
const join = {
  name: 'join_bundles',
  text: `
    update deliveries d set status = 'pending', reason = 'digest', digest_id = g.digest_id, due_at = g.due_at, owner = null,
      attempts = d.attempts - 1, provider_attempts = d.provider_attempts - 1
    from unnest($2::bigint[], $3::uuid[], $4::bigint[], $5::smallint[], $6::uuid[], $7::timestamptz[])
      as g (organization_id, occurrence_id, id, attempts, digest_id, due_at)
    where d.organization_id = g.organization_id and d.occurrence_id = g.occurrence_id and d.id = g.id
      and d.status = $1 and d.attempts = g.attempts`,
};

/**
 * Puts claimed deliveries into bundles that this transaction has opened, and returns how many: those that another worker has taken
 * over are not among them.
 */
export async function joinBundlesAcrossTenants(client: pg.PoolClient, alerts: readonly JoinedAlert[]): Promise<number> {
  const columns = (['organization_id', 'occurrence_id', 'id', 'attempts', 'digest_id', 'due_at'] as const).map(name =>
    alerts.map(one => one[name]),
  );
  const { rowCount } = await client.query({ ...join, values: ['sending', ...columns] });
  return rowCount ?? 0;
}

/** What the alerts of a bundle have in common that decides whether they may be sent. */
export interface BundleOrigin {
  event_id: number;
  notification_id: number;
  key_id: string | null;
  /** The priority class of the occurrence. */
  priority: number;
}

const openItems = `d.organization_id = $1 and d.digest_id = $2 and d.status ${notEndedText} and d.due_at = $3`;

const listOrigins = {
  name: 'list_bundle_origins',
  text: `
    select distinct o.event_id, d.notification_id, o.key_id::text as key_id, o.priority
    from deliveries d join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
    where ${openItems}`,
};

/** Lists where the items of an open bundle come from, except for its carrier. */
export async function listBundleOrigins(pool: pg.Pool, organizationId: number, id: string): Promise<BundleOrigin[]> {
  const values = [organizationId, id, carriedDueAt];
  return (await pool.query<BundleOrigin>({ ...listOrigins, values })).rows;
}

const leave = {
  name: 'leave_bundle',
  text: `
    with left_behind as (
      update deliveries d set digest_id = null, reason = null, due_at = now()
      from occurrences o
      where ${openItems} and o.organization_id = d.organization_id and o.id = d.occurrence_id and exists (
        select from unnest($4::bigint[], $5::bigint[], $6::text[], $7::smallint[])
          as g (event_id, notification_id, key_id, priority)
        where g.event_id = o.event_id and g.notification_id = d.notification_id and g.priority = o.priority
          and g.key_id is not distinct from o.key_id::text)
      returning d.id
    )
    select count(*)::int as count, pg_notify('belfry_work', '') from left_behind`,
};

/** Takes the items of these origins out of a bundle: each is due on its own, and decided again. */
export async function leaveBundle(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  origins: readonly BundleOrigin[],
): Promise<void> {
  await inLedgerTransaction(pool, async client => {
    await lockDigestsAcrossTenants(client, [organizationId], [id]);
    const columns = [
      origins.map(one => one.event_id),
      origins.map(one => one.notification_id),
      origins.map(one => one.key_id),
      origins.map(one => one.priority),
    ];
    const { rows } = await client.query<{ count: number }>({
      ...leave,
      values: [organizationId, id, carriedDueAt, ...columns],
    });
    await addItemsAcrossTenants(client, [organizationId], [id], [-rows[0]!.count]);
  });
}

export interface BundledOccurrence {
  id: string;
  is_open: boolean;
}

/** Lists the occurrences of the alerts in a bundle, oldest first. */
export async function listBundledOccurrences(
  pool: pg.Pool,
  organizationId: number,
  id: string,
): Promise<BundledOccurrence[]> {
  const { rows } = await pool.query<BundledOccurrence>({
    name: 'list_bundled_occurrences',
    text: `
      select o.id, o.acknowledged_at is null and o.resolved_at is null and o.cancelled_at is null as is_open
      from (
        select distinct occurrence_id from deliveries
        where organization_id = $1 and digest_id = $2 and step >= 0 limit ${2 * digestLimits.fullAt}
      ) d join occurrences o on o.organization_id = $1 and o.id = d.occurrence_id
      order by o.id`,
    values: [organizationId, id],
  });
  return rows;
}
