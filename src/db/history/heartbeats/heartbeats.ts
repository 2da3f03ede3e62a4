/** Heartbeats with what is known of them. */
import { sql } from 'kysely';
import { type HeartbeatState, reschedule, type Watched } from '../../../core/heartbeats/state.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';
import { stateText } from './states.ts';

export interface StoredHeartbeat {
  organization_id: number;
  application_id: number;
  id: number;
  slug: string;
  /** Slugs. */
  organization: string;
  project: string;
  application: string;
}

const select = sql`
  select h.organization_id, h.application_id, h.id, h.slug, o.slug as organization, p.slug as project, a.slug as application
  from heartbeats h
  join applications a on a.organization_id = h.organization_id and a.id = h.application_id
  join projects p on p.organization_id = a.organization_id and p.id = a.project_id
  join organizations o on o.id = h.organization_id`;

/** As for sources: of several with the same token, the oldest counts. */
export async function findHeartbeatAcrossTenants(db: Db, tokenHash: Buffer): Promise<StoredHeartbeat | undefined> {
  const { rows } = await sql<StoredHeartbeat>`
    ${select} where h.token_hash = ${tokenHash} order by h.created_at, h.id limit 1`.execute(db);
  return rows[0];
}

/** Finds a heartbeat of the application by its slug or its name, the oldest of that name. */
export async function findNamedHeartbeat(
  db: Db,
  organizationId: number,
  applicationId: number,
  name: string,
): Promise<StoredHeartbeat | undefined> {
  const { rows } = await sql<StoredHeartbeat>`
    ${select} where h.organization_id = ${organizationId} and h.application_id = ${applicationId}
      and (h.slug = ${name} or h.name = ${name})
    order by h.slug <> ${name}, h.id limit 1`.execute(db);
  return rows[0];
}

export async function countHeartbeats(db: Db, organizationId: number, applicationId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from heartbeats
    where organization_id = ${organizationId} and application_id = ${applicationId}`.execute(db);
  return rows[0]!.count;
}

/** Follows a change of the heartbeat in the same transaction. A new one waits for its first call. */
export async function rescheduleHeartbeat(db: Db, organizationId: number, id: number): Promise<void> {
  await sql`
    insert into heartbeat_states (organization_id, heartbeat_id) values (${organizationId}, ${id})
    on conflict do nothing`.execute(db);
  const { rows } = await sql<HeartbeatState & Watched & { now: Date }>`
    select ${sql.raw(stateText)}, h.every, h.timezone, h.grace, h.enabled, date_trunc('milliseconds', now()) as now
    from heartbeat_states s join heartbeats h on h.organization_id = s.organization_id and h.id = s.heartbeat_id
    where s.organization_id = ${organizationId} and s.heartbeat_id = ${id} for update of s`.execute(db);
  const [row] = rows;
  if (!row) return;
  const { since, status, reason, started_at, run_id, expected_at, missing_at, alert, due_at } = reschedule(
    row,
    row,
    row.now.getTime(),
  );
  await db
    .updateTable('heartbeat_states')
    .set({ since, status, reason, started_at, run_id, expected_at, missing_at, alert, due_at })
    .where('organization_id', '=', organizationId)
    .where('heartbeat_id', '=', id)
    .execute();
}

export interface HeartbeatView
  extends Pick<
    HeartbeatState,
    'status' | 'reason' | 'since' | 'last_ping_at' | 'started_at' | 'expected_at' | 'missing_at'
  > {
  id: number;
  project: string;
  application: string;
  slug: string;
  name: string;
  every: string;
  timezone: string;
  grace: string;
  enabled: boolean;
  occurrence_id: string | null;
  error: string | null;
  context: JsonObject | null;
}

interface Selection {
  id?: number;
  applicationId?: number;
  page?: PageRequest;
}

/** Returns heartbeats in order of creation. */
export async function listHeartbeatViews(
  db: Db,
  organizationId: number,
  { id, applicationId, page }: Selection,
): Promise<HeartbeatView[]> {
  const conditions = [
    sql`h.organization_id = ${organizationId}`,
    ...(id === undefined ? [] : [sql`h.id = ${id}`]),
    ...(applicationId === undefined ? [] : [sql`h.application_id = ${applicationId}`]),
    ...(page ? [sql`h.id > ${page.after}`] : []),
  ];
  const { rows } = await sql<HeartbeatView>`
    select h.id, p.slug as project, a.slug as application, h.slug, h.name, h.every, h.timezone, h.grace, h.enabled,
      h.context, s.occurrence_id, s.error, ${sql.raw(stateText)}
    from heartbeats h
    join heartbeat_states s on s.organization_id = h.organization_id and s.heartbeat_id = h.id
    join applications a on a.organization_id = h.organization_id and a.id = h.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    where ${sql.join(conditions, sql` and `)} order by h.id ${page ? sql`limit ${page.limit}` : sql``}`.execute(db);
  return rows;
}

interface HeartbeatSummary {
  all: number;
  missing: number;
  uncalled: number;
  /** Slugs of the first of each. */
  first_missing: string[];
  first_uncalled: string[];
}

const maxNamed = 3;

/** Counts heartbeats of the whole installation that are down, and those that wait for their first call. */
export async function summarizeHeartbeatsAcrossTenants(db: Db): Promise<HeartbeatSummary> {
  const first = (condition: string) =>
    sql.raw(`(array_agg(path order by organization_id, id) filter (where ${condition}))[:${maxNamed}]`);
  const isMissing = `status = 'down'`;
  const isUncalled = `status = 'new' and last_ping_at is null`;
  const { rows } = await sql<HeartbeatSummary>`
    select count(*)::int as all, count(*) filter (where ${sql.raw(isMissing)})::int as missing,
      count(*) filter (where ${sql.raw(isUncalled)})::int as uncalled,
      coalesce(${first(isMissing)}, '{}') as first_missing, coalesce(${first(isUncalled)}, '{}') as first_uncalled
    from (
      select h.organization_id, h.id, s.status, s.last_ping_at, concat_ws('/', o.slug, p.slug, a.slug, h.slug) as path
      from heartbeats h
      join heartbeat_states s on s.organization_id = h.organization_id and s.heartbeat_id = h.id
      join applications a on a.organization_id = h.organization_id and a.id = h.application_id
      join projects p on p.organization_id = a.organization_id and p.id = a.project_id
      join organizations o on o.id = h.organization_id
      where h.enabled
    ) watched`.execute(db);
  return rows[0]!;
}
