/**
 * The files of messages in flight. A file is read once for all deliveries of an occurrence and shared by them; files with
 * a URL are fetched and stored first. What a worker holds is limited: others wait a moment, and then in the queue.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AttachmentReference,
  attachmentLimits,
  describeBytes,
  findNameError,
  sourceOf,
  toFileName,
} from '../core/attachments.ts';
import type { Db } from '../db/connection/pool.ts';
import { findOccurrenceAttachments, type LinkedAttachment, readAttachment } from '../db/history/attachments.ts';
import type { Delivery } from '../db/ledger/deliveries.ts';
import { FairSlots } from '../lib/fair-slots.ts';
import { FileContent } from '../lib/file-content.ts';
import type { Outbound } from '../lib/outbound.ts';
import type { Attachment } from '../providers/sending.ts';
import { AttachmentError, AttachmentsBusyError } from './attachment-error.ts';
import { fetchAttachment } from './attachment-fetch.ts';

/** Content in memory. With its encodings, it takes up to four times as much. */
const maxBytes = 30 * 1024 * 1024;
/** For one organization, so that the files of another one always fit. */
const maxOrganizationBytes = maxBytes - attachmentLimits.bytes;
/** Reserved for files of unknown size until they are fetched. A server that hangs must not hold the memory of others. */
const unknownBytes = 256 * 1024;
/** Occurrences whose files are fetched at once, in all and of one organization. Each may exceed what is reserved by 10 MiB. */
const maxFetching = { all: 8, organization: 2 };
/** How long a message waits for memory while it occupies its provider; then it waits in the queue. */
const maxWaitMs = 2_000;
/** How long files without a message in flight are kept for the next ones. */
const idleMs = 10_000;
/** How long a failure counts for all messages of the occurrence, so that not each of them causes a request. */
const failureMs = 5_000;
const maxFailures = 1_000;

type Owner = Pick<Delivery, 'organization_id' | 'occurrence_id'>;

interface Files {
  organizationId: number;
  bytes: number;
  attachments: Promise<Attachment[]>;
  /** Messages in flight. */
  users: number;
  idle?: NodeJS.Timeout;
}

export class AttachmentFiles {
  readonly #db: Db;
  readonly #outbound: Outbound;
  /** By organization, occurrence and references. */
  readonly #files = new Map<string, Files>();
  readonly #failures = new Map<string, { until: number; error: AttachmentError }>();
  readonly #fetches = new FairSlots(maxFetching.all, maxFetching.organization);
  #released = Promise.withResolvers<void>();

  constructor(db: Db, outbound: Outbound) {
    this.#db = db;
    this.#outbound = outbound;
  }

