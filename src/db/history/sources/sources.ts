/** Sources as the ingress needs them, and their encrypted secrets. */
import { sql } from 'kysely';
import { timeOfUuid } from '../../../core/ids.ts';
import type { SourceRules } from '../../../core/sources/mapping.ts';
import type { PageRequest } from '../../connection/page.ts';
import type { Db } from '../../connection/pool.ts';

export interface StoredSource extends SourceRules {
  organization_id: number;
  application_id: number;
  id: number;
  name: string;
  /** Whether people's changes are reported to the sender. */
  reports_back: boolean;
  secrets: Buffer;
  /** Slugs. */
  organization: string;
  project: string;
  application: string;
}

const select = sql`
  select s.organization_id, s.application_id, s.id, s.slug, s.name, s.use, s.mapping, s.routes, s.group_by, s.secrets, s.update is not null as reports_back,
    o.slug as organization, p.slug as project, a.slug as application
  from sources s
  join applications a on a.organization_id = s.organization_id and a.id = s.application_id
  join projects p on p.organization_id = s.organization_id and p.id = a.project_id
  join organizations o on o.id = s.organization_id`;

/** If several sources have been given the same token, the oldest counts: no one can take over another's alerts. */
export async function findSourceAcrossTenants(db: Db, tokenHash: Buffer): Promise<StoredSource | undefined> {
  const { rows } = await sql<StoredSource>`
    ${select} where s.token_hash = ${tokenHash} order by s.created_at, s.id limit 1`.execute(db);
  return rows[0];
}

export async function findSource(db: Db, organizationId: number, id: number): Promise<StoredSource | undefined> {
  const { rows } = await sql<StoredSource>`
    ${select} where s.organization_id = ${organizationId} and s.id = ${id}`.execute(db);
  return rows[0];
}

export interface SourceSummary {
  id: number;
  project: string;
  application: string;
  slug: string;
  name: string;
  use: string | null;
  /** When it last received something; null: not in the time for which payloads are kept. */
  last_received_at: Date | null;
  last_state: string | null;
}

/** Returns the sources of all applications in order of creation. */
export async function listOrganizationSources(
  db: Db,
  organizationId: number,
  page: PageRequest,
): Promise<SourceSummary[]> {
  const { rows } = await sql<Omit<SourceSummary, 'last_received_at'> & { payload: string | null }>`
    select s.id, p.slug as project, a.slug as application, s.slug, s.name, s.use, l.id as payload, l.state as last_state
    from sources s
    join applications a on a.organization_id = s.organization_id and a.id = s.application_id
    join projects p on p.organization_id = s.organization_id and p.id = a.project_id
    left join lateral (
      select l.id, l.state from source_payloads l
      where l.organization_id = s.organization_id and l.source_id = s.id order by l.id desc limit 1
    ) l on true
    where s.organization_id = ${organizationId} and s.id > ${page.after} order by s.id limit ${page.limit}`.execute(db);
  return rows.map(({ payload, ...row }) => ({
    ...row,
    last_received_at: payload ? new Date(timeOfUuid(payload)) : null,
  }));
}
