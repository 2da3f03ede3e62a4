/** What has to be done now and then so that the service can run for years; harmless when several processes do it. */
import { timeOfUuid } from '../core/ids.ts';
import { webhookLimits } from '../core/webhooks.ts';
import { deleteOldIdempotencyKeysAcrossTenants } from '../db/accepting.ts';
import { deleteOldAuditAcrossTenants } from '../db/audit.ts';
import { deleteOldDedupKeysAcrossTenants } from '../db/dedup.ts';
import { deleteOldDigestsAcrossTenants } from '../db/digests.ts';
import { deleteOldInvitesAcrossTenants } from '../db/invites.ts';
import { createPartitions, dropOldPartitions, longestRetentionDays } from '../db/partitions.ts';
import { deleteOldResetsAcrossTenants } from '../db/password-resets.ts';
import type { Db } from '../db/pool.ts';
import {
  deleteOldHistory,
  deleteOldInbox,
  deleteOldStatisticsAcrossTenants,
  deleteOldWriting,
  listRetentionsAcrossTenants,
  listShorterRetentionsAcrossTenants,
} from '../db/retention.ts';
import { deleteOldSessionsAcrossTenants } from '../db/sessions.ts';
import { deleteOldAttemptsAcrossTenants } from '../db/sign-in-limits.ts';
import { deleteOldStepsAcrossTenants } from '../db/step-list.ts';
import { deleteOldThrottleUsesAcrossTenants } from '../db/throttle.ts';
import { deleteOldChallengesAcrossTenants } from '../db/two-factor.ts';
import { deleteOldWebhookMessages, listMessageOwnersAcrossTenants } from '../db/webhook-messages.ts';
import { deleteOldRoundsAcrossTenants } from '../db/workers.ts';
import type { Deps } from './deps.ts';
import { sessionLife } from './sessions.ts';
import { sumStatistics } from './stats.ts';

/** Promised are 24 hours. */
const rememberedMs = 48 * 3_600_000;
const dayMs = 86_400_000;
/** Who changed what is asked for long after the messages are gone. */
const auditDays = 400;
const auditAtOnce = 10_000;

export async function runMaintenance({ db }: Pick<Deps, 'db'>, now: number): Promise<void> {
  await createPartitions(db, now);
  await deleteOldIdempotencyKeysAcrossTenants(db, new Date(now - rememberedMs));
  await dropOldPartitions(db, now);
  await deleteShorterKept(db, now);
  await deleteOutgrown(db, now);
  await deleteOldStatisticsAcrossTenants(db, new Date(now));
  await sumStatistics({ db }, now);
  await deleteOldSessionsAcrossTenants(db, new Date(now), new Date(now - sessionLife.idleMs));
  await deleteOldInvitesAcrossTenants(db, new Date(now));
  await deleteOldAttemptsAcrossTenants(db);
  await deleteOldResetsAcrossTenants(db, new Date(now));
  await deleteOldChallengesAcrossTenants(db, new Date(now));
  await deleteOldRoundsAcrossTenants(db, new Date(now - dayMs));
  await deleteOldDedupKeysAcrossTenants(db, new Date(now));
  while ((await deleteOldStepsAcrossTenants(db, auditAtOnce)) === auditAtOnce);
  while ((await deleteOldThrottleUsesAcrossTenants(db, auditAtOnce)) === auditAtOnce);
  while ((await deleteOldDigestsAcrossTenants(db, auditAtOnce)) === auditAtOnce);
  await deleteToldWebhooks(db, now);
  const auditEnd = new Date(now - auditDays * dayMs);
  while ((await deleteOldAuditAcrossTenants(db, auditEnd, auditAtOnce)) === auditAtOnce);
}

/** Whoever keeps less than the others does not wait for the partitions. */
async function deleteShorterKept(db: Db, now: number): Promise<void> {
  for (const { id, retention_days } of await listShorterRetentionsAcrossTenants(db, await longestRetentionDays(db))) {
    await deleteOldHistory(db, id, now - retention_days * dayMs);
  }
}

/** That a wording is used is noted once a day, and clocks differ a little. */
const marginMs = 2 * dayMs;

/**
 * After the history itself: of what messages were written with, all is kept that the oldest of them can need, however
 * long that one waits to be finished.
 */
async function deleteOutgrown(db: Db, now: number): Promise<void> {
  for (const { id, retention_days, oldest } of await listRetentionsAcrossTenants(db)) {
    await deleteOldInbox(db, id, new Date(now - retention_days * dayMs));
    await deleteOldWriting(db, id, new Date((oldest ? timeOfUuid(oldest) : now) - marginMs));
  }
}

/** As long as the organization keeps its history, and no longer than it is of use; of one that is gone, not at all. */
async function deleteToldWebhooks(db: Db, now: number): Promise<void> {
  for (const { id, retention_days } of await listMessageOwnersAcrossTenants(db)) {
    const before = new Date(now - Math.min(retention_days ?? 0, webhookLimits.keptDays) * dayMs);
    while ((await deleteOldWebhookMessages(db, id, before, auditAtOnce)) === auditAtOnce);
  }
}
