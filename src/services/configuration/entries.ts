/**
 * Changes a single configuration object by applying a document that contains only that object. The API and the
 * declarative file thus share their checks, comparison, audit and lock. The cost does not depend on the organization's size.
 */
import type { Step } from '../../core/configuration/diff.ts';
import { type NounFields, type NounName, nouns, pathNouns, sectionOf } from '../../core/configuration/document.ts';
import { mergeEntry, refuseChanges, unwrapError, wrapEntry } from '../../core/configuration/entries.ts';
import { type Noun, pickFields, toEntryFields } from '../../core/configuration/nouns/noun.ts';
import { AppError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import {
  deleteOrganization,
  type ResolvedPath,
  resolvePathAcrossTenants,
  type Slugs,
} from '../../db/configuration/organizations.ts';
import { type Counts, countBelow } from '../../db/configuration/references.ts';
import { deleteRow, findRow, type RowNoun, renameRow } from '../../db/configuration/rows.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { applyInTransaction, changeConfiguration, checkConfiguration } from './declarative/declarative.ts';

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
  const resolved = await resolvePathAcrossTenants(trx, slugs);
  if (!resolved) throw new AppError('organization.not_found', `there is no organization ${slugs.org}`);
  for (const noun of pathNouns) {
    const slug = slugs[pathPart[noun]];
    if (slug !== undefined && !resolved[noun]) throw new AppError(`${noun}.not_found`, `there is no ${noun} ${slug}`);
  }
  return resolved;
}

/** Creates or updates the entry below the object that the slugs name. */
export async function putEntry(deps: Deps, trx: Db, slugs: Slugs, noun: NounName, entry: object): Promise<Step[]> {
  const resolved = await requirePath(trx, slugs);
  const part = partOf(noun);
  const own = await resolvePathAcrossTenants(trx, {
    ...slugs,
    ...(part && { [part]: (entry as { slug?: string }).slug }),
  });
  const within = { project: own?.project?.id, application: own?.application?.id, event: own?.event?.id };
  const { document, at } = wrapEntry(resolved, noun, entry);
  try {
    return await applyInTransaction(deps, trx, document, { prune: false, within });
  } catch (error) {
    throw unwrapError(error, at);
  }
}

/** Throws what is wrong with an entry, as when it is stored. Whether its references exist is not checked. */
export async function checkOnly(deps: Deps, slugs: Slugs, noun: NounName, entry: object): Promise<void> {
  const { document, at } = wrapEntry(await requirePath(deps.db, slugs), noun, entry);
  try {
    await checkConfiguration(deps, document);
  } catch (error) {
    throw unwrapError(error, at);
  }
}

/** Returns the id of the created row; throws if the entry existed already. */
function requireCreatedId(steps: readonly Step[], field: string, entry: object): number {
  const step = steps.at(-1);
  if (step?.action === 'create') return step.row.id!;
  throw alreadyExists(field, String((entry as Record<string, unknown>)[field]));
}

function alreadyExists(field: string, name: string): AppError {
  const message = `${JSON.stringify(name)} already exists: choose another, or update the existing one`;
  return new AppError('resource.exists', `${field}: ${message}`, { fields: { [field]: [message] } });
}

const pathPart = { project: 'prj', application: 'app', event: 'evt' } as const;

/** Returns the part of a path that names an object of the noun. */
function partOf(noun: NounName): keyof Slugs | undefined {
  return (pathPart as { [noun in NounName]?: keyof Slugs })[noun];
}

/** How the API shows a noun. The frame of creating, changing and deleting is the same for all. */
export interface Kind<N extends NounName, Form> {
  noun: N;
  /** Returns the form that callers read; throws if it has been deleted. */
  read: (trx: Db, resolved: ResolvedPath, id: number, deps: Deps) => Promise<Form>;
  /** Throws while other objects reference it. Absent: objects below it block the deletion instead. */
  refuseIfUsed?: (trx: Db, resolved: ResolvedPath, current: Form, id: number) => Promise<void>;
  /** Returns what the audit log keeps of a deleted object; by default its form. */
  toAudit?: (current: Form) => object;
}

/** Returns how a noun is shown that has nothing but its fields. */
export function plainKind<N extends RowNoun>(noun: N): Kind<N, Required<NounFields<N>>> {
  return {
    noun,
    read: async (db, { organization }, id) => {
      const row = await findRow(db, organization.id, noun, { id });
      if (!row) throw gone(noun);
      return pickFields(nouns[noun], row as never) as unknown as Required<NounFields<N>>;
    },
  };
}

export function gone(noun: NounName): AppError {
  return new AppError(`${noun}.not_found`, `the ${noun} has been deleted in the meantime`);
}

