/** Projects, applications and events: what paths are made of. */
import type { Section } from '../core/entries.ts';
import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import { generalSlug } from '../core/preferences.ts';
import { findApplication } from '../db/applications.ts';
import { findEvent } from '../db/events.ts';
import { listEventNotifications } from '../db/notifications.ts';
import type { Place, Slugs } from '../db/places.ts';
import type { Db } from '../db/pool.ts';
import { findProject } from '../db/projects.ts';
import type { Deps } from './deps.ts';
import { type Check, change, createdBy, putEntry, requirePlace } from './entries.ts';

export interface Project {
  slug: string;
  name: string;
}

export interface Application extends Project {
  paused: boolean;
  created_at: string;
}

export interface Event extends Application {
  active: boolean;
  /** Slug. */
  category: string;
  notifications: { id: number; name: string; active: boolean; channels: string[] }[];
}

interface Forms {
  project: Project;
  application: Application;
  event: Event;
}
export type Kind = keyof Forms;

const sections: Record<Kind, Section> = { project: 'projects', application: 'applications', event: 'events' };

const readers: { [K in Kind]: (db: Db, organizationId: number, id: number) => Promise<Forms[K] | undefined> } = {
  project: async (db, organizationId, id) => {
    const row = await findProject(db, organizationId, id);
    return row && { slug: row.slug, name: row.name };
  },
  application: async (db, organizationId, id) => {
    const row = await findApplication(db, organizationId, id);
    return row && toForm(row);
  },
  event: async (db, organizationId, id) => {
    const row = await findEvent(db, organizationId, id);
    if (!row) return undefined;
    const { created_at, ...own } = toForm(row);
    const notifications = await listEventNotifications(db, organizationId, id);
    return { ...own, active: row.active, category: row.category ?? generalSlug, created_at, notifications };
  },
};

function toForm(row: { slug: string; name: string; paused_at: Date | null; created_at: Date }): Application {
  const { slug, name, paused_at, created_at } = row;
  return { slug, name, paused: paused_at !== null, created_at: created_at.toISOString() };
}

/** The slugs lead to the thing itself. */
export async function getPlace<K extends Kind>({ db }: Deps, kind: K, slugs: Slugs): Promise<Forms[K]> {
  return read(db, kind, await requirePlace(db, slugs));
}

/** The slugs lead to what it is created in. */
export async function createPlace<K extends Kind>(
  deps: Deps,
  kind: K,
  slugs: Slugs,
  entry: { slug: string; name: string; active?: boolean; category?: string },
): Promise<Forms[K]> {
  return change(deps, slugs, async trx => {
    const place = await requirePlace(trx, slugs);
    const id = createdBy(await putEntry(deps, trx, slugs, sections[kind], entry), 'slug', entry);
    return (await readers[kind](trx, place.organization.id, id))!;
  });
}

export async function updatePlace<K extends Kind>(
  deps: Deps,
  kind: K,
  slugs: Slugs,
  changes: { slug?: unknown; name?: string; active?: boolean | null; category?: string | null },
  check: Check<Forms[K]>,
): Promise<Forms[K]> {
  return change(deps, slugs, async trx => {
    const place = await requirePlace(trx, slugs);
    const current = await read(trx, kind, place);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice });
    const { slug, name, active, category } = place[kind] as Project & Partial<Event>;
    const own = { slug, name, ...(active !== undefined && { active, category }) };
    const entry = mergeEntry(own, changes);
    await putEntry(deps, trx, above(kind, slugs), sections[kind], entry as { slug: string; name: string });
    return read(trx, kind, place);
  });
}

async function read<K extends Kind>(db: Db, kind: K, place: Place): Promise<Forms[K]> {
  return (await readers[kind](db, place.organization.id, place[kind]!.id))!;
}

export function above(kind: Kind, { org, prj, app }: Slugs): Slugs {
  if (kind === 'project') return { org };
  return kind === 'application' ? { org, prj } : { org, prj, app };
}
