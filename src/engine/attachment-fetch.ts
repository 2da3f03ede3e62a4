/** Fetches a file of an occurrence from its URL, and stores it once for all messages. */
import { attachmentLimits, fileNameOfUrl, findContentError, headBytes, toMediaType } from '../core/attachments.ts';
import { uuidv7 } from '../core/ids.ts';
import type { Db } from '../db/connection/pool.ts';
import { findOccurrenceAttachments, linkAttachments, storeAttachment } from '../db/history/attachments.ts';
import { currentTime } from '../lib/clock.ts';
import { type Outbound, OutboundError, type OutboundResponse } from '../lib/outbound.ts';
import { AttachmentError, AttachmentsBusyError } from './attachment-error.ts';

const timeoutMs = 20_000;

interface FetchRequest {
  organization_id: number;
  occurrence_id: string;
  url: string;
  maxBytes: number;
}

/** Returns the stored file: another worker's if that was faster. Throws AttachmentError. */
export async function fetchAttachment(db: Db, outbound: Outbound, request: FetchRequest) {
  const { organization_id, occurrence_id, url, maxBytes } = request;
  const response = await outbound.request(url, { method: 'GET', timeoutMs, maxFileBytes: maxBytes }).catch(error => {
    if (!(error instanceof OutboundError)) throw error;
    if (error.kind === 'local') throw new AttachmentsBusyError(error.message);
    throw failed(url, error.message, error.kind !== 'refused');
  });
  const content = readFile(url, response, maxBytes);
  const name = fileNameOfUrl(url);
  const content_type = toMediaType(response.headers['content-type']) ?? 'application/octet-stream';
  const problem = findContentError(name, content_type, content.subarray(0, headBytes));
  if (problem) throw failed(url, problem, false);
  const facts = { id: uuidv7(currentTime()), name, content_type, bytes: content.length };
  await db.transaction().execute(async trx => {
    // It expires if the link is not stored, because another worker has stored its own.
    const expires_at = new Date(currentTime() + attachmentLimits.uploadHours * 3_600_000);
    await storeAttachment(trx, organization_id, { ...facts, content, expires_at });
    await linkAttachments(trx, organization_id, occurrence_id, [{ source: url, id: facts.id }]);
  });
  const [stored] = await findOccurrenceAttachments(db, organization_id, occurrence_id, [url]);
  return stored;
}

function readFile(url: string, { status, file }: OutboundResponse, maxBytes: number): Buffer {
  const isTemporary = status >= 500 || [408, 425, 429].includes(status);
  if (status < 200 || status > 299) throw failed(url, `the server answered ${status}`, isTemporary);
  if (file === 'too_large') {
    throw failed(url, `it is larger than the ${maxBytes} bytes that are left of the message's limit`, false);
  }
  if (file === 'cut' || file === undefined) throw failed(url, 'the connection broke before its end', true);
  if (file.length === 0) throw failed(url, 'it is empty', false);
  return file;
}

function failed(url: string, why: string, retry: boolean): AttachmentError {
  return new AttachmentError(`${shorten(url)}: ${why}`, retry);
}

/** A query may contain a secret, such as the signature of a link to a private file. */
function shorten(url: string): string {
  const { origin, pathname } = new URL(url);
  return (origin + pathname).slice(0, 200);
}
