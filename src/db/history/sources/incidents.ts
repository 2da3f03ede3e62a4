/** Occurrences that someone should take care of: those with a dedup key or with steps. */
import { sql } from 'kysely';
import { lowestUuidAt } from '../../../core/ids.ts';
import type { AlertState, Severity } from '../../../core/sources/alert.ts';
import { type IncidentState, incidentLimits } from '../../../core/sources/incidents.ts';
import type { Db } from '../../connection/pool.ts';

/** As in the index `occurrences_open`. */
const rank = sql.raw(
  `(case o.context ->> 'severity' when 'critical' then 5 when 'error' then 4 when 'warning' then 3 when 'info' then 1 else 2 end)`,
);
const isOpen = sql.raw(`o.acknowledged_at is null and o.resolved_at is null and o.cancelled_at is null
  and (o.dedup_key is not null or o.awaits_acknowledgement or o.escalating > 0)`);

/** Looks silences up by occurrence; `offset 0` keeps the planner from reading all that the organization has silenced. */
const silencesOf = sql.raw(`
  from silenced_occurrences x
  where x.organization_id = o.organization_id and x.occurrence_id = o.id and x.until > now()
    and (select s.ends_at from silences s where s.organization_id = x.organization_id and s.id = x.silence_id) > now()`);
const isSilenced = sql`exists (select ${silencesOf} offset 0)`;
const hasSilences = (organizationId: number) =>
  sql`exists (select from silences where organization_id = ${organizationId} and ends_at > now())`;

/** Returns the conditions that no index has and few may satisfy. */
async function conditionsOf(db: Db, organizationId: number, state: IncidentState) {
  if (state === 'snoozed') return [sql`o.snoozed_by is not null`];
  if (state === 'acknowledged' || state === 'resolved') return [];
  if (state === 'silenced') return [isSilenced];
  const { rows } = await sql<{ found: boolean }>`select ${hasSilences(organizationId)} as found`.execute(db);
  return rows[0]!.found ? [sql`not ${isSilenced}`] : [];
}

export interface IncidentFilter {
  state: IncidentState;
  severity?: Severity | undefined;
  /** Slug. */
  project?: string | undefined;
  /** prj/app/source. */
  source?: string | undefined;
}

export interface IncidentKey {
  id: string;
  rank: number;
}

/** Rows that are read for one page: most may be excluded by a filter. */
const maxScanned = 2_000;

/** Returns keys of a page, and where the next one starts, if there may be one. Open ones are in the order of attention. */
export async function listIncidents(
  db: Db,
  organizationId: number,
  filter: IncidentFilter,
  { after, limit }: { after: IncidentKey | undefined; limit: number },
): Promise<{ keys: IncidentKey[]; next: IncidentKey | undefined }> {
  const { state, severity, project, source } = filter;
  const [prj, app, slug] = source?.split('/') ?? [];
  const isAttended = state === 'open' || state === 'silenced';
  const matches = [
    sql`true`,
    ...(await conditionsOf(db, organizationId, state)),
    ...(severity ? [sql`o.context ->> 'severity' = ${severity}`] : []),
    ...(project
      ? [
          sql`o.project_id in (select p.id from projects p
            where p.organization_id = ${organizationId} and p.slug = ${project})`,
        ]
      : []),
    ...(source
      ? [
          sql`o.context ->> 'source' = ${slug ?? ''} and o.application_id in (
            select a.id from applications a join projects p on p.organization_id = a.organization_id and p.id = a.project_id
            where a.organization_id = ${organizationId} and a.slug = ${app ?? ''} and p.slug = ${prj})`,
        ]
      : []),
  ];
  const outcome = state === 'resolved' ? 'resolved' : 'acknowledged';
  const scanned = matches.length > 1 ? maxScanned : limit;
  const columns = sql`o.organization_id, o.id, ${rank} as rank, o.context, o.project_id, o.application_id, o.snoozed_by`;
  const found = isAttended
    ? sql`select ${columns} from occurrences o where o.organization_id = ${organizationId} and ${isOpen}
          ${after ? sql`and (${rank}, o.id) < (${after.rank}, ${after.id}::uuid)` : sql``}
          order by ${rank} desc, o.id desc limit ${scanned}`
    : sql`select ${columns} from occurrences o where o.organization_id = ${organizationId} and o.outcome = ${outcome}
          ${state === 'acknowledged' ? sql`and o.snoozed_by is null` : sql``}
          ${after ? sql`and o.id < ${after.id}::uuid` : sql``} order by o.id desc limit ${scanned}`;
  const order = isAttended ? sql`o.rank desc, o.id desc` : sql`o.id desc`;
  const { rows } = await sql<IncidentKey & { matches: boolean }>`
    select o.id, o.rank, coalesce(${sql.join(matches, sql` and `)}, false) as matches from (${found}) o order by ${order}`.execute(
    db,
  );
  const keys: IncidentKey[] = [];
  for (const { matches: isMatch, ...key } of rows) {
    if (isMatch) keys.push(key);
    if (keys.length === limit) return { keys, next: key };
  }
  return { keys, next: rows.length === scanned ? rows.at(-1) : undefined };
}

