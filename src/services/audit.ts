/** The audit log. Every use case that changes something records it, in the transaction of the change. */
import type { Actor } from '../core/actor.ts';
import type { Json } from '../core/json.ts';
import type { AuditFilter, NewAuditEntry } from '../db/audit.ts';
import * as audit from '../db/audit.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import type { Deps } from './deps.ts';

export type { AuditFilter } from '../db/audit.ts';

const entriesAtOnce = 1_000;

/** `db` is the transaction of the change: what did not happen leaves no trace, and what happened always does. */
export async function record(
  deps: Pick<Deps, 'actor'>,
  db: Db,
  organizationId: number,
  entry: NewAuditEntry,
): Promise<void> {
  await recordAll(deps, db, organizationId, [entry]);
}

export async function recordAll(
  { actor }: Pick<Deps, 'actor'>,
  db: Db,
  organizationId: number,
  entries: NewAuditEntry[],
): Promise<void> {
  await audit.addAuditEntries(db, organizationId, actor, entries);
}

/** That many people's data, or the log itself, was read as a whole: once for each reading, before its first row. */
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

/** As callers see it. */
function describeEntry({ actor_kind, actor_id, actor_name, at, ...entry }: audit.AuditEntry) {
  const kind = actor_kind as Actor['kind'];
  return { ...entry, at: at.toISOString(), actor: { kind, id: actor_id, name: actor_name } };
}

/** JSON lines, the newest first, some at a time: memory stays flat for any length. */
export async function* exportAudit(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  filter: AuditFilter,
): AsyncGenerator<string> {
  let after = 0;
  for (;;) {
    const entries = await audit.listAuditEntries(db, organizationId, filter, { after, limit: entriesAtOnce });
    if (entries.length === 0) return;
    yield entries.map(entry => `${JSON.stringify(describeEntry(entry))}\n`).join('');
    after = entries.at(-1)!.id;
  }
}

type Values = Record<string, unknown>;

/** Of two states of the same thing, what differs; what is only in one of them is null in the other. */
export function differences(was: object, is: object): { before: Json; after: Json } | undefined {
  const [before, after] = [was, is] as Record<string, unknown>[] as [Values, Values];
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    field => JSON.stringify(before[field] ?? null) !== JSON.stringify(after[field] ?? null),
  );
  if (fields.length === 0) return undefined;
  const pick = (from: Values) => Object.fromEntries(fields.map(field => [field, from[field] ?? null])) as Json;
  return { before: pick(before), after: pick(after) };
}
