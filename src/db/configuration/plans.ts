/** Reads everything about an event that is needed to decide and render its messages, in one query. */

import { sql } from 'kysely';
import type { Category } from '../../core/configuration/nouns/category.ts';
import type { Digest } from '../../core/decision/digest.ts';
import type { Canary } from '../../core/decision/guards/canary.ts';
import type { EventGuard, OrganizationGuard } from '../../core/decision/guards/guard.ts';
import { generalSlug } from '../../core/decision/preferences.ts';
import type { QuietHours } from '../../core/decision/quiet-hours.ts';
import type { Pauses } from '../../core/decision/recheck.ts';
import type { Step } from '../../core/decision/steps.ts';
import type { Throttle } from '../../core/decision/throttle.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Db } from '../connection/pool.ts';
import { columnsOf, type RowOf } from './rows.ts';

export interface EventRow extends Pauses {
  id: number;
  slug: string;
  name: string;
  active: boolean;
  guard: EventGuard | null;
  application: { id: number; slug: string; name: string };
  project: { id: number; slug: string; name: string };
  organization: {
    id: number;
    slug: string;
    name: string;
    deliveries_per_trigger: number | null;
    timezone: string | null;
    quiet_hours: QuietHours | null;
    max_per_day: number | null;
    guard: OrganizationGuard | null;
  };
  /** Null: the general category, which every organization has. */
  category: Category | null;
  notifications: NotificationRow[];
}

export interface NotificationRow {
  id: number;
  name: string;
  active: boolean;
  recipients: { list?: string; users?: string; trigger?: boolean; schedule?: string; offset?: number };
  channels: string[];
  filter: string | null;
  environs: string[] | null;
  extra_context: JsonObject;
  priority: number | null;
  throttle: Throttle | null;
  digest: Digest | null;
  canary: Canary | null;
  steps: Step[] | null;
  give_up_after: string | null;
  acknowledgement_expires: string | null;
  ack: 'each' | null;
  notify_resolved: boolean;
  version: number;
}

export async function findEventPlan(db: Db, organizationId: number, eventId: number): Promise<EventRow | undefined> {
  const { rows } = await sql<EventRow>`
    select e.id, e.slug, e.name, e.active, e.guard,
      -- A person's pause comes last in the alphabet, and counts most.
      (select max(coalesce(cause, 'person')) from (values (e.paused_at, e.pause_cause), (a.paused_at, a.pause_cause),
        (p.paused_at, null), (o.paused_at, null)) as one (paused_at, cause) where paused_at is not null) as paused,
      (select coalesce(jsonb_object_agg(id, coalesce(pause_cause, 'person')), '{}') from keys
        where organization_id = e.organization_id and paused_at is not null) as paused_keys,
      jsonb_build_object('id', a.id, 'slug', a.slug, 'name', a.name) as application,
      jsonb_build_object('id', p.id, 'slug', p.slug, 'name', p.name) as project,
      jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name,
        'deliveries_per_trigger', o.deliveries_per_trigger, 'timezone', o.timezone, 'quiet_hours', o.quiet_hours,
        'max_per_day', o.max_per_day, 'guard', o.guard) as organization,
      (select to_jsonb(c) || jsonb_build_object('default', c.default_on) from categories c
        where c.organization_id = e.organization_id and (c.id = e.category_id or e.category_id is null and c.slug = ${generalSlug})
      ) as category,
      coalesce((
        select jsonb_agg(to_jsonb(n) || jsonb_build_object(
          'version', (
            select max(m.version) from messages m
            where m.organization_id = n.organization_id and m.notification_id = n.id)
        ) order by n.id)
        from notifications n where n.organization_id = e.organization_id and n.event_id = e.id
      ), '[]') as notifications
    from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    join organizations o on o.id = e.organization_id
    where e.organization_id = ${organizationId} and e.id = ${eventId}`.execute(db);
  return rows[0];
}

interface MessageRow {
  content: Json;
  /** Project of the event; its layouts take precedence over the organization's. */
  project_id: number;
}

export async function findMessage(db: Db, organizationId: number, notificationId: number, version: number) {
  const { rows } = await sql<MessageRow>`
    select m.content, a.project_id
    from messages m
    join notifications n on n.organization_id = m.organization_id and n.id = m.notification_id
    join events e on e.organization_id = n.organization_id and e.id = n.event_id
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    where m.organization_id = ${organizationId} and m.notification_id = ${notificationId}
      and m.version = ${version}`.execute(db);
  return rows[0];
}

/** Returns whether the organization has ever had an entry in its suppression list. */
export async function hasSuppressions(db: Db, organizationId: number): Promise<boolean> {
  const row = await db
    .selectFrom('organizations')
    .select('suppresses')
    .where('id', '=', organizationId)
    .executeTakeFirst();
  return row?.suppresses ?? false;
}

export type ChannelRow = RowOf<'channel'> & {
  paused: boolean;
  bulk_paused: boolean;
  feedback_token: string;
};

export async function listPlannedChannels(db: Db, organizationId: number): Promise<ChannelRow[]> {
  const { rows } = await sql<ChannelRow>`
    select id, project_id, ${columnsOf('channel')}, paused_at is not null as paused,
      bulk_paused_at is not null as bulk_paused, providers, secrets, feedback_token
    from channels where organization_id = ${organizationId} order by id`.execute(db);
  return rows;
}