export interface UnresolvedIncident {
  id: string;
  title: string | null;
  severity: string | null;
  acknowledged: boolean;
}

/** Lists what is not resolved of these events, in the order of attention, acknowledged ones last. `count` is at least their number. */
export async function listUnresolved(
  db: Db,
  organizationId: number,
  eventIds: readonly number[],
  limit: number,
): Promise<{ count: number; incidents: UnresolvedIncident[] }> {
  if (eventIds.length === 0) return { count: 0, incidents: [] };
  const columns = sql`o.id, o.event_id, ${rank} as rank, left(o.context ->> 'title', 500) as title,
    o.context ->> 'severity' as severity, o.acknowledged_at is not null as acknowledged`;
  const { rows } = await sql<UnresolvedIncident & { count: number }>`
    select id, title, severity, acknowledged, (count(*) over ())::int as count from (
      (select ${columns} from occurrences o where o.organization_id = ${organizationId} and ${isOpen}
        order by ${rank} desc, o.id desc limit ${maxScanned})
      union all
      (select ${columns} from occurrences o where o.organization_id = ${organizationId} and o.outcome = 'acknowledged'
        order by o.id desc limit ${maxScanned})
    ) found
    where event_id = any(${[...eventIds]}::bigint[]) order by acknowledged, rank desc, id desc limit ${limit}`.execute(
    db,
  );
  return { count: rows[0]?.count ?? 0, incidents: rows.map(({ count: _, ...incident }) => incident) };
}

export interface IncidentDetails {
  id: string;
  title: string | null;
  source: string | null;
  source_name: string | null;
  severity: string | null;
  severities: string[];
  last_seen_at: Date | null;
  /** Until when silences hold or suppress it; null: none does. */
  silenced_until: Date | null;
  open: number;
  acknowledged: number;
  resolved: number;
}

