/** Regular maintenance: partitions, retention and expired rows. Safe to run in several processes at once. */

import { webhookLimits } from '../../core/configuration/webhooks.ts';
import { guardDefaults } from '../../core/decision/guards/guard.ts';
import { rateDefaults } from '../../core/decision/guards/rate-guard.ts';
import { silenceLimits } from '../../core/decision/silence-rules.ts';
import { lowestUuidAt, timeOfUuid } from '../../core/ids.ts';
import { absenceLimits } from '../../core/oncall/absences.ts';
import { overrideLimits } from '../../core/oncall/overrides.ts';
import { sourceLimits } from '../../core/sources/alert.ts';
import { deleteExpiredSuppressionsAcrossTenants } from '../../db/audience/suppressions.ts';
import { createPartitions, dropOldPartitions, maxRetentionDays } from '../../db/connection/partitions.ts';
import type { Db } from '../../db/connection/pool.ts';
import { deleteOldSignaturesAcrossTenants } from '../../db/history/feedback/received-signatures.ts';
import { deleteOldReportCountsAcrossTenants } from '../../db/history/feedback/reputation.ts';
import { deleteOldWritersAcrossTenants } from '../../db/history/levels/counts.ts';
import { deleteOldPayloadsAcrossTenants } from '../../db/history/sources/payloads.ts';
import { deleteOldRatesAcrossTenants } from '../../db/history/stats/trigger-rates.ts';
import { deleteOldStepsAcrossTenants } from '../../db/history/step-list.ts';
import { deleteOldWebhookMessages, listMessageOwnersAcrossTenants } from '../../db/history/webhook-messages.ts';
import { deleteOldInvitesAcrossTenants } from '../../db/identity/invites.ts';
import { deleteOldResetsAcrossTenants } from '../../db/identity/password-resets.ts';
import { deleteOldSessionsAcrossTenants } from '../../db/identity/sessions.ts';
import { deleteOldAttemptsAcrossTenants } from '../../db/identity/sign-in-limits.ts';
import { deleteOldChallengesAcrossTenants } from '../../db/identity/two-factor.ts';
import { deleteOldIdempotencyKeysAcrossTenants } from '../../db/ledger/accept/accept.ts';
import { deleteOldDedupKeysAcrossTenants } from '../../db/ledger/accept/dedup.ts';
import { deleteOldDigestsAcrossTenants } from '../../db/ledger/digests/digests.ts';
import { deleteOldThrottleUsesAcrossTenants } from '../../db/ledger/digests/throttle.ts';
import { deleteOldAudiencesAcrossTenants } from '../../db/ledger/expand/audiences.ts';
import { deleteOldHoldsAcrossTenants } from '../../db/ledger/expand/holds.ts';
import { deleteOldGuardMailsAcrossTenants } from '../../db/ledger/guard-mails.ts';
import { deleteOldRoundsAcrossTenants } from '../../db/ledger/workers.ts';
import { deleteOldAuditAcrossTenants } from '../../db/operations/audit.ts';
import {
  deleteOlderAcrossTenants,
  deleteOldHistory,
  deleteOldInbox,
  deleteOldMessageUpdates,
  deleteOldRenderSnapshots,
  deleteOldStatisticsAcrossTenants,
  listRetentionsAcrossTenants,
  listShorterRetentionsAcrossTenants,
} from '../../db/operations/retention.ts';
import type { Deps } from '../deps.ts';
import { deleteOldAttachments } from '../history/attachments.ts';
import { deleteOldFeedback } from '../history/feedback/feedback.ts';
import { sumStatistics } from '../history/stats/stats.ts';
import { sessionLifetime } from '../identity/sessions.ts';

/** Twice the 24 hours that the API promises. */
const idempotencyKeyMs = 48 * 3_600_000;
const dayMs = 86_400_000;
/** Longer than any history: questions about changes come long after the messages are deleted. */
const auditDays = 400;
const batchSize = 10_000;

/** Tables, how long their rows are kept, and how many are deleted at once if not the usual number. */
const keptDays = [
  ['absences', absenceLimits.keptDays],
  ['schedule_history', overrideLimits.keptDays],
  ['schedule_overrides', overrideLimits.keptDays],
  ['schedule_swaps', overrideLimits.keptDays],
  // Each may have a record for many occurrences.
  ['silences', silenceLimits.keptDays, 10],
  ['source_alerts', sourceLimits.keptAlertDays],
  ['verification_codes', 1],
] as const;