  findFacts(
    { organization_id, occurrence_id }: Owner,
    references: readonly AttachmentReference[],
  ): Promise<LinkedAttachment[]> {
    return findOccurrenceAttachments(this.#db, organization_id, occurrence_id, references.map(sourceOf));
  }

  /** Returns the files, in memory until `release` is called. Throws AttachmentError or AttachmentsBusyError. */
  async hold(
    owner: Owner,
    references: readonly AttachmentReference[],
  ): Promise<{ attachments: Attachment[]; release: () => void }> {
    const key = JSON.stringify([owner.organization_id, owner.occurrence_id, references]);
    const failure = this.#failures.get(key);
    if (failure && failure.until > performance.now()) throw failure.error;
    const files = this.#files.get(key) ?? (await this.#reserve(key, owner, references));
    files.users++;
    clearTimeout(files.idle);
    const release = () => this.#release(key, files);
    try {
      return { attachments: await files.attachments, release };
    } catch (error) {
      release();
      this.#forget(key, files);
      if (error instanceof AttachmentError) this.#rememberFailure(key, error);
      throw error;
    }
  }

  /** Waits until the files fit into memory. The size of a file with a URL is not known: little is reserved until it is. */
  async #reserve(key: string, owner: Owner, references: readonly AttachmentReference[]): Promise<Files> {
    const { organization_id: organizationId } = owner;
    const stored = await this.findFacts(owner, references);
    const isStored = references.every(one => stored.some(({ source }) => source === sourceOf(one)));
    const bytes = isStored ? sumOf(stored) : sumOf(stored) + unknownBytes;
    const deadline = performance.now() + maxWaitMs;
    for (;;) {
      // Another message of the occurrence may have been first.
      const existing = this.#files.get(key);
      if (existing) return existing;
      if (this.#makeRoom(organizationId, bytes)) break;
      const left = deadline - performance.now();
      if (left <= 0) throw new AttachmentsBusyError();
      await Promise.race([this.#released.promise, sleep(left)]);
    }
    const load = () => this.#load(owner, references, stored);
    const attachments = isStored ? load() : this.#fetches.run(organizationId, load);
    // Reported to each message that awaits it.
    attachments.catch(() => {});
    const files: Files = { organizationId, bytes, attachments, users: 0 };
    this.#files.set(key, files);
    if (!isStored) attachments.then(loaded => this.#setSize(files, loaded)).catch(() => {});
    return files;
  }

  async #load(
    { organization_id, occurrence_id }: Owner,
    references: readonly AttachmentReference[],
    stored: readonly LinkedAttachment[],
  ): Promise<Attachment[]> {
    const attachments: Attachment[] = [];
    let bytes = 0;
    for (const reference of references) {
      const { name, url, content_id } = reference;
      const known = stored.find(({ source }) => source === sourceOf(reference));
      const left = attachmentLimits.bytes - bytes;
      const facts =
        known ??
        (url === undefined
          ? undefined
          : await fetchAttachment(this.#db, this.#outbound, { organization_id, occurrence_id, url, maxBytes: left }));
      const content = facts && (await readAttachment(this.#db, organization_id, facts));
      if (!content) throw new AttachmentError(`the attachment ${sourceOf(reference)} has been deleted`, false);
      bytes += content.length;
      if (bytes > attachmentLimits.bytes) throw new AttachmentError(describeTooLarge(bytes), false);
      const sentName = (name && toFileName(name)) || facts.name;
      // The name may come from a template.
      const problem = findNameError(sentName);
      if (problem) throw new AttachmentError(`${sentName}: ${problem}`, false);
      attachments.push({
        name: sentName,
        contentType: facts.content_type,
        ...(content_id !== undefined && { contentId: content_id }),
        file: new FileContent(content),
      });
    }
    return attachments;
  }

  #makeRoom(organizationId: number, bytes: number): boolean {
    const idle = [...this.#files].filter(([, files]) => files.users === 0);
    for (;;) {
      const all = [...this.#files.values()];
      const own = all.filter(files => files.organizationId === organizationId);
      if (sumOf(all) + bytes <= maxBytes && sumOf(own) + bytes <= maxOrganizationBytes) return true;
      const next = idle.shift();
      if (!next) return false;
      this.#forget(...next);
    }
  }

  /** Replaces what was reserved by the size of the fetched files. */
  #setSize(files: Files, loaded: readonly Attachment[]): void {
    files.bytes = sumOf(loaded.map(({ file }) => ({ bytes: file.bytes.length })));
    this.#announceRoom();
  }

  #release(key: string, files: Files): void {
    files.users--;
    if (files.users > 0) return;
    files.idle = setTimeout(() => this.#forget(key, files), idleMs).unref();
    this.#announceRoom();
  }

  #forget(key: string, files: Files): void {
    clearTimeout(files.idle);
    if (this.#files.get(key) !== files) return;
    this.#files.delete(key);
    this.#announceRoom();
  }

  #announceRoom(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }

  #rememberFailure(key: string, error: AttachmentError): void {
    if (this.#failures.size >= maxFailures) this.#failures.clear();
    this.#failures.set(key, { until: performance.now() + failureMs, error });
  }
}

function sumOf(files: readonly { bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function describeTooLarge(bytes: number): string {
  return `the attachments have ${describeBytes(bytes)} together, more than the ${attachmentLimits.bytes / 1024 / 1024} MiB of a message`;
}
