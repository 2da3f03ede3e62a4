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
} from '../../core/message/attachments.ts';
import type { Db } from '../../db/connection/pool.ts';
import { findOccurrenceAttachments, type LinkedAttachment, readAttachment } from '../../db/history/attachments.ts';
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import { FileContent } from '../../lib/file-content.ts';
import type { Outbound } from '../../lib/network/outbound.ts';
import type { Attachment } from '../../providers/sending.ts';
import { AttachmentFetches } from './download.ts';
import { AttachmentError, AttachmentsBusyError } from './error.ts';

/** Content in memory. With its encodings, it takes up to four times as much. */
const maxBytes = 30 * 1024 * 1024;
/** For one organization, so that the files of another one always fit. */
const maxOrganizationBytes = maxBytes - attachmentLimits.bytes;
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
  readonly #fetches: AttachmentFetches;
  /** By organization, occurrence and references. */
  readonly #files = new Map<string, Files>();
  readonly #failures = new Map<string, { until: number; error: AttachmentError }>();
  /** Files with a URL that are being fetched and stored, by the same key. */
  readonly #fetching = new Map<string, Promise<void>>();
  #released = Promise.withResolvers<void>();

  constructor(db: Db, outbound: Outbound) {
    this.#db = db;
    this.#fetches = new AttachmentFetches(db, outbound);
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
    try {
      const files = this.#files.get(key) ?? (await this.#load(key, owner, references));
      files.users++;
      clearTimeout(files.idle);
      const release = () => this.#release(key, files);
      try {
        return { attachments: await files.attachments, release };
      } catch (error) {
        release();
        this.#forget(key, files);
        throw error;
      }
    } catch (error) {
      if (error instanceof AttachmentError) this.#rememberFailure(key, error);
      throw error;
    }
  }

  /** Fetches files that are not stored yet, and waits until all of them fit into memory. */
  async #load(key: string, owner: Owner, references: readonly AttachmentReference[]): Promise<Files> {
    const { organization_id: organizationId } = owner;
    let stored = await this.findFacts(owner, references);
    const missing = references.filter(one => !stored.some(({ source }) => source === sourceOf(one)));
    if (missing.some(({ url }) => url !== undefined)) {
      const fetching = this.#fetching.get(key) ?? this.#fetchMissing(key, owner, missing, sumOf(stored));
      await fetching;
      stored = await this.findFacts(owner, references);
    }
    const bytes = sumOf(stored);
    if (bytes > attachmentLimits.bytes) throw new AttachmentError(describeTooLarge(bytes), false);
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
    const attachments = this.#read(organizationId, references, stored);
    // Reported to each message that awaits it.
    attachments.catch(() => {});
    const files: Files = { organizationId, bytes, attachments, users: 0 };
    this.#files.set(key, files);
    return files;
  }

  #fetchMissing(
    key: string,
    owner: Owner,
    missing: readonly AttachmentReference[],
    storedBytes: number,
  ): Promise<void> {
    const fetchAll = async () => {
      let left = attachmentLimits.bytes - storedBytes;
      for (const { url } of missing) {
        if (url !== undefined) left -= (await this.#fetches.fetchFile({ ...owner, url, maxBytes: left }))?.bytes ?? 0;
      }
    };
    const fetching = fetchAll().finally(() => this.#fetching.delete(key));
    this.#fetching.set(key, fetching);
    return fetching;
  }

  async #read(
    organizationId: number,
    references: readonly AttachmentReference[],
    stored: readonly LinkedAttachment[],
  ): Promise<Attachment[]> {
    const attachments: Attachment[] = [];
    for (const reference of references) {
      const { name, content_id } = reference;
      const facts = stored.find(({ source }) => source === sourceOf(reference));
      const content = facts && (await readAttachment(this.#db, organizationId, facts));
      if (!content) throw new AttachmentError(`the attachment ${sourceOf(reference)} has been deleted`, false);
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