export async function getEntry<Form>(
  deps: Deps,
  { read }: Kind<NounName, Form>,
  slugs: Slugs,
  id: number,
): Promise<Form> {
  return read(deps.db, await requirePath(deps.db, slugs), id, deps);
}

/** Creates an object below the one that the slugs name. */
export async function createEntry<Form>(
  deps: Deps,
  { noun, read }: Kind<NounName, Form>,
  slugs: Slugs,
  entry: object,
): Promise<Form> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const resolved = await requirePath(trx, slugs);
    const id = requireCreatedId(await putEntry(deps, trx, slugs, noun, entry), nouns[noun].key, entry);
    return read(trx, resolved, id, deps);
  });
}

export interface ChangeHooks<Form> {
  /** Runs first, such as to rename the row: through a document, another name would be another object. */
  prepare?: (trx: Db, resolved: ResolvedPath, current: Form) => Promise<void>;
  /** Returns the entry that the changes are applied to; by default the noun's fields. */
  toEntry?: (current: Form) => object;
}

/** Changes an object. An absent field keeps its value, and null removes it. */
export async function updateEntry<Form extends object>(
  deps: Deps,
  { noun, read }: Kind<NounName, Form>,
  slugs: Slugs,
  id: number,
  changes: object,
  check: Precondition<Form>,
  { prepare, toEntry = current => toEntryFields(nouns[noun], current) }: ChangeHooks<Form> = {},
): Promise<Form> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const resolved = await requirePath(trx, slugs);
    const current = await read(trx, resolved, id, deps);
    check(current);
    const { fixed = {}, kept = {} } = nouns[noun] as Noun;
    refuseChanges(current, changes, fixed as Record<string, string>);
    await prepare?.(trx, resolved, current);
    // Null is a value of these, and they keep their values without being repeated.
    const isKept = ([field]: [string, unknown]) => field in kept;
    const own = Object.fromEntries(Object.entries(toEntry(current)).filter(field => !isKept(field)));
    const entry = { ...mergeEntry(own, changes), ...Object.fromEntries(Object.entries(changes).filter(isKept)) };
    const part = partOf(noun);
    const parents = part ? { ...slugs, [part]: undefined } : slugs;
    await putEntry(deps, trx, parents, noun, entry);
    return read(trx, resolved, id, deps);
  });
}

/** Renames the row directly: through a document, another name would be another object. */
export async function renameEntry(
  deps: Deps,
  trx: Db,
  noun: 'layout' | 'notification',
  { organization, project, application, event }: ResolvedPath,
  { id, name: before }: { id: number; name: string },
  name: string,
): Promise<void> {
  if (!(await renameRow(trx, organization.id, noun, id, name))) throw alreadyExists('name', name);
  const path = [project, application, event].flatMap(part => part?.slug ?? []);
  const entry = {
    action: 'update',
    noun,
    path: [...path, before].join('/'),
    before: { name: before },
    after: { name },
  };
  await record(deps, trx, organization.id, entry);
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

/**
 * Deletes one configuration object. An object with others below it needs `cascade`, one that is referenced cannot be
 * deleted, and history is kept.
 */
export async function deleteEntry<Form>(
  deps: Deps,
  { noun, read, refuseIfUsed, toAudit = current => current as object }: Kind<NounName, Form>,
  slugs: Slugs,
  id: number,
  { cascade, dryRun }: DeletionOptions,
  check: Precondition<Form>,
): Promise<DeletionResult> {
  return changeAndInvalidate(deps, slugs, async trx => {
    const resolved = await requirePath(trx, slugs);
    const { organization, project, application, event } = resolved;
    const current = await read(trx, resolved, id, deps);
    check(current);
    await refuseIfUsed?.(trx, resolved, current, id);
    const hasChildren = noun === 'organization' || partOf(noun) !== undefined;
    const within = { project: project?.id, application: application?.id, event: event?.id };
    const children = hasChildren ? await countBelow(trx, organization.id, within) : {};
    const deleted = { [sectionOf(noun) ?? 'organizations']: 1, ...children };
    if (dryRun) return { deleted, dry_run: true };
    if (!cascade && Object.keys(children).length > 0) {
      const message =
        'other objects below it would be deleted too: repeat the request with ?cascade=true to delete them';
      throw new AppError('resource.in_use', message, { uses: children });
    }
    if (noun === 'organization') await deleteOrganization(trx, id);
    else await deleteRow(trx, organization.id, noun, id);
    const { org, prj, app, evt } = slugs;
    const name = hasChildren ? undefined : String((current as Record<string, unknown>)[nouns[noun].key]);
    const path = noun === 'organization' ? org : [prj, app, evt, name].filter(Boolean).join('/');
    const entry = { action: 'delete', noun, path, before: toAudit(current) as Json, after: { deleted } };
    await record(deps, trx, organization.id, entry);
    return { deleted };
  });
}
