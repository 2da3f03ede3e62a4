/** The suppression list of an organization: adding, removing, importing and exporting its entries. */

import type { Mistake } from '../../core/audience/list-file.ts';
import {
  readSuppressionHeader,
  readSuppressionRow,
  type SuppressionColumn,
  type SuppressionFileRow,
  suppressionColumns,
} from '../../core/audience/suppression-file.ts';
import {
  readTarget,
  type Suppression,
  type SuppressionReason,
  suppressionLimits,
} from '../../core/audience/suppressions.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { addressKind } from '../../core/text/text.ts';
import type { WholeAddress } from '../../db/audience/addresses.ts';
import * as suppressions from '../../db/audience/suppressions.ts';
import { listRows } from '../../db/configuration/rows.ts';
import { type Db, prepareForGrowth } from '../../db/connection/pool.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import type { Deps } from '../deps.ts';
import { record, recordAll } from '../operations/audit.ts';
import { maxErrors, maxRows, parseRecords, rejection, toCsv } from './list-files.ts';

export type { SuppressionRow } from '../../db/audience/suppressions.ts';

export interface SuppressionInput {
  channel_type: string;
  /** An address, or `@` and a domain. */
  target: string;
  reason: SuppressionReason;
  detail?: string | null;
  expires_at?: Date | null;
}

interface ReportedSuppression extends SuppressionInput {
  /** The name of the provider that reported it. */
  source: string;
  /** Ids of the projects whose channels it stops; null: all channels. */
  projects: number[] | null;
  feedback_id?: string | null;
}

/**
 * Adds what providers have reported, in the transaction of the caller, and returns how many entries are new. An existing
 * entry keeps its reason, source and time; only its expiry can become later. Invalid addresses are left out: nothing can be
 * sent to them.
 */
export async function suppress(
  deps: Pick<Deps, 'actor'>,
  db: Db,
  organizationId: number,
  reported: readonly ReportedSuppression[],
): Promise<number> {
  const entries = new Map<string, suppressions.NewSuppression>();
  for (const {
    channel_type,
    target,
    reason,
    source,
    detail,
    projects,
    expires_at = null,
    feedback_id = null,
  } of reported) {
    const read = readTarget(channel_type, target);
    if ('mistake' in read) continue;
    const key = keyOf({ channel_type, target: read.value });
    const previous = entries.get(key);
    if (previous)
      previous.projects = previous.projects && projects && [...new Set([...previous.projects, ...projects])];
    if (previous && isLater(previous.expires_at, expires_at)) continue;
    const own = {
      reason,
      source: source.slice(0, suppressionLimits.source),
      detail: detail ? toStorable(detail) : null,
      feedback_id,
      projects,
    };
    entries.set(key, { ...own, ...previous, channel_type, target: read.value, expires_at });
  }
  const changed = await suppressions.addSuppressions(db, organizationId, [...entries.values()]);
  const added = changed.filter(({ is_new }) => is_new);
  await recordAll(
    deps,
    db,
    organizationId,
    added.map(({ is_new: _, ...entry }) => toAuditEntry('create', entry)),
  );
  return added.length;
}

/** Returns whether an expiry is at least as late as another; null is never. */
function isLater(expiry: Date | null, other: Date | null): boolean {
  return (expiry?.getTime() ?? Infinity) >= (other?.getTime() ?? Infinity);
}

/** Shortens the words of a provider, and removes what PostgreSQL cannot store. */
function toStorable(text: string): string {
  return text.replaceAll('\0', '').slice(0, suppressionLimits.detail).toWellFormed();
}

