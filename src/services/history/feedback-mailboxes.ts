/** Polls mailboxes for bounce mails (`imap_host` of a provider), each by one process at a time. */
import type { FastifyBaseLogger } from 'fastify';
import { type Mailbox, mailboxesOf } from '../../core/feedback/mailbox.ts';
import { parseMail } from '../../core/feedback/mime.ts';
import { readReturnPath } from '../../core/feedback/return-path.ts';
import * as rows from '../../db/history/feedback-mailboxes.ts';
import { currentTime } from '../../lib/clock.ts';
import { explainImapError, type ImapPosition, readNewMessages } from '../../lib/imap.ts';
import { redact } from '../../lib/redact.ts';
import { openSecrets } from '../../pipeline/channel-secrets.ts';
import type { Deps } from '../deps.ts';
import { countFeedback, storeFeedback } from './feedback.ts';

export const mailboxLimits = {
  /** Mails of one mailbox that are read in a row. */
  messages: 100,
  /** A report precedes the message that it returns. */
  bytes: 1024 * 1024,
  ms: 60_000,
} as const;

/** Seconds. A claim is longer than reading may take. */
const claimed = 120;
const again = { idle: 60, more: 0, failed: 300 };
const everyMs = 60_000;
/** Mailboxes that a process reads at the same time, so that a slow server does not delay the others. */
const concurrency = 5;

type PollDeps = Pick<Deps, 'db' | 'cipher' | 'signer' | 'outbound' | 'feedbackReaders' | 'feedbackCounts' | 'actor'>;

/** Reads all mailboxes that are due, until the signal is aborted. */
export async function pollMailboxes(deps: PollDeps, log: FastifyBaseLogger, signal: AbortSignal): Promise<void> {
  for (const { organization_id, id, providers, known } of await rows.listMailboxChannelsAcrossTenants(deps.db)) {
    const names = mailboxesOf(providers, []).map(({ name }) => name);
    const added = names.filter(name => !known.includes(name));
    if (added.length > 0) await rows.addMailboxes(deps.db, organization_id, id, added);
  }
  const pollInTurn = async () => {
    while (!signal.aborted) {
      const mailbox = await rows.claimMailboxAcrossTenants(deps.db, claimed);
      if (!mailbox) return;
      await pollMailbox(deps, log, mailbox, signal);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, pollInTurn));
}

async function pollMailbox(deps: PollDeps, log: FastifyBaseLogger, claim: rows.ClaimedMailbox, signal: AbortSignal) {
  const { organization_id, id, mailbox: name } = claim;
  let position: ImapPosition = { validity: claim.uid_validity, uid: claim.last_uid };
  let [hasMore, error]: [boolean, string | null] = [false, null];
  /** A failure of the database. Not the mailbox's, so its owner does not see it. */
  let failure: unknown;
  try {
    const secrets = openSecrets(deps.cipher, organization_id, claim);
    const mailbox = mailboxesOf(claim.providers, secrets).find(one => one.name === name);
    if (!mailbox) return rows.deleteMailbox(deps.db, organization_id, id, name);
    const store = (bytes: Buffer) =>
      receive(deps, organization_id, mailbox, bytes).catch(cause => {
        failure = cause;
        throw cause;
      });
    hasMore = await readNewMessages(
      { ...mailbox, address: await deps.outbound.resolve(mailbox.host) },
      mailbox.folder,
      position,
      { ...mailboxLimits, signal },
      store,
      reached => {
        position = reached;
      },
    );
  } catch (cause) {
    if (failure) throw failure;
    error = explainImapError(cause);
  }
  const isStopping = signal.aborted;
  if (!isStopping) logChange(log, claim, error);
  await rows.settleMailbox(deps.db, organization_id, id, name, {
    uid_validity: position.validity,
    last_uid: position.uid,
    error: isStopping ? claim.error : error,
    again: isStopping || hasMore ? again.more : error ? again.failed : again.idle,
  });
}

/** Logs the first of several equal failures. */
function logChange(
  log: FastifyBaseLogger,
  { slug, mailbox, error: before }: rows.ClaimedMailbox,
  error: string | null,
) {
  const fields = { channel: slug, mailbox: redact(mailbox) };
  if (error && error !== before) log.warn(fields, `a mailbox for bounce mails cannot be read: ${redact(error)}`);
  if (!error && before) log.info(fields, 'the mailbox for bounce mails is read again');
}

/** Headers in which servers name the address that a mail was delivered to. */
const recipientHeaders = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to'];

/**
 * Stores what a mail reports, and returns false for any other mail. A signed return path proves which delivery it is about;
 * without one, the Message-ID of the returned message names it.
 */
async function receive(deps: PollDeps, organizationId: number, { name }: Mailbox, bytes: Buffer): Promise<boolean> {
  const events = readEvents(deps, bytes);
  if (events.length === 0) {
    countFeedback(deps, 'smtp', 'ignored');
    return false;
  }
  const { headers } = parseMail(bytes);
  const path = recipientHeaders
    .flatMap(header => headers.get(header)?.match(/b-[0-9a-z-]{1,62}@/gi) ?? [])
    .map(address => readReturnPath(address, deps.signer.isSignedShort))
    .find(one => one?.organizationId === organizationId);
  const named = path ? events.map(event => ({ ...event, deliveryId: `${path.occurrence}.${path.id}` })) : events;
  const actor = { kind: 'visitor' as const, id: null, name: 'mail', origin: name, requestId: null };
  await storeFeedback({ ...deps, actor }, organizationId, 'smtp', named, currentTime());
  return true;
}

function readEvents({ feedbackReaders }: PollDeps, bytes: Buffer) {
  try {
    return feedbackReaders.smtp!.read({ contentType: 'message/rfc822', bytes });
  } catch {
    // Not a mail at all.
    return [];
  }
}

/** Polls for as long as the service runs. Nothing is polled while `isHeld()`: a copy must leave the mailbox to the original. */
export class MailboxPolls {
  readonly #poll: () => Promise<void>;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: PollDeps, log: FastifyBaseLogger, isHeld: () => boolean) {
    this.#poll = async () => {
      if (isHeld()) return;
      await pollMailboxes(deps, log, this.#stopping.signal).catch(error =>
        log.warn({ err: error }, 'polling mailboxes failed; retrying later'),
      );
    };
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.#poll().finally(() => {
        this.#running = undefined;
      });
    }, everyMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#running;
  }
}
