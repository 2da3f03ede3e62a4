/** The audit log. Every use case that changes data adds its entries in the transaction of the change. */
import type { NewAuditEntry } from '../../core/configuration/audit.ts';
import type { Actor } from '../../core/identity/actor.ts';
import type { Json } from '../../core/json.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import type { AuditFilter } from '../../db/operations/audit.ts';
import * as audit from '../../db/operations/audit.ts';
import type { Deps } from '../deps.ts';

const entriesPerRead = 1_000;

type AuditDeps = Pick<Deps, 'actor' | 'requireAdmitted'>;

/**
 * Adds an entry. `db` is the transaction of the change, so a change and its entry are committed together or not at all. Throws if
 * the caller has lost access since the request began.
 */
export async function record(deps: AuditDeps, db: Db, organizationId: number, entry: NewAuditEntry) {
  await recordAll(deps, db, organizationId, [entry]);
}

export async function recordAll(
  { actor, requireAdmitted }: AuditDeps,
  db: Db,
  organizationId: number,
  entries: NewAuditEntry[],
): Promise<void> {
  requireAdmitted?.();
  await audit.addAuditEntries(db, organizationId, actor, entries);
}

/** Records that personal data or the log itself was read in full. Called once per read, before its first row is sent. */
export async function recordRead(
  deps: Deps,
  organizationId: number,
  entry: NewAuditEntry & { action: 'read' | 'export' },
): Promise<void> {
  await record(deps, deps.db, organizationId, entry);
}

export async function listAuditEntries({ db }: Deps, organizationId: number, filter: AuditFilter, page: PageRequest) {
  return (await audit.listAuditEntries(db, organizationId, filter, page)).map(describeEntry);
}

/** Returns the entry in the form of the API. */
function describeEntry({ actor_kind, actor_id, actor_name, at, ...entry }: audit.AuditEntry) {
  const kind = actor_kind as Actor['kind'];
  return { ...entry, at: at.toISOString(), actor: { kind, id: actor_id, name: actor_name } };
}

/** Yields JSON lines, newest first, in batches: memory use does not grow with the length of the log. */
export async function* exportAudit(
  { db, bulk }: Pick<Deps, 'db' | 'bulk'>,
  organizationId: number,
  filter: AuditFilter,
): AsyncGenerator<string> {
  let after = 0;
  for (;;) {
    const page = { after, limit: entriesPerRead };
    const entries = await bulk.run(organizationId, () => audit.listAuditEntries(db, organizationId, filter, page));
    if (entries.length === 0) return;
    yield entries.map(entry => `${JSON.stringify(describeEntry(entry))}\n`).join('');
    after = entries.at(-1)!.id;
  }
}

type Values = Record<string, unknown>;

/** Returns the fields in which two states of a record differ, or undefined. A field missing from one state is null there. */
export function differences(was: object, is: object): { before: Json; after: Json } | undefined {
  const [before, after] = [was, is] as Record<string, unknown>[] as [Values, Values];
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    field => JSON.stringify(before[field] ?? null) !== JSON.stringify(after[field] ?? null),
  );
  if (fields.length === 0) return undefined;
  const pick = (from: Values) => Object.fromEntries(fields.map(field => [field, from[field] ?? null])) as Json;
  return { before: pick(before), after: pick(after) };
}
