/**
 * Changing one thing of the configuration: a file with nothing else in it goes through the same checks, comparison and
 * audit as any other, under the same lock, and costs the same whatever the organization holds besides.
 */
import type { Step } from '../core/configuration/diff.ts';
import { type Section, unwrapError, wrapEntry } from '../core/entries.ts';
import { AppError } from '../core/errors.ts';
import { findPlaceAcrossTenants, type Place, type Slugs } from '../db/places.ts';
import type { Db } from '../db/pool.ts';
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
