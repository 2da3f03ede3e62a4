import type { NewAuditEntry } from '../../core/configuration/audit.ts';
import type { Actor } from '../../core/identity/actor.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

/** Keeps one insert below PostgreSQL's limit of parameters per statement. */
const maxEntriesPerInsert = 1_000;

export async function addAuditEntries(db: Db, organizationId: number, actor: Actor, entries: readonly NewAuditEntry[]) {
  for (let i = 0; i < entries.length; i += maxEntriesPerInsert) {
    const rows = entries.slice(i, i + maxEntriesPerInsert).map(({ action, noun, path, before, after }) => ({
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
  /** Name of the API key or account. */
  actor?: string;
  /** Prefix of the path. */
  path?: string;
  since?: Date;
  until?: Date;
}

export type AuditEntry = Awaited<ReturnType<typeof listAuditEntries>>[number];

/** Returns a page of entries, newest first. */
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

/** Deletes up to `limit` entries older than `before` and returns how many were deleted. */
export async function deleteOldAuditAcrossTenants(db: Db, before: Date, limit: number): Promise<number> {
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
          .limit(limit)
          .$asTuple('organization_id', 'id'),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
