import { sql } from 'kysely';
import type { QuietHours } from '../../core/decision/quiet-hours.ts';
import type { Reach } from '../../core/oncall/reach.ts';
import type { Db, Row } from '../connection/pool.ts';

export interface LinkedUser {
  organization_id: number;
  id: number;
  username: string;
  email: string;
  locale: string | null;
  timezone: string | null;
  quiet_hours: QuietHours | null;
  /** The user's own rules; null: none. */
  reach: Reach | null;
  link_generation: number;
  organization: {
    slug: string;
    name: string;
    brand_color: string | null;
    logo_url: string | null;
    timezone: string | null;
    quiet_hours: QuietHours | null;
  };
}

/** Returns the user that a link was created for, with the branding of the organization's pages. */
export async function findLinkedUser(db: Db, organizationId: number, userId: number): Promise<LinkedUser | undefined> {
  const { rows } = await sql<LinkedUser>`
    select u.organization_id, u.id, u.username, u.email, u.locale, u.timezone, u.quiet_hours, u.reach, u.link_generation,
      jsonb_build_object('slug', o.slug, 'name', o.name, 'brand_color', o.brand_color, 'logo_url', o.logo_url,
        'timezone', o.timezone, 'quiet_hours', o.quiet_hours)
        as organization
    from users u join organizations o on o.id = u.organization_id
    where u.organization_id = ${organizationId} and u.id = ${userId}`.execute(db);
  return rows[0];
}

/** What decides whether a recipient token is valid. */
export type TokenHolder = Row<'users', 'organization_id' | 'id' | 'username' | 'link_generation' | 'locked'>;

export async function findTokenHolder(
  db: Db,
  organizationId: number,
  userId: number,
): Promise<TokenHolder | undefined> {
  return db
    .selectFrom('users')
    .select(['organization_id', 'id', 'username', 'link_generation', 'locked'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', userId)
    .executeTakeFirst();
}

/** Returns the branding of an organization's hosted pages. */
export async function findBranding(db: Db, organizationId: number): Promise<LinkedUser['organization'] | undefined> {
  const { rows } = await sql<LinkedUser['organization']>`
    select slug, name, brand_color, logo_url, timezone, quiet_hours from organizations
    where id = ${organizationId}`.execute(db);
  return rows[0];
}

export async function incrementLinkGeneration(db: Db, organizationId: number, userId: number): Promise<void> {
  await sql`
    update users set link_generation = link_generation + 1
    where organization_id = ${organizationId} and id = ${userId}`.execute(db);
}
