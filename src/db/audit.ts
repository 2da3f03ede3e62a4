import type { Actor } from '../core/actor.ts';
import type { Json } from '../core/json.ts';
import type { PageRequest } from './page.ts';
import type { Db } from './pool.ts';

export interface NewAuditEntry {
  action: string;
  noun: string;
  path: string;
  before?: Json;
  after?: Json;
}

/** More than a statement's parameters allow may have changed at once. */
const entriesAtOnce = 1_000;

export async function addAuditEntries(
  db: Db,
  organizationId: number,
  actor: Actor,
  entries: readonly NewAuditEntry[],
): Promise<void> {
  for (let i = 0; i < entries.length; i += entriesAtOnce) {
    const rows = entries.slice(i, i + entriesAtOnce).map(({ action, noun, path, before, after }) => ({
      organization_id: organizationId,
      actor_kind: actor.kind,
      actor_id: actor.id,
      actor_name: actor.name,
      origin: actor.origin,
      request_id: actor.requestId,
      action,
      noun,
      path,
      before: before === undefined ? null : JSON.stringify(before),
      after: after === undefined ? null : JSON.stringify(after),
    }));
    await db.insertInto('audit').values(rows).execute();
  }
}

export interface AuditFilter {
  noun?: string;
  action?: string;
  /** The name of a key or account. */
  actor?: string;
  /** What the path begins with. */
  path?: string;
  since?: Date;
  until?: Date;
}

export type AuditEntry = Awaited<ReturnType<typeof listAuditEntries>>[number];

/** The newest first. */
export async function listAuditEntries(
  db: Db,
  organizationId: number,
  filter: AuditFilter,
  { after, limit }: PageRequest,
) {
  let query = db
    .selectFrom('audit')
    .select([
      'id',
      'at',
      'actor_kind',
      'actor_id',
      'actor_name',
      'action',
      'noun',
      'path',
      'before',
      'after',
      'origin',
      'request_id',
    ])
    .where('organization_id', '=', organizationId);
  if (after > 0) query = query.where('id', '<', after);
  if (filter.noun) query = query.where('noun', '=', filter.noun);
  if (filter.action) query = query.where('action', '=', filter.action);
  if (filter.actor) query = query.where('actor_name', '=', filter.actor);
  if (filter.path) query = query.where(where => where.fn('starts_with', ['path', where.val(filter.path)]), '=', true);
  if (filter.since) query = query.where('at', '>=', filter.since);
  if (filter.until) query = query.where('at', '<', filter.until);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

/** In bounded bites; returns how many went. */
export async function deleteOldAuditAcrossTenants(db: Db, before: Date, most: number): Promise<number> {
  const result = await db
    .deleteFrom('audit')
    .where(where =>
      where(
        where.refTuple('organization_id', 'id'),
        'in',
        where
          .selectFrom('audit')
          .select(['organization_id', 'id'])
          .where('at', '<', before)
          .limit(most)
          .$asTuple('organization_id', 'id'),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
