/**
 * Changing one thing of the configuration: a file with nothing else in it goes through the same checks, comparison and
 * audit as any other, under the same lock, and costs the same whatever the organization holds besides.
 */
import type { Step } from '../core/configuration/diff.ts';
import { type Section, unwrapError, wrapEntry } from '../core/entries.ts';
import { AppError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { releasePaused } from '../db/deliveries.ts';
import { findPlaceAcrossTenants, type Place, type Slugs } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import { type Counts, countBelow } from '../db/uses.ts';
import { record } from './audit.ts';
import { applyIn, changeConfiguration } from './declarative.ts';
import type { Deps } from './deps.ts';

/** Throws `request.stale` when what is there is not what the caller has read. */
export type Check<Form> = (current: Form) => void;

/** One change; afterwards this process itself knows of it, before it hears the announcement. */
export async function change<T>(deps: Deps, { org }: Slugs, work: (trx: Db) => Promise<T>): Promise<T> {
  let organizationId: number | undefined;
  const result = await changeConfiguration(deps, [org], async trx => {
    organizationId = (await findPlaceAcrossTenants(trx, { org }))?.organization.id;
    return work(trx);
  });
  if (organizationId !== undefined) deps.tenantCache.invalidate(organizationId);
  return result;
}

/** Everything that the slugs name, as it is now; throws when something has been deleted since the path was read. */
export async function requirePlace(trx: Db, slugs: Slugs): Promise<Place> {
  const { org, prj, app, evt } = slugs;
  const place = await findPlaceAcrossTenants(trx, slugs);
  if (!place) throw new AppError('organization.not_found', `there is no organization ${org}`);
  if (prj !== undefined && !place.project) throw new AppError('project.not_found', `there is no project ${prj}`);
  if (app !== undefined && !place.application) {
    throw new AppError('application.not_found', `there is no application ${app}`);
  }
  if (evt !== undefined && !place.event) throw new AppError('event.not_found', `there is no event ${evt}`);
  return place;
}

/** Makes the entry what it says, below what the slugs name; without a section, the organization itself. */
export async function putEntry(
  deps: Deps,
  trx: Db,
  slugs: Slugs,
  section: Section | undefined,
  entry: { slug?: string; name: string },
): Promise<Step[]> {
  const place = await requirePlace(trx, slugs);
  const own = await findPlaceAcrossTenants(trx, { ...slugs, ...ownSlug(section, entry) });
  const within = { project: own?.project?.id, application: own?.application?.id, event: own?.event?.id };
  const { document, at } = wrapEntry(place, section, entry);
  try {
    return await applyIn(deps, trx, document, { prune: false, within });
  } catch (error) {
    throw unwrapError(error, at);
  }
}

/** What was created; throws when the entry was there already. */
export function createdBy(steps: readonly Step[], field: string, entry: object): number {
  const step = steps.at(-1);
  if (step?.action === 'create') return step.place.id!;
  throw exists(field, String((entry as Record<string, unknown>)[field]));
}

export function exists(field: string, name: string): AppError {
  const message = `${JSON.stringify(name)} exists already: choose another, or change that one`;
  return new AppError('resource.exists', `${field}: ${message}`, { fields: { [field]: [message] } });
}

function ownSlug(section: Section | undefined, { slug }: { slug?: string }): Partial<Slugs> {
  switch (section) {
    case 'projects':
      return { prj: slug };
    case 'applications':
      return { app: slug };
    case 'events':
      return { evt: slug };
    default:
      return {};
  }
}

export interface Pausable {
  noun: 'application' | 'event' | 'channel';
  id: number;
  /** For the audit log. */
  path: string;
  setPaused: (trx: Db, organizationId: number, id: number, isPaused: boolean) => Promise<void>;
}

/** Messages are kept until it is resumed. */
export async function pause(deps: Deps, organizationId: number, what: Pausable): Promise<void> {
  await changePause(deps, organizationId, what, true);
}

/** Returns how many messages and occurrences of the organization had been kept and are due now. */
export async function resume(deps: Deps, organizationId: number, what: Pausable): Promise<number> {
  await changePause(deps, organizationId, what, false);
  return releasePaused(deps.db, organizationId);
}

async function changePause(deps: Deps, organizationId: number, what: Pausable, isPaused: boolean): Promise<void> {
  const { noun, id, path, setPaused } = what;
  await deps.db.transaction().execute(async trx => {
    await setPaused(trx, organizationId, id, isPaused);
    await record(deps, trx, organizationId, { action: isPaused ? 'pause' : 'resume', noun, path });
  });
}

export interface Deletion {
  /** Along with everything below it. */
  cascade: boolean;
  /** Only tells what would go. */
  dryRun: boolean;
}

export interface Deleted {
  /** How many of what, the thing itself included. */
  deleted: Counts;
  dry_run?: true;
}

interface Deletable<Form> {
  noun: 'organization' | 'project' | 'application' | 'event' | 'notification' | 'channel' | 'layout';
  /** As it is now. */
  read: (trx: Db, place: Place) => Promise<Form>;
  check: Check<Form>;
  /** What it is called below the organization, where that is more than its slugs. */
  nameOf?: (current: Form) => string;
  /** Throws while others name it. Absent: what is below it stands in the way instead. */
  refuseUsed?: (trx: Db, place: Place, current: Form) => Promise<void>;
  delete: (trx: Db, place: Place) => Promise<void>;
}

/**
 * Deletes one thing of the configuration. What has something below it goes only when that is wanted, what others name
 * does not go at all, and history stays.
 */
export async function deleteEntry<Form>(
  deps: Deps,
  slugs: Slugs,
  { noun, read, check, nameOf, refuseUsed, delete: run }: Deletable<Form>,
  { cascade, dryRun }: Deletion,
): Promise<Deleted> {
  return change(deps, slugs, async trx => {
    const place = await requirePlace(trx, slugs);
    const { organization, project, application, event } = place;
    const current = await read(trx, place);
    check(current);
    await refuseUsed?.(trx, place, current);
    const hasBelow = refuseUsed === undefined && noun !== 'notification';
    const within = { project: project?.id, application: application?.id, event: event?.id };
    const below = hasBelow ? await countBelow(trx, organization.id, within) : {};
    const deleted = { [`${noun}s`]: 1, ...below };
    if (dryRun) return { deleted, dry_run: true };
    if (!cascade && Object.keys(below).length > 0) {
      const message = `it has things below it that would be deleted along: repeat with ?cascade=true if that is meant`;
      throw new AppError('resource.in_use', message, { uses: below });
    }
    await run(trx, place);
    const { org, prj, app, evt } = slugs;
    const path = noun === 'organization' ? org : [prj, app, evt, nameOf?.(current)].filter(Boolean).join('/');
    const entry = { action: 'delete', noun, path, before: current as Json, after: { deleted } };
    await record(deps, trx, organization.id, entry);
    return { deleted };
  });
}
