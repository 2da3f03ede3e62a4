/** Files that messages carry, and which occurrences use them. */
import { sql } from 'kysely';
import type { AttachmentFacts } from '../../core/message/attachments.ts';
import type { Db } from '../connection/pool.ts';

export interface NewAttachment extends AttachmentFacts {
  content: Buffer;
  /** When it is deleted unless an occurrence uses it. Null: an occurrence uses it already. */
  expires_at: Date | null;
}

const facts = ['id', 'name', 'content_type', 'bytes'] as const;

export async function storeAttachment(db: Db, organizationId: number, attachment: NewAttachment): Promise<void> {
  await db
    .insertInto('attachments')
    .values({ organization_id: organizationId, ...attachment })
    .execute();
}

interface AttachmentUsage {
  /** Of all stored files. */
  bytes: number;
  /** Null: no limit. */
  max: number | null;
}

/** Exact after a file was stored in the same transaction, which then holds the lock of the count. */
export async function findAttachmentUsage(db: Db, organizationId: number): Promise<AttachmentUsage> {
  const { rows } = await sql<AttachmentUsage>`
    select coalesce(u.bytes, 0) as bytes, o.attachment_bytes_limit as max
    from organizations o left join attachment_usage u on u.organization_id = o.id
    where o.id = ${organizationId}`.execute(db);
  return rows[0] ?? { bytes: 0, max: null };
}

/** Counts the uploads that no occurrence uses yet. */
export async function countUnusedAttachments(
  db: Db,
  organizationId: number,
): Promise<{ files: number; bytes: number }> {
  const { files, bytes } = await db
    .selectFrom('attachments')
    .select(({ fn }) => [fn.countAll<number>().as('files'), fn.sum<number | null>('bytes').as('bytes')])
    .where('organization_id', '=', organizationId)
    .where('expires_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return { files: Number(files), bytes: Number(bytes ?? 0) };
}

/** Locks uploads until the transaction ends, so that they are not deleted, and returns those that have not expired. */
export async function lockAttachments(
  db: Db,
  organizationId: number,
  ids: string[],
  now: Date,
): Promise<AttachmentFacts[]> {
  return db
    .selectFrom('attachments')
    .select(facts)
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

/** Records that an occurrence uses files, by source. A source that is already recorded keeps its file. */
export async function linkAttachments(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  links: { source: string; id: string }[],
): Promise<void> {
  const rows = links.map(({ source, id }) => ({
    organization_id: organizationId,
    occurrence_id: occurrenceId,
    source,
    attachment_id: id,
  }));
  await db
    .insertInto('occurrence_attachments')
    .values(rows)
    .onConflict(conflict => conflict.doNothing())
    .execute();
  // Not those whose link was not stored, which nothing else would delete.
  await sql`
    update attachments a set expires_at = null from occurrence_attachments l
    where l.organization_id = ${organizationId} and l.occurrence_id = ${occurrenceId}
      and a.organization_id = ${organizationId} and a.id = l.attachment_id and a.expires_at is not null`.execute(db);
}

/** Forgets the files of an occurrence that was not stored, and lets those that no other one uses expire. */
export async function unlinkAttachments(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  expiresAt: Date,
): Promise<void> {
  await sql`
    with unlinked as (
      delete from occurrence_attachments where organization_id = ${organizationId} and occurrence_id = ${occurrenceId}
      returning attachment_id
    )
    update attachments a set expires_at = ${expiresAt} from unlinked
    where a.organization_id = ${organizationId} and a.id = unlinked.attachment_id and not exists (
      select from occurrence_attachments l where l.organization_id = ${organizationId}
        and l.attachment_id = a.id and l.occurrence_id <> ${occurrenceId})`.execute(db);
}

export interface LinkedAttachment extends AttachmentFacts {
  source: string;
}

/** Templates can name another file for each recipient, so there may be many: the first ones are returned. */
const maxListed = 1_000;

export async function listOccurrenceAttachments(
  db: Db,
  organizationId: number,
  occurrenceId: string,
): Promise<LinkedAttachment[]> {
  return linkedAttachments(db, organizationId, occurrenceId).limit(maxListed).execute();
}

export async function findOccurrenceAttachments(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  sources: string[],
): Promise<LinkedAttachment[]> {
  return linkedAttachments(db, organizationId, occurrenceId).where('l.source', 'in', sources).execute();
}

export async function findAttachment(
  db: Db,
  organizationId: number,
  occurrenceId: string,
  id: string,
): Promise<LinkedAttachment | undefined> {
  return linkedAttachments(db, organizationId, occurrenceId).where('a.id', '=', id).limit(1).executeTakeFirst();
}

function linkedAttachments(db: Db, organizationId: number, occurrenceId: string) {
  return db
    .selectFrom('occurrence_attachments as l')
    .innerJoin('attachments as a', join =>
      join.onRef('a.organization_id', '=', 'l.organization_id').onRef('a.id', '=', 'l.attachment_id'),
    )
    .select(['l.source', 'a.id', 'a.name', 'a.content_type', 'a.bytes'])
    .where('l.organization_id', '=', organizationId)
    .where('l.occurrence_id', '=', occurrenceId)
    .orderBy('l.source');
}

/** Content is read in parts: PostgreSQL sends it as text of twice its size, and decoding 10 MiB at once blocks for 30 ms. */
const partBytes = 1024 * 1024;

/** Returns the content, or undefined if it was deleted meanwhile. */
export async function readAttachment(
  db: Db,
  organizationId: number,
  { id, bytes }: Pick<AttachmentFacts, 'id' | 'bytes'>,
): Promise<Buffer | undefined> {
  const content = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += partBytes) {
    const { rows } = await sql<{ part: Buffer }>`
      select substring(content from ${at + 1}::int for ${partBytes}::int) as part from attachments
      where organization_id = ${organizationId} and id = ${id}`.execute(db);
    if (!rows[0]) return undefined;
    rows[0].part.copy(content, at);
  }
  return content;
}

/** Deletes uploads that no occurrence has used in time. */
export async function deleteExpiredAttachments(db: Db, organizationId: number, now: Date): Promise<void> {
  await db
    .deleteFrom('attachments')
    .where('organization_id', '=', organizationId)
    .where('expires_at', '<', now)
    .execute();
}

/**
 * Deletes the files of occurrences that no longer exist, among those with an id below `end`; later ones are within the
 * retention. Returns how many links were deleted, at most `limit`.
 */
export async function deleteOrphanedAttachments(
  db: Db,
  organizationId: number,
  end: string,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ links: number }>`
    with orphaned as materialized (
      select l.occurrence_id, l.source from occurrence_attachments l
      where l.organization_id = ${organizationId} and l.occurrence_id < ${end}::uuid and not exists (
        select from occurrences o where o.organization_id = ${organizationId} and o.id = l.occurrence_id)
      order by 1, 2 limit ${limit}
    ), unlinked as (
      delete from occurrence_attachments l using orphaned
      where l.organization_id = ${organizationId}
        and l.occurrence_id = orphaned.occurrence_id and l.source = orphaned.source
      returning l.attachment_id, l.occurrence_id, l.source
    ), deleted as (
      delete from attachments a where a.organization_id = ${organizationId}
        and a.id in (select attachment_id from unlinked) and not exists (
          -- The links that this statement deletes are still visible to it.
          select from occurrence_attachments l where l.organization_id = ${organizationId} and l.attachment_id = a.id
            and (l.occurrence_id, l.source) not in (select occurrence_id, source from orphaned))
    )
    select count(*)::int as links from unlinked`.execute(db);
  return rows[0]!.links;
}
