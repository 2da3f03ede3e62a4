/** Events. */
import { pathNouns } from '../../core/configuration/document.ts';
import { sampleContext } from '../../core/context-schema/sample.ts';
import type { EventGuard } from '../../core/decision/guards/guard.ts';
import { generalSlug } from '../../core/decision/preferences.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import * as events from '../../db/configuration/events.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import { findRow, listRows } from '../../db/configuration/rows.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import type { Application } from './applications.ts';
import { type Kind, requirePath } from './entries.ts';
import { requireHere } from './paths/moves.ts';
import { showPause } from './pauses.ts';

interface Event extends Omit<Application, 'guard'> {
  active: boolean;
  /** Slug. */
  category: string;
  /** Null: any context is accepted. */
  context_schema: JsonObject | null;
  guard: EventGuard | null;
  /** Generated from the schema; null if there is none. */
  sample_context: JsonObject | null;
  notifications: { id: number; name: string; active: boolean; channels: string[] }[];
}

/** Resolves the slugs of an event, from the cache if possible. */
export async function resolveEventPath({ tenantCache }: Deps, slugs: Required<Slugs>): Promise<Required<ResolvedPath>> {
  await requireHere({ tenantCache }, { slug: slugs.org });
  const path = await tenantCache.resolvePath(slugs);
  if (!path) throw new AppError('organization.not_found', `there is no organization ${slugs.org}`, { slugs });
  const parts = [slugs.org, slugs.prj, slugs.app, slugs.evt];
  for (const [i, noun] of pathNouns.entries()) {
    if (path[noun]) continue;
    const message = `there is no ${noun} ${parts[i + 1]} in ${parts.slice(0, i + 1).join('/')}`;
    throw new AppError(`${noun}.not_found`, message, { slugs });
  }
  return path as Required<ResolvedPath>;
}

/** Returns all events with their schemas, for the command line. */
export async function listEventsWithSchemas({ db }: Deps, org: string): Promise<events.OrganizationEvent[]> {
  const { organization } = await requirePath(db, { org });
  const limit = Number.MAX_SAFE_INTEGER;
  return events.listOrganizationEvents(db, organization.id, { withSchemas: true }, { after: 0, limit });
}

export const event: Kind<'event', Event> = { noun: 'event', read };

async function read(db: Db, { organization }: ResolvedPath, id: number): Promise<Event> {
  const row = (await findRow(db, organization.id, 'event', { id }))!;
  const { slug, name, active, category, context_schema, guard, created_at } = row;
  const notifications = await listRows(db, organization.id, 'notification', { parent: id });
  return {
    ...{ slug, name, ...showPause(row), active, category: category ?? generalSlug, context_schema, guard },
    sample_context: context_schema && sampleContext(context_schema),
    created_at: created_at.toISOString(),
    notifications: notifications.map(({ id, name, active, channels }) => ({ id, name, active, channels })),
  };
}
