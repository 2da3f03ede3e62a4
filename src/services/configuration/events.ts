/** Events. */
import { mergeEntry, refuseChanges, slugAdvice } from '../../core/configuration/entries.ts';
import { sampleContext } from '../../core/context-schema/sample.ts';
import { generalSlug } from '../../core/decision/preferences.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import * as events from '../../db/configuration/events.ts';
import { listEventNotifications } from '../../db/configuration/notifications.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import type { Application } from './applications.ts';
import {
  changeAndInvalidate,
  type DeletionOptions,
  type DeletionResult,
  deleteEntry,
  type Precondition,
  putEntry,
  requireCreatedId,
  requirePath,
} from './entries.ts';
import { requireHere } from './moves.ts';
import { showPause } from './pauses.ts';

interface Event extends Application {
  active: boolean;
  /** Slug. */
  category: string;
  /** Null: any context is accepted. */
  context_schema: JsonObject | null;
  /** Generated from the schema; null if there is none. */
  sample_context: JsonObject | null;
  notifications: { id: number; name: string; active: boolean; channels: string[] }[];
}

/** Resolves the slugs of an event, from the cache if possible. */
export async function resolveEventPath({ tenantCache }: Deps, slugs: Required<Slugs>): Promise<Required<ResolvedPath>> {
  const { org, prj, app, evt } = slugs;
  await requireHere({ tenantCache }, { slug: slugs.org });
  const path = await tenantCache.resolvePath(slugs);
  if (!path) throw new AppError('organization.not_found', `there is no organization ${org}`, { slugs });
  const { organization, project, application, event } = path;
  if (!project) throw new AppError('project.not_found', `there is no project ${prj} in ${org}`, { slugs });
  if (!application)
    throw new AppError('application.not_found', `there is no application ${app} in ${org}/${prj}`, { slugs });
  if (!event) throw new AppError('event.not_found', `there is no event ${evt} in ${org}/${prj}/${app}`, { slugs });
  return { organization, project, application, event };
}

/** Returns all events with their schemas, for the command line. */
export async function listEventsWithSchemas({ db }: Deps, org: string): Promise<events.OrganizationEvent[]> {
  const { organization } = await requirePath(db, { org });
  const limit = Number.MAX_SAFE_INTEGER;
  return events.listOrganizationEvents(db, organization.id, { withSchemas: true }, { after: 0, limit });
}

export async function getEvent({ db }: Deps, slugs: Slugs): Promise<Event> {
  const { organization, event } = await requirePath(db, slugs);
  return read(db, organization.id, event!.id);
}

export async function createEvent(
  deps: Deps,
  { org, prj, app }: Slugs,
  entry: { slug: string; name: string; active?: boolean; category?: string; context_schema?: JsonObject | null },
): Promise<Event> {
  const parents = { org, prj, app };
  return changeAndInvalidate(deps, parents, async trx => {
    const { organization } = await requirePath(trx, parents);
    const id = requireCreatedId(await putEntry(deps, trx, parents, 'events', entry), 'slug', entry);
    return read(trx, organization.id, id);
  });
}

export interface EventChanges {
  slug?: unknown;
  name?: string;
  active?: boolean | null;
  category?: string | null;
  context_schema?: JsonObject | null;
}

export async function updateEvent(
  deps: Deps,
  { org, prj, app, evt }: Slugs,
  changes: EventChanges,
  check: Precondition<Event>,
): Promise<Event> {
  return changeAndInvalidate(deps, { org }, async trx => {
    const { organization, event } = await requirePath(trx, { org, prj, app, evt });
    const current = await read(trx, organization.id, event!.id);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice });
    const { slug, name, active, category } = current;
    const { context_schema, ...others } = changes;
    const entry = mergeEntry({ slug, name, active, category }, others) as { slug: string; name: string };
    // Not merged: null is a value of the schema and means none.
    await putEntry(deps, trx, { org, prj, app }, 'events', { ...entry, context_schema } as typeof entry);
    return read(trx, organization.id, event!.id);
  });
}

export async function deleteEvent(
  deps: Deps,
  slugs: Slugs,
  deletion: DeletionOptions,
  check: Precondition<Event>,
): Promise<DeletionResult> {
  const target = {
    noun: 'event' as const,
    read: (trx: Db, { organization, event }: ResolvedPath) => read(trx, organization.id, event!.id),
    check,
    delete: (trx: Db, { organization, event }: ResolvedPath) => events.deleteEvent(trx, organization.id, event!.id),
  };
  return deleteEntry(deps, slugs, target, deletion);
}

async function read(db: Db, organizationId: number, id: number): Promise<Event> {
  const event = (await events.findEvent(db, organizationId, id))!;
  const { slug, name, active, category, context_schema, created_at } = event;
  const notifications = await listEventNotifications(db, organizationId, id);
  const sample_context = context_schema && sampleContext(context_schema);
  const shared = {
    slug,
    name,
    ...showPause(event),
    active,
    category: category ?? generalSlug,
    context_schema,
    sample_context,
  };
  return { ...shared, created_at: created_at.toISOString(), notifications };
}
