/**
 * Changes a single configuration object by applying a document that contains only that object. The API and the
 * declarative file thus share their checks, comparison, audit and lock. The cost does not depend on the organization's size.
 */
import type { Step } from '../../core/configuration/diff.ts';
import { type Section, unwrapError, wrapEntry } from '../../core/configuration/entries.ts';
import { AppError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { type ResolvedPath, resolvePathAcrossTenants, type Slugs } from '../../db/configuration/organizations.ts';
import { type Counts, countBelow } from '../../db/configuration/references.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { applyInTransaction, changeConfiguration } from './declarative.ts';

/** Throws `request.stale` if the object has changed since the caller read it (If-Match). */
export type Precondition<Form> = (current: Form) => void;

/** Runs one change and invalidates this process's cache at once, without waiting for the announcement. */
export async function changeAndInvalidate<T>(deps: Deps, { org }: Slugs, work: (trx: Db) => Promise<T>): Promise<T> {
  let organizationId: number | undefined;
  const result = await changeConfiguration(deps, [org], async trx => {
    organizationId = (await resolvePathAcrossTenants(trx, { org }))?.organization.id;
    return work(trx);
  });
  if (organizationId !== undefined) deps.tenantCache.invalidate(organizationId);
  return result;
}

/** Resolves the slugs from the database; throws if an object has been deleted since the request was routed. */
export async function requirePath(trx: Db, slugs: Slugs): Promise<ResolvedPath> {
  const { org, prj, app, evt } = slugs;
  const resolved = await resolvePathAcrossTenants(trx, slugs);
  if (!resolved) throw new AppError('organization.not_found', `there is no organization ${org}`);
  if (prj !== undefined && !resolved.project) throw new AppError('project.not_found', `there is no project ${prj}`);
  if (app !== undefined && !resolved.application) {
    throw new AppError('application.not_found', `there is no application ${app}`);
  }
  if (evt !== undefined && !resolved.event) throw new AppError('event.not_found', `there is no event ${evt}`);
  return resolved;
}

/** Creates or updates the entry below the object that the slugs name; without a section, the organization itself. */
export async function putEntry(
  deps: Deps,
  trx: Db,
  slugs: Slugs,
  section: Section | undefined,
  entry: { slug?: string; name: string },
): Promise<Step[]> {
  const resolved = await requirePath(trx, slugs);
  const own = await resolvePathAcrossTenants(trx, { ...slugs, ...ownSlug(section, entry) });
  const within = { project: own?.project?.id, application: own?.application?.id, event: own?.event?.id };
  const { document, at } = wrapEntry(resolved, section, entry);
  try {
    return await applyInTransaction(deps, trx, document, { prune: false, within });
  } catch (error) {
    throw unwrapError(error, at);
  }
}

/** Returns the id of the created row; throws if the entry existed already. */
export function requireCreatedId(steps: readonly Step[], field: string, entry: object): number {
  const step = steps.at(-1);
  if (step?.action === 'create') return step.row.id!;
  throw alreadyExists(field, String((entry as Record<string, unknown>)[field]));
}

export function alreadyExists(field: string, name: string): AppError {
  const message = `${JSON.stringify(name)} already exists: choose another, or update the existing one`;
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

export interface DeletionOptions {
  /** Deletes everything below it, too. */
  cascade: boolean;
  /** Only returns what would be deleted. */
  dryRun: boolean;
}

export interface DeletionResult {
  /** Number of deleted objects by noun, including the object itself. */
  deleted: Counts;
  dry_run?: true;
}

interface DeletionTarget<Form> {
  noun: 'organization' | 'project' | 'application' | 'event' | 'notification' | 'channel' | 'layout';
  /** Returns the current state. */
  read: (trx: Db, resolved: ResolvedPath) => Promise<Form>;
  check: Precondition<Form>;
  /** Returns the last part of the path in the audit log, if it is not one of the slugs. */
  nameOf?: (current: Form) => string;
  /** Throws while other objects reference it. Absent: objects below it block the deletion instead. */
  refuseIfUsed?: (trx: Db, resolved: ResolvedPath, current: Form) => Promise<void>;
  delete: (trx: Db, resolved: ResolvedPath) => Promise<void>;
}

/**
 * Deletes one configuration object. An object with others below it needs `cascade`, one that is referenced cannot be
 * deleted, and history is kept.
 */
export async function deleteEntry<Form>(
  deps: Deps,
  slugs: Slugs,
  { noun, read, check, nameOf, refuseIfUsed, delete: deleteRow }: DeletionTarget<Form>,
  { cascade, dryRun }: DeletionOptions,
): Promise<DeletionResult> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const resolved = await requirePath(trx, slugs);
    const { organization, project, application, event } = resolved;
    const current = await read(trx, resolved);
    check(current);
    await refuseIfUsed?.(trx, resolved, current);
    const hasChildren = refuseIfUsed === undefined && noun !== 'notification';
    const within = { project: project?.id, application: application?.id, event: event?.id };
    const children = hasChildren ? await countBelow(trx, organization.id, within) : {};
    const deleted = { [`${noun}s`]: 1, ...children };
    if (dryRun) return { deleted, dry_run: true };
    if (!cascade && Object.keys(children).length > 0) {
      const message =
        'other objects below it would be deleted too: repeat the request with ?cascade=true to delete them';
      throw new AppError('resource.in_use', message, { uses: children });
    }
    await deleteRow(trx, resolved);
    const { org, prj, app, evt } = slugs;
    const path = noun === 'organization' ? org : [prj, app, evt, nameOf?.(current)].filter(Boolean).join('/');
    const entry = { action: 'delete', noun, path, before: current as Json, after: { deleted } };
    await record(deps, trx, organization.id, entry);
    return { deleted };
  });
}
