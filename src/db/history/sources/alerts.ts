/** The last known state of each alert of a source. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { Json, JsonObject } from '../../../core/json.ts';
import type { AlertState, Severity } from '../../../core/sources/alert.ts';
import type { Db } from '../../connection/pool.ts';
import { withoutSync } from '../../connection/transaction.ts';

export interface AlertKey {
  organization_id: number;
  source_id: number;
  key: string;
}

export interface StoredAlert {
  state: AlertState;
  severity: Severity | null;
  occurrence_id: string;
  /** Null: history has been deleted. */
  event_id: number | null;
  /** Whether a repetition belongs to the occurrence. */
  is_open: boolean;
  is_acknowledged: boolean;
  last_seen_at: Date;
}

/**
 * Returns what is known of each alert, in the order of the keys. A range with an order fits one index only: planned while there were
 * few alerts, an equality read all alerts of the source by another one.
 */
export async function findAlertsAcrossTenants(
  pool: pg.Pool,
  keys: readonly AlertKey[],
): Promise<(StoredAlert | undefined)[]> {
  const { rows } = await pool.query<StoredAlert & { n: number }>({
    name: 'find_source_alerts',
    text: `
      select g.n::int, a.state, a.severity, a.occurrence_id, a.last_seen_at, o.event_id,
        coalesce(o.resolved_at is null and o.cancelled_at is null and d.closes_at > now(), false) as is_open,
        coalesce(o.acknowledged_at is not null, false) as is_acknowledged
      from unnest($1::bigint[], $2::bigint[], $3::text[]) with ordinality as g (organization_id, source_id, key, n), lateral (
        select * from source_alerts a
        where a.organization_id = g.organization_id and a.source_id = g.source_id and a.key between g.key and g.key
        order by a.key limit 1
      ) a left join lateral (
        select o.* from occurrences o where o.organization_id = a.organization_id and o.id = a.occurrence_id offset 0
      ) o on true left join lateral (
        select d.closes_at from dedup_keys d
        where d.organization_id = o.organization_id and d.event_id = o.event_id and d.key = o.dedup_key and d.occurrence_id = o.id offset 0
      ) d on true`,
    values: [keys.map(key => key.organization_id), keys.map(key => key.source_id), keys.map(key => key.key)],
  });
  const found = new Map(rows.map(({ n, ...row }) => [n, row]));
  return keys.map((_, i) => found.get(i + 1));
}

export interface SeenAlert extends AlertKey {
  /** Of the alert, if it is new or opens again. */
  id: string;
  occurrence_id: string;
  title: string;
  severity: Severity | null;
  /** Whether the trigger has been counted in the occurrence already. */
  counted: boolean;
  /** JSON, if requests to the sender need it. */
  context: string | null;
}

/** Stores a batch of any tenants' open alerts: new ones, and repetitions, which are counted. */
export async function storeOpenAlertsAcrossTenants(pool: pg.Pool, seen: readonly SeenAlert[]): Promise<undefined[]> {
  // A statement can change a row only once.
  const groups = Map.groupBy(seen, ({ organization_id, source_id, key }) => `${organization_id}/${source_id}/${key}`);
  const items = [...groups.values()].map(same => ({
    ...same.at(-1)!,
    times: same.length,
    uncounted: same.filter(({ counted }) => !counted).length,
  }));
  await pool.query({
    name: 'store_source_alerts',
    text: `
      with ${withoutSync}, given as (
        select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::int[], $9::int[], $10::text[])
          as g (organization_id, source_id, key, id, occurrence_id, title, severity, times, uncounted, context)
      ), repeated as (
        update occurrences o set triggers = triggers + g.n
        from (select organization_id, occurrence_id, sum(uncounted)::int as n from given where uncounted > 0 group by 1, 2 order by 1, 2) g
        where o.organization_id = g.organization_id and o.id = g.occurrence_id
      )
      insert into source_alerts as a (organization_id, source_id, key, id, occurrence_id, state, title, severity, count, context)
      select organization_id, source_id, key, id, occurrence_id, 'open', title, severity, times, context::jsonb from given, without_sync
      where exists (select from sources s where s.organization_id = given.organization_id and s.id = given.source_id)
      order by organization_id, source_id, key
      on conflict (organization_id, source_id, key) do update set
        id = case when ${opensAgain} then excluded.id else a.id end,
        count = case when ${opensAgain} then excluded.count else a.count + excluded.count end,
        opened_at = case when ${opensAgain} then now() else a.opened_at end,
        details = case when ${opensAgain} then '{}' else a.details end,
        state = case when ${opensAgain} then 'open' else a.state end,
        occurrence_id = excluded.occurrence_id, title = excluded.title, severity = excluded.severity, context = excluded.context,
        last_seen_at = now()`,
    values: [
      items.map(item => item.organization_id),
      items.map(item => item.source_id),
      items.map(item => item.key),
      items.map(item => item.id),
      items.map(item => item.occurrence_id),
      items.map(item => item.title),
      items.map(item => item.severity),
      items.map(item => item.times),
      items.map(item => item.uncounted),
      items.map(item => item.context),
    ],
  });
  return seen.map(() => undefined);
}

const opensAgain = `(a.state = 'resolved' or a.occurrence_id <> excluded.occurrence_id)`;

/**
 * Sets the state of alerts that are not resolved yet. Returns their keys and occurrences. Locks them in the order in which open alerts
 * are stored, so that requests about the same alerts cannot deadlock. An update would find them by a join, which read all alerts where
 * statistics do not know them.
 */