/** Returns what the alerts of these occurrences say, in any order. */
export async function findIncidentDetails(db: Db, organizationId: number, ids: string[]): Promise<IncidentDetails[]> {
  const { rows } = await sql<IncidentDetails>`
    select o.id, left(o.context ->> 'title', 500) as title, p.slug || '/' || a.slug || '/' || s.slug as source, s.name as source_name,
      o.context ->> 'severity' as severity, coalesce(m.severities, '{}') as severities, m.last_seen_at,
      (select max(x.until) ${silencesOf}) as silenced_until,
      coalesce(m.open, 0) as open, coalesce(m.acknowledged, 0) as acknowledged, coalesce(m.resolved, 0) as resolved
    from unnest(${ids}::uuid[]) as given (id)
    join occurrences o on o.organization_id = ${organizationId} and o.id = given.id
    left join applications a on a.organization_id = o.organization_id and a.id = o.application_id
    left join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    left join sources s on s.organization_id = o.organization_id and s.application_id = o.application_id
      and s.slug = o.context ->> 'source'
    left join lateral (
      select array_agg(distinct l.severity) filter (where l.severity is not null and l.state <> 'resolved') as severities,
        max(l.last_seen_at) as last_seen_at,
        count(*) filter (where l.state = 'open')::int as open,
        count(*) filter (where l.state = 'acknowledged')::int as acknowledged,
        count(*) filter (where l.state = 'resolved')::int as resolved
      from (
        select severity, state, last_seen_at from source_alerts
        where organization_id = s.organization_id and source_id = s.id and occurrence_id = o.id limit ${incidentLimits.counted}
      ) l
    ) m on true`.execute(db);
  return rows;
}

export interface MemberAlert {
  id: number;
  source: string;
  key: string;
  state: AlertState;
  title: string;
  severity: Severity | null;
  count: number;
  opened_at: Date;
  last_seen_at: Date;
}

/** Returns the alerts of an occurrence, in the order in which they were first seen. */
export async function listMemberAlerts(
  db: Db,
  organizationId: number,
  occurrence: string,
  { after, limit }: { after: number; limit: number },
): Promise<MemberAlert[]> {
  const { rows } = await sql<MemberAlert>`
    select l.number as id, s.slug as source, l.key, l.state, l.title, l.severity, l.count, l.opened_at, l.last_seen_at
    from sources s
    join source_alerts l on l.organization_id = s.organization_id and l.source_id = s.id and l.occurrence_id = ${occurrence}
    where s.organization_id = ${organizationId} and s.application_id = (
      select application_id from occurrences where organization_id = ${organizationId} and id = ${occurrence})
      and l.number > ${after}
    order by l.number limit ${limit}`.execute(db);
  return rows;
}

export interface IncidentSummary {
  open: number;
  silenced: number;
  acknowledged: number;
  snoozed: number;
  /** Medians, in seconds; null: there were none. */
  acknowledge_seconds: number | null;
  resolve_seconds: number | null;
}

export async function summarizeIncidents(db: Db, organizationId: number, since: Date): Promise<IncidentSummary> {
  const first = lowestUuidAt(since.getTime());
  const ended = (outcome: string) => sql`(
    select o.created_at, o.acknowledged_at, o.resolved_at from occurrences o
    where o.organization_id = ${organizationId} and o.outcome = ${outcome} and o.id >= ${first}::uuid
    order by o.id desc limit ${incidentLimits.summarized})`;
  const median = (column: string) =>
    sql`percentile_cont(0.5) within group (order by extract(epoch from ${sql.ref(column)} - created_at))`;
  const { rows } = await sql<IncidentSummary>`
    select attended.*, answered.*,
      (select ${median('acknowledged_at')} from (${ended('acknowledged')} union all ${ended('resolved')}) ended
        where acknowledged_at is not null) as acknowledge_seconds,
      (select ${median('resolved_at')} from ${ended('resolved')} ended) as resolve_seconds
    from (
      select count(*) filter (where not is_silenced)::int as open, count(*) filter (where is_silenced)::int as silenced
      from (
        select ${hasSilences(organizationId)} and ${isSilenced} as is_silenced from occurrences o
        where o.organization_id = ${organizationId} and ${isOpen} limit ${incidentLimits.summarized}
      ) found
    ) attended, (
      select count(*) filter (where snoozed_by is null)::int as acknowledged,
        count(*) filter (where snoozed_by is not null)::int as snoozed
      from (
        select o.snoozed_by from occurrences o where o.organization_id = ${organizationId} and o.outcome = 'acknowledged'
        order by o.id desc limit ${incidentLimits.summarized}
      ) found
    ) answered`.execute(db);
  return rows[0]!;
}
