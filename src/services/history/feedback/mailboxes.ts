/** Polls mailboxes for bounce mails (`imap_host` of a provider), each by one process at a time. */
import type { FastifyBaseLogger } from 'fastify';
import { type MailReport, UnreadableMailError } from '../../../core/feedback/event.ts';
import { type Mailbox, mailboxesOf } from '../../../core/feedback/mailbox.ts';
import { readReturnPath } from '../../../core/feedback/return-path.ts';
import * as rows from '../../../db/history/feedback/mailboxes.ts';
import { explainImapError, type ImapPosition, readNewMessages } from '../../../lib/network/imap.ts';
import { ClaimLoop } from '../../../lib/process/claim-loop.ts';
import { PollLoop } from '../../../lib/process/poll-loop.ts';
import { redact } from '../../../lib/secrets/redact.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { openSecrets } from '../../../pipeline/channel-secrets.ts';
import type { Deps } from '../../deps.ts';
import { countFeedback, storeFeedback } from './feedback.ts';
import { findServed } from './requests.ts';

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
/** How often a process looks for mailboxes that are due, and for new ones in the settings of channels. */
export const pollEvery = { dueMs: 3_000, addMs: 60_000 };
/** A connection takes up to 5 MiB. */
export const maxReading = { all: 20, group: 2 };

type PollDeps = Pick<Deps, 'db' | 'cipher' | 'signer' | 'outbound' | 'mailReader' | 'feedbackCounts' | 'actor'>;

/** Adds mailboxes that are new in the settings of channels, due now. */
export async function addMailboxes({ db }: PollDeps): Promise<void> {
  for (const { organization_id, id, providers, known } of await rows.listMailboxChannelsAcrossTenants(db)) {
    const names = mailboxesOf(providers, []).map(({ name }) => name);
    const added = names.filter(name => !known.includes(name));
    if (added.length > 0) await rows.addMailboxes(db, organization_id, id, added);
  }
}

/** Reads mailboxes that are due. Nothing is read while `isHeld()`: a copy must leave the mailbox to the original. */
export function readMailboxes(deps: PollDeps, log: FastifyBaseLogger, isHeld: () => boolean) {
  return new ClaimLoop(
    {
      max: maxReading,
      isPaused: isHeld,
      claim: turn => rows.claimMailboxAcrossTenants(deps.db, { seconds: claimed, ...turn }),
      groupOf: mailbox => mailbox.organization_id,
      process: (mailbox, signal) =>
        pollMailbox(deps, log, mailbox, signal).catch(error =>
          log.warn({ err: error }, 'polling a mailbox failed; retrying later'),
        ),
    },
    { log, task: 'polling mailboxes', everyMs: pollEvery.dueMs },
  );
}

async function pollMailbox(deps: PollDeps, log: FastifyBaseLogger, claim: rows.ClaimedMailbox, signal: AbortSignal) {
  const { organization_id, id, mailbox: name } = claim;
  const claimedAt = performance.now();
  let position: ImapPosition = { validity: claim.uid_validity, uid: claim.last_uid };
  let [hasMore, error]: [boolean, string | null] = [false, null];
  /** A failure of the database. Not the mailbox's, so its owner does not see it. */
  let failure: unknown;
  try {
    const secrets = openSecrets(deps.cipher, organization_id, claim);
    const mailbox = mailboxesOf(claim.providers, secrets).find(one => one.name === name);
    if (!mailbox) return rows.deleteMailbox(deps.db, organization_id, id, name);
    const store = (bytes: Buffer) =>
      receive(deps, claim, mailbox, bytes).catch(cause => {
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
    elapsed: (performance.now() - claimedAt) / 1_000,
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

/**
 * Stores what a mail reports, and returns false for any other mail. A signed return path proves which delivery it is about;
 * without one, the Message-ID of the returned message names it.
 */
async function receive(
  deps: PollDeps,
  channel: rows.ClaimedMailbox,
  { name }: Mailbox,
  bytes: Buffer,
): Promise<boolean> {
  const { organization_id: organizationId } = channel;
  const { events, paths } = await readMail(deps, organizationId, bytes);
  if (events.length === 0) {
    countFeedback(deps, 'smtp', 'ignored');
    return false;
  }
  const path = paths
    .map(address => readReturnPath(address, deps.signer.isSignedShort))
    .find(one => one?.organizationId === organizationId);
  const named = path ? events.map(event => ({ ...event, deliveryId: `${path.occurrence}.${path.id}` })) : events;
  const actor = { kind: 'visitor' as const, id: null, name: 'mail', origin: name, requestId: null };
  const served = path ? null : await findServed(deps, channel);
  await storeFeedback({ ...deps, actor }, organizationId, served, 'smtp', named, currentTime());
  return true;
}

/** Returns what a mail reports: nothing if it is not one. */
async function readMail({ mailReader }: PollDeps, organizationId: number, bytes: Buffer): Promise<MailReport> {
  try {
    return await mailReader.read(organizationId, bytes);
  } catch (error) {
    if (!(error instanceof UnreadableMailError)) throw error;
    return { events: [], paths: [] };
  }
}

/** Adds and reads mailboxes for as long as the service runs. */
export function pollMailboxes(deps: PollDeps, log: FastifyBaseLogger, isHeld: () => boolean) {
  const add = async () => (isHeld() ? undefined : addMailboxes(deps));
  const options = { log, task: 'adding mailboxes', everyMs: pollEvery.addMs };
  return [new PollLoop(add, options), readMailboxes(deps, log, isHeld)];
}
