import { sql } from 'kysely';
import type { JsonObject } from '../core/json.ts';
import type { PageRequest } from './page.ts';
import type { Named } from './places.ts';
import type { Db } from './pool.ts';

export interface Channel extends Named {
  type: string;
  enabled: boolean;
  project_id: number | null;
}

/** The organization's own channels, or with a project those of the project. */
export async function listChannels(
  db: Db,
  organizationId: number,
  projectId: number | null,
  page: PageRequest,
): Promise<Channel[]> {
  return db
    .selectFrom('channels')
    .select(['id', 'slug', 'name', 'type', 'enabled', 'project_id'])
    .where('organization_id', '=', organizationId)
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

/** Everything that the events of any project may use, the organization's and the projects'. */
export async function listAllChannels(db: Db, organizationId: number): Promise<Channel[]> {
  return db
    .selectFrom('channels')
    .select(['id', 'slug', 'name', 'type', 'enabled', 'project_id'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

export interface ChannelSettings {
  slug: string;
  name: string;
  type: string;
  enabled: boolean;
  on_unknown: 'resend' | 'hold';
  rate_per_second: number | null;
  concurrency: number | null;
  /** Without what is secret in them. */
  providers: JsonObject[];
  /** Sealed. */
  secrets: Buffer | null;
}

/** With what stands behind each channel. */
export async function listChannelSettings(
  db: Db,
  organizationId: number,
): Promise<(ChannelSettings & { id: number; project_id: number | null })[]> {
  const rows = await db
    .selectFrom('channels')
    .select(['id', 'project_id', 'slug', 'name', 'type', 'enabled', 'providers', 'secrets'])
    .select(['on_unknown', 'rate_per_second', 'concurrency'])
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
  return rows.map(row => ({
    ...row,
    on_unknown: row.on_unknown as ChannelSettings['on_unknown'],
    providers: row.providers as JsonObject[],
  }));
}

export async function createChannel(
  db: Db,
  organizationId: number,
  projectId: number | null,
  { providers, ...fields }: ChannelSettings,
): Promise<number> {
  const row = await db
    .insertInto('channels')
    .values({
      organization_id: organizationId,
      project_id: projectId,
      ...fields,
      providers: JSON.stringify(providers),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

/** Without `providers`, what stands behind the channel stays as it is. */
export async function updateChannel(
  db: Db,
  organizationId: number,
  id: number,
  {
    providers,
    ...fields
  }: Omit<ChannelSettings, 'slug' | 'providers' | 'secrets'> & Partial<Pick<ChannelSettings, 'providers' | 'secrets'>>,
): Promise<void> {
  await db
    .updateTable('channels')
    .set({ ...fields, ...(providers && { providers: JSON.stringify(providers) }), updated_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteChannel(db: Db, organizationId: number, id: number): Promise<void> {
  await db.deleteFrom('channels').where('organization_id', '=', organizationId).where('id', '=', id).execute();
}

export async function findChannelId(
  db: Db,
  organizationId: number,
  projectId: number | null,
  slug: string,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('channels')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('slug', '=', slug)
    .executeTakeFirst();
  return row?.id;
}
