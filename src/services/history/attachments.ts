/** Files that messages carry: uploads, and the use of uploads by triggers. */

import { AppError, invalid } from '../../core/errors.ts';
import { lowestUuidAt, uuidv7 } from '../../core/ids.ts';
import {
  type AttachmentFacts,
  type AttachmentReference,
  attachmentLimits,
  describeBytes,
  describeFullStorage,
  findContentError,
  headBytes,
  sourceOf,
  toFileName,
  toMediaType,
} from '../../core/message/attachments.ts';
import type { Db } from '../../db/connection/pool.ts';
import * as rows from '../../db/history/attachments.ts';
import { listRetentionsAcrossTenants } from '../../db/operations/retention.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';

interface Upload {
  name: string;
  contentType: string | undefined;
  content: Buffer;
}

export interface UploadedAttachment extends AttachmentFacts {
  expires_at: Date;
}

const uploadMs = attachmentLimits.uploadHours * 3_600_000;

/** Stores a file for later triggers. It is deleted if none uses it in time. */
export async function uploadAttachment(
  { db }: Deps,
  organizationId: number,
  { name: text, contentType, content }: Upload,
): Promise<UploadedAttachment> {
  const name = toFileName(text);
  if (name === undefined) throw invalid({ name: ['is not a file name'] });
  const content_type = toMediaType(contentType);
  if (content_type === undefined) throw invalid({ 'content-type': ['is not a media type such as application/pdf'] });
  if (content.length === 0) throw invalid({ body: ['is empty: send the content of the file'] });
  const problem = findContentError(name, content_type, content.subarray(0, headBytes));
  if (problem) throw invalid({ body: [problem] });
  await requireRoom(db, organizationId, { files: 1, bytes: content.length });
  const facts = { id: uuidv7(currentTime()), name, content_type, bytes: content.length };
  const expires_at = new Date(currentTime() + uploadMs);
  await db.transaction().execute(async trx => {
    await rows.storeAttachment(trx, organizationId, { ...facts, content, expires_at });
    // Others may have stored files since the first check. Now their transactions have ended.
    await requireRoom(trx, organizationId, { files: 0, bytes: 0 });
  });
  return { ...facts, expires_at };
}

/** Throws if the organization cannot store these files in addition. */
async function requireRoom(db: Db, organizationId: number, added: { files: number; bytes: number }): Promise<void> {
  const { bytes, max } = await rows.findAttachmentUsage(db, organizationId);
  if (max !== null && bytes + added.bytes > max) {
    throw new AppError('limit.attachment_bytes', describeFullStorage(bytes, max), { retryAfterSeconds: 60 });
  }
  const unused = await rows.countUnusedAttachments(db, organizationId);
  if (
    unused.files + added.files > attachmentLimits.unusedFiles ||
    unused.bytes + added.bytes > attachmentLimits.unusedBytes
  ) {
    throw new AppError(
      'limit.attachments',
      `${unused.files} uploads with ${describeBytes(unused.bytes)} are not used by any trigger yet: use them, or wait ` +
        `until they expire after ${attachmentLimits.uploadHours} hours`,
      { retryAfterSeconds: 60 },
    );
  }
}

/** Records that a trigger uses uploads. Throws if one does not exist, or if they are too large together. */
export async function linkUploads(
  { db }: Deps,
  organizationId: number,
  occurrenceId: string,
  references: readonly AttachmentReference[],
): Promise<void> {
  const ids = references.flatMap(({ id }) => id?.toLowerCase() ?? []);
  if (ids.length === 0) return;
  await db.transaction().execute(async trx => {
    const found = await rows.lockAttachments(trx, organizationId, ids, new Date(currentTime()));
    const known = new Set(found.map(({ id }) => id));
    const missing = references.flatMap((reference, i) =>
      reference.id === undefined || known.has(reference.id.toLowerCase()) ? [] : [i],
    );
    if (missing.length > 0) {
      const message = `there is no such upload: it was never used and has expired after ${attachmentLimits.uploadHours} hours, or the id is wrong; upload the file again`;
      throw invalid(Object.fromEntries(missing.map(i => [`options/attachments/${i}/id`, [message]])));
    }
    const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    if (bytes > attachmentLimits.bytes) throw invalid({ 'options/attachments': [describeTooLarge(bytes)] });
    const links = references.flatMap(reference =>
      reference.id === undefined ? [] : [{ source: sourceOf(reference), id: reference.id.toLowerCase() }],
    );
    await rows.linkAttachments(trx, organizationId, occurrenceId, links);
  });
}

function describeTooLarge(bytes: number): string {
  const max = attachmentLimits.bytes / 1024 / 1024;
  return `are ${describeBytes(bytes)} together, but a message can have at most ${max} MiB: send links to large files`;
}

/** Gives back the uploads of a trigger that joined an earlier occurrence, or was not stored. */
export async function unlinkUploads({ db }: Deps, organizationId: number, occurrenceId: string): Promise<void> {
  await rows.unlinkAttachments(db, organizationId, occurrenceId, new Date(currentTime() + uploadMs));
}

/** Returns a file of an occurrence with its content. */
export async function getAttachmentContent({ db }: Deps, organizationId: number, attachment: AttachmentFacts) {
  const content = await rows.readAttachment(db, organizationId, attachment);
  if (!content) throw new AppError('attachment.not_found', `there is no attachment ${attachment.id}`);
  return content;
}

const dayMs = 86_400_000;
const batchSize = 1_000;

/** Deletes unused uploads, and the files of occurrences that retention has deleted. */
export async function deleteOldAttachments(db: Db, now: number): Promise<void> {
  for (const { id, retention_days } of await listRetentionsAcrossTenants(db)) {
    await rows.deleteExpiredAttachments(db, id, new Date(now));
    const end = lowestUuidAt(now - retention_days * dayMs);
    while ((await rows.deleteOrphanedAttachments(db, id, end, batchSize)) === batchSize);
  }
}