export async function runMaintenance({ db }: Pick<Deps, 'db'>, now: number): Promise<void> {
  await createPartitions(db, now);
  await deleteOldIdempotencyKeysAcrossTenants(db, new Date(now - idempotencyKeyMs));
  await dropOldPartitions(db, now);
  await deleteHistoryOfShorterRetention(db, now);
  await deleteUnpartitioned(db, now);
  await deleteOldAttachments(db, now);
  await deleteOldStatisticsAcrossTenants(db, new Date(now));
  await sumStatistics({ db }, now);
  await deleteOldSessionsAcrossTenants(db, new Date(now), new Date(now - sessionLifetime.idleMs));
  await deleteOldInvitesAcrossTenants(db, new Date(now));
  await deleteOldAttemptsAcrossTenants(db);
  await deleteOldResetsAcrossTenants(db, new Date(now));
  await deleteOldChallengesAcrossTenants(db, new Date(now));
  await deleteOldRoundsAcrossTenants(db, new Date(now - dayMs));
  await deleteOldWritersAcrossTenants(db, new Date(now - dayMs));
  await deleteOldDedupKeysAcrossTenants(db, new Date(now));
  await deleteOldHoldsAcrossTenants(db);
  await deleteOldGuardMailsAcrossTenants(db);
  await deleteOldAudiencesAcrossTenants(db, new Date(now - (guardDefaults.days + 1) * dayMs));
  await deleteOldRatesAcrossTenants(db, new Date(now - (rateDefaults.days + 1) * dayMs));
  for (const [table, days, batch] of keptDays)
    await deleteOlderAcrossTenants(db, table, new Date(now - days * dayMs), batch);
  while ((await deleteOldStepsAcrossTenants(db, batchSize)) === batchSize);
  while ((await deleteOldThrottleUsesAcrossTenants(db, batchSize)) === batchSize);
  while ((await deleteOldDigestsAcrossTenants(db, batchSize)) === batchSize);
  while ((await deleteExpiredSuppressionsAcrossTenants(db, batchSize)) === batchSize);
  await deleteWebhookMessages(db, now);
  await deleteOldPayloadsAcrossTenants(db, lowestUuidAt(now - sourceLimits.keptDays * dayMs));
  await deleteOldFeedback({ db }, now);
  while ((await deleteOldSignaturesAcrossTenants(db, new Date(now), batchSize)) >= batchSize);
  await deleteOldReportCountsAcrossTenants(db, new Date(now - 2 * dayMs));
  const auditEnd = new Date(now - auditDays * dayMs);
  while ((await deleteOldAuditAcrossTenants(db, auditEnd, batchSize)) === batchSize);
}

/** Organizations with a retention shorter than the longest one do not wait for partitions to be dropped. */
async function deleteHistoryOfShorterRetention(db: Db, now: number): Promise<void> {
  for (const { id, retention_days } of await listShorterRetentionsAcrossTenants(db, await maxRetentionDays(db))) {
    await deleteOldHistory(db, id, now - retention_days * dayMs);
  }
}

/** The use of a render snapshot is recorded once a day, and clocks differ a little. */
const snapshotMarginMs = 2 * dayMs;

/**
 * Deletes inbox messages, updates of messages and render snapshots. Runs after the history is deleted: every snapshot that the oldest remaining
 * occurrence may need is kept, however long that one takes to complete.
 */
async function deleteUnpartitioned(db: Db, now: number): Promise<void> {
  for (const { id, retention_days, oldest } of await listRetentionsAcrossTenants(db)) {
    await deleteOldInbox(db, id, new Date(now - retention_days * dayMs));
    await deleteOldMessageUpdates(db, id, now - retention_days * dayMs);
    await deleteOldRenderSnapshots(db, id, new Date((oldest ? timeOfUuid(oldest) : now) - snapshotMarginMs));
  }
}

/** Webhook messages are kept for the organization's retention, at most `keptDays`; those of deleted organizations are removed. */
async function deleteWebhookMessages(db: Db, now: number): Promise<void> {
  for (const { id, retention_days } of await listMessageOwnersAcrossTenants(db)) {
    const before = new Date(now - Math.min(retention_days ?? 0, webhookLimits.keptDays) * dayMs);
    while ((await deleteOldWebhookMessages(db, id, before, batchSize)) === batchSize);
  }
}
