/** Fetches a file of an occurrence from its URL, and stores it once for all messages. */

import { uuidv7 } from '../../core/ids.ts';
import {
  attachmentLimits,
  describeFullStorage,
  fileNameOfUrl,
  findContentError,
  headBytes,
  toMediaType,
} from '../../core/message/attachments.ts';
import type { Db } from '../../db/connection/pool.ts';
import {
  findAttachmentUsage,
  findOccurrenceAttachments,
  linkAttachments,
  storeAttachment,
} from '../../db/history/attachments.ts';
import { FairBudget } from '../../lib/load/fair-budget.ts';
import { FairSlots } from '../../lib/load/fair-slots.ts';
import {
  type Outbound,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
} from '../../lib/network/outbound.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { AttachmentError, AttachmentsBusyError } from './error.ts';

const timeoutMs = 20_000;
/** Files that are fetched at once, in all and of one organization. */
const maxFetching = { all: 32, organization: 2 };
/** How long a file may take even if organizations wait that fetch none. */
const guaranteedMs = 1_000;
/** Content that is being fetched: one organization gets half of it, less if others fetch files too. */
const maxFetchedBytes = 80 * 1024 * 1024;

interface FetchRequest {
  organization_id: number;
  occurrence_id: string;
  url: string;
  maxBytes: number;
}

/** Fetches files, for organizations in turns: those whose servers hang do not delay others. */
export class AttachmentFetches {
  readonly #db: Db;
  readonly #outbound: Outbound;
  readonly #slots = new FairSlots(maxFetching.all, maxFetching.organization, { guaranteedMs });
  readonly #memory = new FairBudget(maxFetchedBytes);

  constructor(db: Db, outbound: Outbound) {
    this.#db = db;
    this.#outbound = outbound;
  }

  /** Returns the stored file: another worker's if that was faster. Throws AttachmentError or AttachmentsBusyError. */
  fetchFile(request: FetchRequest) {
    const { organization_id: organizationId } = request;
    return this.#slots.run(organizationId, async signal => {
      let held = 0;
      const mayHold = (bytes: number) => {
        const hasRoom = this.#memory.take(organizationId, bytes);
        if (hasRoom) held += bytes;
        return hasRoom;
      };
      try {
        return await fetchAttachment(this.#db, this.#outbound, request, { signal, mayHold });
      } catch (error) {
        // A file that arrives slowly must not keep the memory from others.
        if (error instanceof AttachmentsBusyError) this.#slots.giveUpOldest();
        throw error;
      } finally {
        if (held > 0) this.#memory.release(organizationId, held);
      }
    });
  }
}

async function fetchAttachment(
  db: Db,
  outbound: Outbound,
  { organization_id, occurrence_id, url, maxBytes }: FetchRequest,
  limits: Pick<OutboundRequest, 'signal' | 'mayHold'>,
) {
  await requireRoom(db, organization_id, url);
  const request = { method: 'GET' as const, timeoutMs, maxFileBytes: maxBytes, ...limits };
  const response = await outbound.request(url, request).catch(error => {
    if (!(error instanceof OutboundError)) throw error;
    if (error.kind === 'local') throw new AttachmentsBusyError(error.message);
    throw failed(url, error.message, !error.isFinal);
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
    await requireRoom(trx, organization_id, url);
    await linkAttachments(trx, organization_id, occurrence_id, [{ source: url, id: facts.id }]);
  });
  const [stored] = await findOccurrenceAttachments(db, organization_id, occurrence_id, [url]);
  return stored;
}

/** Throws if the organization stores as much as it may: before a fetch, or in the transaction that stores a file. */
async function requireRoom(db: Db, organizationId: number, url: string): Promise<void> {
  const { bytes, max } = await findAttachmentUsage(db, organizationId);
  if (max !== null && bytes > max) throw failed(url, describeFullStorage(bytes, max), true);
}

function readFile(url: string, { status, file }: OutboundResponse, maxBytes: number): Buffer {
  const isTemporary = status >= 500 || [408, 425, 429].includes(status);
  if (status < 200 || status > 299) throw failed(url, `the server answered ${status}`, isTemporary);
  if (file === 'too_large') {
    throw failed(url, `it is larger than the ${maxBytes} bytes that are left of the message's limit`, false);
  }
  if (file === 'no_room') throw new AttachmentsBusyError();
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
