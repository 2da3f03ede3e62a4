/** The audit log. Every use case that changes something records it, in the transaction of the change. */
import type { Json } from '../core/json.ts';
import { addAuditEntries, type NewAuditEntry } from '../db/audit.ts';
import type { Db } from '../db/pool.ts';
import type { Deps } from './deps.ts';

export { listAuditEntries } from '../db/audit.ts';

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
  await addAuditEntries(db, organizationId, actor, entries);
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