export async function setAlertStates(
  db: Db,
  organizationId: number,
  sourceId: number,
  keys: string[],
  state: 'acknowledged' | 'resolved',
): Promise<{ key: string; occurrence_id: string }[]> {
  const { rows } = await sql<{ key: string; occurrence_id: string }>`
    insert into source_alerts as a (organization_id, source_id, key, id, occurrence_id, state, title)
    select a.organization_id, a.source_id, a.key, a.id, a.occurrence_id, ${state}, a.title
    from (select distinct key from unnest(${keys}::text[]) as g (key) order by key) g, lateral (
      select * from source_alerts a
      where a.organization_id = ${organizationId} and a.source_id = ${sourceId} and a.key between g.key and g.key
      order by a.key limit 1
    ) a
    where a.state <> 'resolved'
    on conflict (organization_id, source_id, key) do update set state = excluded.state, last_seen_at = now()
    where a.state <> 'resolved'
    returning a.key, a.occurrence_id`.execute(db);
  return rows;
}

/** Moves the alerts of an occurrence that are not resolved to the one that replaces it. */
export async function moveOpenAlerts(
  db: Db,
  organizationId: number,
  sourceId: number,
  from: string,
  to: string,
): Promise<void> {
  await sql`
    update source_alerts set occurrence_id = ${to}
    where organization_id = ${organizationId} and source_id = ${sourceId} and occurrence_id = ${from} and state <> 'resolved'`.execute(
    db,
  );
}

/** Returns those of the occurrences without an open alert of the source. */
export async function findEndedOccurrences(db: Db, organizationId: number, sourceId: number, occurrences: string[]) {
  const { rows } = await sql<{ id: string }>`
    select given.occurrence as id from unnest(${occurrences}::uuid[]) as given (occurrence)
    where not exists (
      select from source_alerts a where a.organization_id = ${organizationId} and a.source_id = ${sourceId}
        and a.occurrence_id = given.occurrence and a.state <> 'resolved')`.execute(db);
  return rows.map(({ id }) => id);
}

export interface AlertView {
  key: string;
  id: string;
  number: number;
  occurrence_id: string;
  state: AlertState;
  title: string;
  severity: Severity | null;
  count: number;
  opened_at: Date;
  last_seen_at: Date;
  details: JsonObject;
  context: Json;
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  acknowledged_until: Date | null;
  snoozed_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
}

const views = (organizationId: number, sourceId: number) => sql`
  select a.key, a.id, a.number, a.occurrence_id, a.title, a.severity, a.count, a.opened_at, a.last_seen_at, a.details,
    o.context, o.acknowledged_at, o.acknowledged_by, o.acknowledged_until, o.snoozed_by, o.resolved_at, o.resolved_by,
    case when a.state = 'resolved' or o.resolved_at is not null or o.cancelled_at is not null then 'resolved'
      when o.acknowledged_at is not null or o.id is null and a.state = 'acknowledged' then 'acknowledged' else 'open' end as state
  from source_alerts a
  left join occurrences o on o.organization_id = a.organization_id and o.id = a.occurrence_id
  where a.organization_id = ${organizationId} and a.source_id = ${sourceId}`;

export type AlertName = { key: string } | { id: string } | { number: number };

export async function findAlert(db: Db, organizationId: number, sourceId: number, name: AlertName) {
  const [column, value] = Object.entries(name)[0]!;
  const { rows } = await sql<AlertView>`
    ${views(organizationId, sourceId)} and a.${sql.ref(column)} = ${value} limit 1`.execute(db);
  return rows[0];
}

export interface AlertFilter {
  isClosed?: boolean | undefined;
  isAcknowledged?: boolean | undefined;
}

/** Lists alerts, the newest first. */
export async function listAlerts(
  db: Db,
  organizationId: number,
  sourceId: number,
  filter: AlertFilter,
  page: { offset: number; limit: number; isAscending?: boolean },
): Promise<AlertView[]> {
  const { rows } = await sql<AlertView>`
    select * from (${views(organizationId, sourceId)}) alerts where ${conditionOf(filter)}
    order by number ${page.isAscending ? sql`asc` : sql`desc`} limit ${page.limit} offset ${page.offset}`.execute(db);
  return rows;
}

export async function countAlerts(
  db: Db,
  organizationId: number,
  sourceId: number,
  filter: AlertFilter,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (${views(organizationId, sourceId)}) alerts where ${conditionOf(filter)}`.execute(
    db,
  );
  return rows[0]!.count;
}

function conditionOf({ isClosed, isAcknowledged }: AlertFilter) {
  const conditions = [
    sql`true`,
    ...(isClosed === undefined ? [] : [isClosed ? sql`state = 'resolved'` : sql`state <> 'resolved'`]),
    ...(isAcknowledged === undefined
      ? []
      : [isAcknowledged ? sql`state = 'acknowledged'` : sql`state <> 'acknowledged'`]),
  ];
  return sql.join(conditions, sql` and `);
}

/** Returns what was added to an alert, and locks it until the end of the transaction; undefined if it is gone. */
export async function lockAlertDetails(
  db: Db,
  organizationId: number,
  sourceId: number,
  key: string,
): Promise<JsonObject | undefined> {
  const { rows } = await sql<{ details: JsonObject }>`
    select details from source_alerts
    where organization_id = ${organizationId} and source_id = ${sourceId} and key = ${key} for update`.execute(db);
  return rows[0]?.details;
}

export async function setAlertDetails(
  db: Db,
  organizationId: number,
  sourceId: number,
  key: string,
  details: JsonObject,
): Promise<void> {
  await sql`
    update source_alerts set details = ${JSON.stringify(details)}::jsonb, last_seen_at = now()
    where organization_id = ${organizationId} and source_id = ${sourceId} and key = ${key}`.execute(db);
}