export async function createSuppression(
  deps: Deps,
  organizationId: number,
  { channel_type, target, reason, detail = null, expires_at = null }: SuppressionInput,
): Promise<suppressions.SuppressionRow> {
  const read = readTarget(channel_type, target.trim());
  if ('mistake' in read) throw invalid({ target: [read.mistake] });
  if (expires_at && expires_at.getTime() <= currentTime()) throw invalid({ expires_at: ['must be in the future'] });
  return deps.db.transaction().execute(async trx => {
    const fields = { reason, source: 'manual', detail, expires_at, feedback_id: null, projects: null };
    const [changed] = await suppressions.addSuppressions(trx, organizationId, [
      { channel_type, target: read.value, ...fields },
    ]);
    if (!changed?.is_new) {
      throw new AppError('resource.exists', `the suppression list has ${read.value} already`, {
        fields: { target: ['is on the list already: remove that entry first to change it'] },
      });
    }
    const { is_new: _, ...entry } = changed;
    await record(deps, trx, organizationId, toAuditEntry('create', entry));
    return entry;
  });
}

export async function deleteSuppression(
  deps: Deps,
  organizationId: number,
  id: number,
  dryRun: boolean,
  check: (current: suppressions.SuppressionRow) => void,
) {
  const deleted = { suppressions: 1 };
  return deps.db.transaction().execute(async trx => {
    const entry = await suppressions.findSuppression(trx, organizationId, id);
    if (!entry) throw new AppError('suppression.not_found', 'the suppression has been removed already');
    check(entry);
    if (dryRun) return deleted;
    await suppressions.deleteSuppression(trx, organizationId, id);
    await record(deps, trx, organizationId, toAuditEntry('delete', entry));
    return deleted;
  });
}

/** Removes the entry of a device that projects could not reach: it has just registered again. */
export async function liftGone(deps: Deps, organizationId: number, name: string, value: string): Promise<void> {
  const channel_type = addressKind(name);
  const read = readTarget(channel_type, value);
  if ('mistake' in read) return;
  await deps.db.transaction().execute(async trx => {
    const entry = await suppressions.deleteGone(trx, organizationId, { channel_type, target: read.value });
    if (entry) await record(deps, trx, organizationId, toAuditEntry('delete', entry));
  });
}

function toAuditEntry(action: 'create' | 'delete', { channel_type, target, ...entry }: suppressions.SuppressionRow) {
  const { reason, source, detail, since, expires_at, projects } = entry;
  const state = {
    ...(projects && { projects }),
    reason,
    source,
    detail,
    since: since.toISOString(),
    expires_at: expires_at?.toISOString() ?? null,
  };
  const path = `${channel_type}/${target}`;
  return { action, noun: 'suppression', path, ...(action === 'create' ? { after: state } : { before: state }) };
}

const rowsPerStatement = 5_000;

/** Imports all rows or none. An entry that exists already is kept; only its expiry can become later, and its projects more. */
export async function importSuppressions(deps: Deps, organizationId: number, text: string) {
  const projects = await listRows(deps.db, organizationId, 'project');
  const projectIds = new Map(projects.map(({ slug, id }) => [slug, id]));
  const rows = await parseFile(text, { now: currentTime(), projectIds });
  const entries = rows
    .map(row => ({ ...row, source: 'import', feedback_id: null }))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const inTransaction = <T>(work: (trx: Db) => Promise<T>) =>
    deps.bulk.run(organizationId, () => deps.db.transaction().execute(work));
  return inTransaction(async trx => {
    await prepareForGrowth(trx);
    const counts = { rows: rows.length, added: 0, extended: 0 };
    for (let i = 0; i < entries.length; i += rowsPerStatement) {
      const part = entries.slice(i, i + rowsPerStatement);
      for (const { is_new } of await suppressions.addSuppressions(trx, organizationId, part)) {
        counts[is_new ? 'added' : 'extended']++;
      }
    }
    await record(deps, trx, organizationId, {
      action: 'import',
      noun: 'suppression',
      path: 'suppressions',
      after: counts,
    });
    return { ...counts, existing: rows.length - counts.added - counts.extended };
  });
}

async function parseFile(
  text: string,
  surroundings: { now: number; projectIds: ReadonlyMap<string, number> },
): Promise<SuppressionFileRow[]> {
  const seen = new Map<string, { row: number; value: SuppressionFileRow }>();
  const errors: Mistake[] = [];
  let errorsTotal = 0;
  const addErrors = (...mistakes: Mistake[]) => {
    errorsTotal += mistakes.length;
    errors.push(...mistakes.slice(0, Math.max(0, maxErrors - errors.length)));
  };
  let columns: SuppressionColumn[] | undefined;
  let row = 0;
  for await (const cells of parseRecords(text)) {
    row++;
    if (!columns) {
      const header = readSuppressionHeader(cells);
      if ('mistakes' in header) throw rejection({ errors: header.mistakes, errorsTotal: header.mistakes.length });
      columns = header.columns;
      continue;
    }
    if (row - 1 > maxRows) {
      throw rejection({
        errors: [{ row, field: 'file', message: `has more than ${maxRows} rows: split it` }],
        errorsTotal: 1,
      });
    }
    const read = readSuppressionRow(cells, columns, row, surroundings);
    if ('mistakes' in read) {
      addErrors(...read.mistakes);
      continue;
    }
    const key = keyOf(read.value);
    const before = seen.get(key);
    if (!before) seen.set(key, { row, value: read.value });
    else if (JSON.stringify(before.value) !== JSON.stringify(read.value))
      addErrors({ row, field: 'target', message: `is already in row ${before.row}, with different values` });
  }
  if (!columns) addErrors({ row: 1, field: 'target', message: 'is required: the first row must name the columns' });
  if (errorsTotal > 0) throw rejection({ errors, errorsTotal });
  return [...seen.values()].map(({ value }) => value);
}

function keyOf({ channel_type, target }: { channel_type: string; target: string }): string {
  return `${target} ${channel_type}`;
}

const rowsPerRead = 1_000;

/** Yields the CSV file a page at a time, newest entries first, so that memory stays constant for any length. */
export async function* exportSuppressions({ db, bulk }: Deps, organizationId: number): AsyncGenerator<string> {
  // Without the byte order mark, spreadsheets assume a local encoding.
  yield `\ufeff${suppressionColumns.join()}\r\n`;
  let after = 0;
  for (;;) {
    const request = { after, limit: rowsPerRead };
    const page = await bulk.run(organizationId, () => suppressions.listSuppressions(db, organizationId, {}, request));
    if (page.length === 0) return;
    after = page.at(-1)!.id;
    yield toCsv(
      page
        // Without its deleted projects, an entry stops nothing; without any project, a row stops everything.
        .filter(({ projects }) => projects?.length !== 0)
        .map(entry =>
          suppressionColumns.map(column => {
            const value = entry[column];
            if (Array.isArray(value)) return value.join(' ');
            return value instanceof Date ? value.toISOString() : (value ?? '');
          }),
        ),
    );
  }
}

interface ShownAddress extends WholeAddress {
  /** With the slugs of its projects. */
  suppression: (Omit<Suppression, 'projects'> & { projects: string[] | null }) | null;
}

/** Returns the addresses, each with the entry of the suppression list that it matches. */
export async function withSuppressions(
  deps: Deps,
  organizationId: number,
  addresses: WholeAddress[],
): Promise<ShownAddress[]> {
  const marked: (WholeAddress & { suppression?: Suppression })[] = addresses.map(address => ({ ...address }));
  await markSuppressed(deps, [{ organization_id: organizationId, addresses: marked }]);
  const hasProjects = marked.some(({ suppression }) => suppression?.projects);
  const all = hasProjects ? await listRows(deps.db, organizationId, 'project') : [];
  const slugsOf = (ids: readonly number[]) => all.filter(({ id }) => ids.includes(id)).map(({ slug }) => slug);
  return marked.map(({ suppression, ...address }) => {
    const projects = suppression?.projects ? slugsOf(suppression.projects) : null;
    return { ...address, suppression: suppression ? { ...suppression, projects } : null };
  });
}
