/**
 * The rows that a statement of the engine reads must not grow with the size of the tables, even if a connection planned
 * it while they were empty, or had only rows of another tenant. Each prepared statement is planned on such tables here and then
 * run on tables with a long history, and the rows and index entries that it reads are counted.
 * @module-tag sweep
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBundleId } from '../../src/core/decision/bundle.ts';
import { digestLimits } from '../../src/core/decision/digest.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { disableAddresses } from '../../src/db/audience/addresses.ts';
import { storeInboxMessagesAcrossTenants } from '../../src/db/audience/inbox.ts';
import { listInboxChangesAcrossTenants } from '../../src/db/audience/inbox-changes.ts';
import {
  findMemberAsRecipient,
  findRecipientsAcrossTenants,
  findRecipientsByNameAcrossTenants,
  listMembersAsRecipients,
  listProjectMembersAsRecipients,
  listUsersAsRecipients,
} from '../../src/db/audience/recipients.ts';
import { findSuppressionsAcrossTenants } from '../../src/db/audience/suppressions.ts';
import type { Database } from '../../src/db/connection/pool.ts';
import { inLedgerTransaction } from '../../src/db/connection/transaction.ts';
import {
  findDeliveriesByProviderId,
  findDeliveriesByReference,
  findRepeatedBounces,
} from '../../src/db/history/feedback/feedback.ts';
import { countReports, readReputations } from '../../src/db/history/feedback/reputation.ts';
import { storeCallsAcrossTenants } from '../../src/db/history/heartbeats/calls.ts';
import {
  claimDueAcrossTenants,
  findNextDueAcrossTenants,
  noteReceivingAcrossTenants,
  postponeAction,
  settleActionsAcrossTenants,
} from '../../src/db/history/heartbeats/due.ts';
import { summarizeHoldsAcrossTenants } from '../../src/db/history/holds.ts';
import { findOccurrenceWaits } from '../../src/db/history/occurrence-waits.ts';
import { findOccurrencesAcrossTenants } from '../../src/db/history/occurrences.ts';
import {
  findAlertsAcrossTenants,
  findEndedOccurrences,
  setAlertStates,
  storeOpenAlertsAcrossTenants,
} from '../../src/db/history/sources/alerts.ts';
import {
  claimOpenPayloadsAcrossTenants,
  pruneSourcePayloads,
  settlePayloadsAcrossTenants,
  storePayloadsAcrossTenants,
} from '../../src/db/history/sources/payloads.ts';
import { listOccurrenceSourceUpdates, listUpdatesOfSource } from '../../src/db/history/sources/updates.ts';
import { countFailuresByEvent, findLastTriggerDays, listTriggerHours } from '../../src/db/history/stats/event-stats.ts';
import {
  encodeOccurrence,
  type NewOccurrence,
  storeOccurrencesAcrossTenants,
} from '../../src/db/ledger/accept/accept.ts';
import { storeDecidedAcrossTenants } from '../../src/db/ledger/accept/decided.ts';
import { encodeKeyedOccurrence, storeKeyedAcrossTenants } from '../../src/db/ledger/accept/dedup.ts';
import { markBounced } from '../../src/db/ledger/deliver/bounces.ts';
import { reserveSendTimes } from '../../src/db/ledger/deliver/channel-limits.ts';
import { reserveMessagesOfDay } from '../../src/db/ledger/deliver/day-limits.ts';
import {
  claimDeliveriesAcrossTenants,
  claimTheseAcrossTenants,
  listClaimedAcrossTenants,
  type NewDelivery,
  settleDeliveriesAcrossTenants,
} from '../../src/db/ledger/deliver/deliveries.ts';
import {
  claimUpdates,
  listMessagesToUpdate,
  listWaitingUpdatesAcrossTenants,
  queueOccurrenceUpdate,
  settleUpdatesAcrossTenants,
} from '../../src/db/ledger/deliver/message-updates.ts';
import { findStepProgress, listNotifiedRecipients, listStepDeliveries } from '../../src/db/ledger/deliver/notified.ts';
import {
  releaseExpiredAcrossTenants,
  releasePausedAcrossTenants,
  releaseRetries,
} from '../../src/db/ledger/deliver/releases.ts';
import { queueBundleUpdate } from '../../src/db/ledger/digests/bundle-updates.ts';
import {
  findBundleBacklog,
  joinBundlesAcrossTenants,
  leaveBundle,
  listBundledOccurrences,
  listBundleOrigins,
} from '../../src/db/ledger/digests/bundles.ts';
import { cancelDigestItems, carriedDueAt } from '../../src/db/ledger/digests/digest-items.ts';
import { settleDigestsAcrossTenants } from '../../src/db/ledger/digests/digest-outcomes.ts';
import {
  closeDigestsAcrossTenants,
  fillDigestsAcrossTenants,
  openDigestsAcrossTenants,
} from '../../src/db/ledger/digests/digests.ts';
import { lockThrottleUsesAcrossTenants, storeThrottleUsesAcrossTenants } from '../../src/db/ledger/digests/throttle.ts';
import { countUsersUpTo, findLargestAudience, findListSize } from '../../src/db/ledger/expand/audiences.ts';
import { countSamples } from '../../src/db/ledger/expand/canaries.ts';
import { claimExpandingAcrossTenants, storePageAcrossTenants } from '../../src/db/ledger/expand/expand.ts';
import {
  claimHoldAcrossTenants,
  endHoldsOfEndedAcrossTenants,
  listExpiredHoldsAcrossTenants,
} from '../../src/db/ledger/expand/holds.ts';
import { listStored } from '../../src/db/ledger/expand/new-deliveries.ts';
import { findRaisable } from '../../src/db/ledger/expand/raises.ts';
import {
  extendSilencedAcrossTenants,
  recordSilencedAcrossTenants,
  releaseSilencedAcrossTenants,
} from '../../src/db/ledger/expand/silenced.ts';
import { claimUnexpandedAcrossTenants } from '../../src/db/ledger/expand/unexpanded-counts.ts';
import { claimGuardMailsAcrossTenants } from '../../src/db/ledger/guard-mails.ts';
import { findDueAcrossTenants } from '../../src/db/ledger/round-robin.ts';
import { takeTurn } from '../../src/db/ledger/steps/rotations.ts';
import {
  claimStepsAcrossTenants,
  lockRunsAcrossTenants,
  releaseRunsAcrossTenants,
  releaseStepsAcrossTenants,
  type StepPage,
  storeStepPagesAcrossTenants,
} from '../../src/db/ledger/steps/steps.ts';
import {
  claimWebhookMessages,
  findWebhookBacklogAcrossTenants,
  hasActiveWebhooksAcrossTenants,
  listDueWebhooksAcrossTenants,
  settleWebhookMessagesAcrossTenants,
} from '../../src/db/ledger/webhooks/queue.ts';
import {
  claimSourceUpdates,
  listWaitingSourceUpdatesAcrossTenants,
  queueSourceUpdates,
  settleSourceUpdate,
} from '../../src/db/ledger/webhooks/source-updates.ts';
import { listDeadWorkersAcrossTenants, releaseOccurrencesAcrossTenants } from '../../src/db/ledger/workers.ts';
import {
  beginOutage,
  endOutage,
  holdChannel,
  listOutagesAcrossTenants,
} from '../../src/db/operations/channel-outages.ts';
import { passTime } from '../support/pass-time.ts';
import {
  channel,
  claimRequest,
  countRead,
  dueAt,
  expandFirstPages,
  newOccurrence,
  openPlanDatabase,
  outcomes,
  type PlanDatabase,
  pageOf,
  runOf,
  size,
  tested,
  toUser,
  trigger,
} from '../support/plans.ts';

const { organization, reporting, fanOut, reported } = tested;
let open: Database;
let sendingIds: number[] = [];
let waitingIds: number[] = [];
let inboxId = 0;

const round = { occurrenceId: fanOut, notificationId: 1, after: 0 };

/** Every statement, run on a few rows, with the maximum number of rows and index entries that it may read. */
const statements: Record<string, { max: number; run: () => Promise<unknown> }> = {
  'feedback by the key of its delivery': {
    max: 50,
    run: () => findDeliveriesByReference(open.db, reporting, [{ occurrence: reported, id: 1_000_001 }]),
  },
  'feedback by the id of a service': {
    max: 50,
    run: () => findDeliveriesByProviderId(open.db, reporting, ['SM1', 'SM2']),
  },
  'a bounce': {
    max: 100,
    run: () => markBounced(open.db, reporting, [{ occurrence_id: reported, id: 1_000_002, detail: null }]),
  },
  'repeated bounces': {
    max: 50,
    run: () => findRepeatedBounces(open.db, reporting, ['u1@x.test', 'u2@x.test'], { min: 5, days: 7 }),
  },
  'a reservation of messages of the day': {
    max: 20,
    run: () => {
      const request = { channelId: channel, provider: 'smtp', requested: 1, perDay: 9, start: 9, growth: 1 };
      return reserveMessagesOfDay(open.pool, organization, request);
    },
  },
  'counts of bounces': {
    max: 50,
    run: () => {
      const about = { occurrence_id: fanOut, delivery_id: 1, channel_id: channel, sent_at: new Date() };
      return countReports(open.db, organization, [
        { id: uuidv7(Date.now()), type: 'bounced', permanent: true, ...about },
      ]);
    },
  },
  'the reputation of a channel': { max: 200, run: () => readReputations(open.db, organization, [channel]) },
  'a claim of deliveries': { max: 200, run: () => claimDeliveriesAcrossTenants(open.pool, claimRequest) },
  'a claim of requeued deliveries': {
    max: 200,
    run: () =>
      claimTheseAcrossTenants(
        open.pool,
        1,
        waitingIds.map(id => ({ organization_id: organization, occurrence_id: fanOut, id, due_at: dueAt })),
      ),
  },
  'outcomes of one fan-out': {
    max: 800,
    run: () => settleDeliveriesAcrossTenants(open.pool, outcomes(sendingIds.slice(500, 600))),
  },
  'outcomes of any kind': {
    max: 300,
    run: () =>
      settleDeliveriesAcrossTenants(open.pool, outcomes(sendingIds.filter((_, i) => i % 200 === 0).slice(0, 10))),
  },
  'the first pages of occurrences': {
    max: 500,
    run: async () => {
      await storeOccurrencesAcrossTenants(open.pool, Array.from({ length: 10 }, trigger));
      const { stored } = await expandFirstPages(open.pool, async claimed =>
        claimed.map((one, i) => ({ ...pageOf(one), deliveries: [toUser(i + 1), suppressed(i + 2)] })),
      );
      return stored;
    },
  },
  'triggers that were decided before': {
    max: 500,
    run: async () => {
      const decided = Array.from({ length: 10 }, newOccurrence).map((trigger, i) => {
        return { trigger, page: { ...pageOf(trigger), deliveries: [toUser(i + 1)] } };
      });
      return (await storeDecidedAcrossTenants(open.pool, 1, decided)).stored;
    },
  },
  'a further page of a fan-out': {
    max: 500,
    run: async () => {
      const [claimed] = await claimExpandingAcrossTenants(open.pool, claimRequest);
      if (!claimed) return claimed;
      const page = { ...pageOf(claimed), deliveries: [toUser(1)] };
      await inLedgerTransaction(open.pool, client => storePageAcrossTenants(client, 1, page));
      return claimed;
    },
  },
  'runs of steps, of which one is owned by another': {
    max: 900,
    run: async () => {
      await storeOccurrencesAcrossTenants(open.pool, [trigger(), trigger()]);
      await expandFirstPages(open.pool, async claimed => claimed.map(one => ({ ...pageOf(one), steps: [runOf(1)] })));
      const claimed = await claimStepsAcrossTenants(open.pool, { ...claimRequest, priority: 1 });
      const pages = claimed.map(
        (step, i): StepPage => ({
          ...pageOf({ ...step.occurrence!, priority: 1 }),
          step,
          status: 'done',
          due_at: null,
          next: runOf(2),
          deliveries: [{ ...toUser(i + 1), step: 1 }],
        }),
      );
      const lost = await inLedgerTransaction(open.pool, client => lockRunsAcrossTenants(client, 2, pages));
      await releaseRunsAcrossTenants(open.pool, 2, pages);
      const stored = await inLedgerTransaction(open.pool, client => storeStepPagesAcrossTenants(client, 1, pages));
      const occurrenceId = claimed[0]!.occurrence_id;
      await takeTurn(open.pool, organization, { occurrenceId, notificationId: 1, number: 2, step: 2 });
      return lost.size === pages.length ? stored : [];
    },
  },
  'what occurrences in progress wait for': {
    max: 5_000,
    run: async () => [...(await findOccurrenceWaits(open.db, organization, [fanOut])).keys(), 'none'],
  },
  'hours in which events were triggered': {
    max: 200,
    run: () => listTriggerHours(open.db, organization, [1, 2], dayAgo()),
  },
  'failures by event': {
    max: 200,
    run: () => countFailuresByEvent(open.db, organization, [1, 2], dayAgo()),
  },
  'the last days on which events were triggered': {
    max: 20,
    run: () => findLastTriggerDays(open.db, organization, [1, 2]),
  },
  'releasing the steps of a worker': { max: 20, run: () => releaseStepsAcrossTenants(open.pool, 7) },
  'deliveries of steps to a few users': {
    max: 50,
    run: () => listStepDeliveries(open.pool, organization, round, [5, 6, 7]),
  },
  'progress of steps': { max: 5_000, run: () => findStepProgress(open.pool, organization, round) },
  'recipients notified by steps': {
    max: 12_000,
    run: () => listNotifiedRecipients(open.pool, organization, fanOut, 1, { after: 0, limit: 10 }),
  },
  'triggers with a dedup key': {
    max: 200,
    run: () => {
      const keyed = (more: Partial<NewOccurrence> = {}) =>
        encodeKeyedOccurrence({ ...newOccurrence(), ...more }, 'k', new Date(Date.now() + 3_600_000));
      const idempotency = { key: `d${++inboxId}`, body_hash: '00' };
      return storeKeyedAcrossTenants(open.pool, [keyed({ idempotency }), keyed()]);
    },
  },
  'a scan for due work': { max: 100, run: () => findDueAcrossTenants(open.pool, [0, 1, 2]) },
  'a scan for dead workers': { max: 100, run: () => listDeadWorkersAcrossTenants(open.pool) },
  'releasing the occurrences of a worker': { max: 20, run: () => releaseOccurrencesAcrossTenants(open.pool, 7) },
  'a scan for claims whose response was lost': { max: 20, run: () => listClaimedAcrossTenants(open.pool, 7, []) },
  'releasing held work': { max: 150, run: () => releasePausedAcrossTenants(open.pool) },
  'releasing messages that wait for a provider': {
    max: 100,
    run: async () => {
      const waiting = sendingIds.filter((_, i) => i % 200 === 11).slice(0, 5);
      for (const id of waiting) {
        await open.pool.query(
          `update deliveries set status = 'retrying', reason = 'provider.paused', due_at = now() + interval '10 minutes'
           where organization_id = $1 and occurrence_id = $2 and id = $3`,
          [organization, fanOut, id],
        );
      }
      return Array.from({ length: await releaseRetries(open.pool, organization, channel) });
    },
  },
  'ending held work that has expired': { max: 50, run: () => releaseExpiredAcrossTenants(open.pool) },
  'triggers with an idempotency key': {
    max: 100,
    run: () => {
      const idempotency = { key: 'k', body_hash: '00' };
      return storeOccurrencesAcrossTenants(open.pool, [encodeOccurrence({ ...newOccurrence(), idempotency })]);
    },
  },
  'occurrences of claimed deliveries': {
    max: 30,
    run: () => findOccurrencesAcrossTenants(open.pool, [{ organizationId: organization, id: fanOut }]),
  },
  'users by id': {
    max: 50,
    run: () =>
      findRecipientsAcrossTenants(
        open.pool,
        [5, 6, 7].map(userId => ({ organizationId: organization, userId })),
      ),
  },
  'users by name': {
    max: 50,
    run: () =>
      findRecipientsByNameAcrossTenants(
        open.pool,
        [5, 6, 7].map(i => ({ organizationId: organization, username: `u${i}@x.test` })),
      ),
  },
  'a page of a list': {
    max: 150,
    run: () => listMembersAsRecipients(open.pool, organization, 1, 'l2', { after: 0, limit: 10 }),
  },
  'a member of a list': { max: 100, run: () => findMemberAsRecipient(open.pool, organization, 1, 'l2', 42) },
  'a page of all users': {
    max: 100,
    run: () => listUsersAsRecipients(open.pool, organization, { after: 100, limit: 10 }),
  },
  'members of the lists of a project': {
    max: 200,
    run: () => listProjectMembersAsRecipients(open.pool, organization, 1, 10),
  },
  'a count of recipients that were not reached': {
    max: 50,
    run: () => claimUnexpandedAcrossTenants(open.pool),
  },
  'a page of a held occurrence to count': { max: 50, run: () => claimHoldAcrossTenants(open.pool) },
  'holds that were not decided in time': { max: 50, run: () => listExpiredHoldsAcrossTenants(open.pool, 100) },
  'mails about what guards hold': { max: 50, run: () => claimGuardMailsAcrossTenants(open.pool, 5) },
  'occurrences that wait for an approval': { max: 50, run: () => summarizeHoldsAcrossTenants(open.db) },
  'the sample of a canary': {
    max: 100,
    run: () => countSamples(open.pool, tested.organization, tested.reported, ['1']),
  },
  'holds of ended occurrences': { max: 50, run: () => endHoldsOfEndedAcrossTenants(open.pool) },
  'what was held while silences were being ended': { max: 50, run: () => releaseSilencedAcrossTenants(open.pool) },
  'steps that silences hold': {
    max: 50,
    run: async () => {
      const client = await open.pool.connect();
      const run = { organization_id: organization, occurrence_id: fanOut, notification_id: 1, number: 1 };
      await extendSilencedAcrossTenants(client, [run]).finally(() => client.release());
    },
  },
  'what silences hold': {
    max: 50,
    run: () => {
      const until = new Date(Date.now() + 60_000);
      const silence_id = '00000000-0000-7000-8000-000000000000';
      const one = { organization_id: organization, occurrence_id: fanOut, silence_id, effect: 'held' as const, until };
      return recordSilencedAcrossTenants(open.pool, [one]);
    },
  },
  'the largest audience of an event': {
    max: 200,
    run: () => findLargestAudience(open.pool, organization, 1, new Date(0)),
  },
  'the size of a list': { max: 20, run: () => findListSize(open.pool, organization, 1, 'all') },
  'users up to a number': { max: 50, run: () => countUsersUpTo(open.pool, organization, 11) },
  'suppressed addresses': {
    max: 20,
    run: () =>
      findSuppressionsAcrossTenants(
        open.pool,
        ['u1@x.test', 'u2@x.test', '@x.test', 'none@x.test'].map(target => ({
          organizationId: organization,
          channelType: 'email',
          target,
        })),
      ),
  },
  'disabling addresses that are gone': {
    max: 60,
    run: () =>
      disableAddresses(
        open.pool,
        organization,
        [905, 906].map(i => ({ userId: i, value: `u${i}@x.test`, reason: '410' })),
      ),
  },
  'an in-app message': {
    max: 50,
    run: () =>
      storeInboxMessagesAcrossTenants(open.pool, [
        { organization_id: organization, user_id: 1, id: ++inboxId, occurrence_id: fanOut, title: 't', body: 'b' },
      ]),
  },
  'changes in a few inboxes': {
    max: 120,
    run: () =>
      listInboxChangesAcrossTenants(
        open.pool,
        [1, 2, 3].map(user_id => ({ organization_id: organization, user_id, after: size - 10 })),
        10,
      ),
  },
  'throttle uses of a few users': {
    max: 50,
    run: async () => {
      const claims = [5, 6, 7].map(userId => ({
        organizationId: organization,
        notificationId: 1,
        userId,
        key: '',
        max: 3,
        perMs: 3_600_000,
      }));
      const uses = await lockThrottleUsesAcrossTenants(open.pool, claims);
      await storeThrottleUsesAcrossTenants(open.pool, claims, uses, Date.now());
      return [...uses];
    },
  },
  'a few digests, from their first item to their end': { max: 1_500, run: runDigests },
  'outcomes with webhook messages, until those are sent': { max: 2_000, run: runWebhooks },
  'updates of a few sent messages of a large fan-out, until they are made': { max: 400, run: runUpdates },
  'polling for webhook messages': {
    max: 60,
    run: async () => [
      await hasActiveWebhooksAcrossTenants(open.pool),
      await listDueWebhooksAcrossTenants(open.pool),
      await findWebhookBacklogAcrossTenants(open.pool),
    ],
  },
  'calls of a heartbeat, and what is missing': { max: 150, run: runHeartbeats },
  'alerts of a source, from their payload to its result': { max: 250, run: runSource },
  'payloads that a source no longer keeps': {
    max: 800,
    run: () => pruneSourcePayloads(open.db, organization, 1, 50),
  },
  'requests to the senders of alerts, until they are made': { max: 250, run: runSourceUpdates },
  'a send time of a channel with a rate': {
    max: 50,
    run: () =>
      reserveSendTimes(open.pool, organization, { channelId: channel, perSecond: 10, requested: 1, aheadMs: 500 }),
  },
};

describe.each(['empty', 'of another tenant'] as const)('planned with statistics that are %s,', statistics => {
  let database: PlanDatabase;

  beforeAll(async () => {
    database = await openPlanDatabase(statistics, async planned => {
      ({ open, sendingIds, waitingIds } = planned);
      for (const { run } of Object.values(statements)) await run().catch(tolerateMissingUser);
    });
    ({ sendingIds, waitingIds } = database);
  });
  afterAll(async () => {
    await open.close();
    await database.database.drop();
  });

  for (const [name, { max, run }] of Object.entries(statements)) {
    test(`${name} reads only the rows it needs`, async () => {
      // The maximum time that plans are cached.
      passTime(60_000);
      const before = await countRead(open.pool);
      const result = await run();
      const read = (await countRead(open.pool)) - before;
      expect(read).toBeLessThan(max);
      // The statement must have found rows: reading nothing proves nothing.
      if (Array.isArray(result)) expect(result).not.toEqual([]);
    });
  }

  test('all prepared statements were run', async () => {
    const { rows } = await open.pool.query<{ name: string }>('select name from pg_prepared_statements');
    const folder = new URL('../../src/db/', import.meta.url);
    const named = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .flatMap(file =>
        [
          ...readFileSync(new URL(file, folder), 'utf8').matchAll(/(?:\bname: |recipientStatement\(\s*)'([a-z_]+)'/g),
        ].map(match => match[1]),
      );
    expect(named.length).toBeGreaterThan(15);
    // Some have another text for each month.
    const run = new Set(rows.map(row => row.name.replace(/_\d{4}_\d{2}$/, '')));
    expect([...run].sort()).toEqual([...new Set(named)].sort());
  });
});

/** Expected on empty tables. */
function tolerateMissingUser(error: Error): void {
  if (!/inboxes_organization_id_user_id_fkey/.test(error.message)) throw error;
}

/**
 * Begins and ends an outage and settles a few deliveries, with messages for one of two endpoints that have a long
 * history.
 */
async function runWebhooks(): Promise<unknown> {
  const { pool } = open;
  await pool.query('update webhooks set enabled = true where id = 1');
  await beginOutage(pool, organization, channel, 'smtp');
  const outages = await listOutagesAcrossTenants(pool);
  await endOutage(pool, organization, channel);
  await holdChannel(pool, organization, channel, { provider: 'apns', reason: 'check it' });
  await endOutage(pool, organization, channel);
  await pool.query('update channels set paused_at = null where organization_id = $1', [organization]);
  await settleDeliveriesAcrossTenants(pool, outcomes(sendingIds.filter((_, i) => i % 200 === 7).slice(0, 10)));
  const due = await listDueWebhooksAcrossTenants(pool);
  const claimed = await claimWebhookMessages(pool, organization, 1, 5);
  const about = { status: 'sent' as const, due_at: null, began_at: dueAt, ms: 1, answer: '200' };
  await settleWebhookMessagesAcrossTenants(pool, claimed?.messages.map(one => ({ ...one, ...about })) ?? []);
  await pool.query('update webhooks set enabled = false where id = 1');
  return outages.length * due.length === 1 ? (claimed?.messages ?? []) : [];
}

/** Stores a call, and claims, settles and postpones what is missing. */
async function runHeartbeats(): Promise<unknown> {
  const { pool } = open;
  await noteReceivingAcrossTenants(pool);
  const { rows } = await pool.query<{ id: number }>('select max(id) as id from heartbeats where organization_id = $1', [
    organization,
  ]);
  const of = { organization_id: organization, heartbeat_id: rows[0]!.id ?? 0 };
  const call = {
    kind: 'success' as const,
    at: Date.now(),
    runId: null,
    exitStatus: null,
    method: 'GET',
    userAgent: '',
  };
  await storeCallsAcrossTenants(pool, [{ ...of, ...call, body: Buffer.alloc(0), bytes: 0 }]);
  await findNextDueAcrossTenants(pool, 5_000);
  const { claimed } = await claimDueAcrossTenants(pool, 2);
  const [first, second] = claimed;
  const done = first ? [{ ...first, incident_id: first.incident_id!, occurrence_id: fanOut }] : [];
  await settleActionsAcrossTenants(pool, done);
  const failed = second ?? { heartbeat_id: 0, incident_id: fanOut };
  await postponeAction(pool, organization, failed, { error: 'busy', seconds: 5, isFinal: false });
  return claimed;
}

/** Stores a payload and its alerts, and takes over payloads that were left behind. */
async function runSourceUpdates(): Promise<unknown> {
  const { pool } = open;
  const alert = { organization_id: organization, source_id: 1, key: 'reported', id: uuidv7(Date.now()) };
  const occurrence_id = uuidv7(Date.now());
  const about = { occurrence_id, title: 'Disk full', severity: null, counted: true, context: '{}' };
  await storeOpenAlertsAcrossTenants(pool, [{ ...alert, ...about }]);
  await inLedgerTransaction(pool, client =>
    queueSourceUpdates(client, organization, occurrence_id, { state: 'acknowledged', by: 'Ann' }),
  );
  const waiting = await listWaitingSourceUpdatesAcrossTenants(pool);
  const claimed = await claimSourceUpdates(pool, organization, 2);
  for (const one of claimed)
    await settleSourceUpdate(pool, organization, one, {
      status: 'done',
      retrySeconds: null,
      reference: undefined,
      entry: null,
    });
  await listUpdatesOfSource(open.db, organization, 1, 10);
  await listOccurrenceSourceUpdates(open.db, organization, occurrence_id, 10);
  return waiting.length > 0 ? claimed : [];
}

async function runSource(): Promise<unknown> {
  const { pool } = open;
  const source = { organization_id: organization, source_id: 1 };
  const payload = { ...source, id: uuidv7(Date.now()), note: null };
  const received = { state: 'received' as const, request: {}, body: Buffer.from('{}'), bytes: 2 };
  await storePayloadsAcrossTenants(pool, [{ ...payload, ...received }]);
  const alerts = ['old 1', 'new'].map(key => ({ ...source, key }));
  const about = { occurrence_id: fanOut, title: 'Disk full', severity: null, counted: false, context: null };
  await storeOpenAlertsAcrossTenants(
    pool,
    alerts.map(alert => ({ ...alert, ...about, id: uuidv7(Date.now()) })),
  );
  const found = await findAlertsAcrossTenants(pool, alerts);
  await findRaisable(pool, organization, [fanOut]);
  await settlePayloadsAcrossTenants(pool, [{ ...payload, state: 'taken', alerts: [], counts: {} }]);
  const claimed = await claimOpenPayloadsAcrossTenants(pool, 2);
  const opened = uuidv7(Date.now());
  await storeOpenAlertsAcrossTenants(
    pool,
    alerts.map(alert => ({ ...alert, ...about, occurrence_id: opened, id: uuidv7(Date.now()) })),
  );
  const resolved = await setAlertStates(open.db, organization, 1, ['old 1', 'new'], 'resolved');
  const ended = await findEndedOccurrences(open.db, organization, 1, [opened]);
  return found.every(alert => alert?.state === 'open') && resolved.length === 2 ? [...claimed, ...ended] : [];
}

/** Queues, lists, claims and settles the updates of a few messages, among many that were made. */
async function runUpdates(): Promise<unknown> {
  const { pool } = open;
  await inLedgerTransaction(pool, client =>
    queueOccurrenceUpdate(client, organization, fanOut, { change: 'acknowledged', by: 'Jane', updatable: ['slack'] }),
  );
  await listMessagesToUpdate(pool, organization, fanOut, { updatable: ['slack'], pageSize: 10 });
  const waiting = await listWaitingUpdatesAcrossTenants(pool);
  const claimed = await claimUpdates(pool, organization, 5);
  const outcome = { organization_id: organization, status: 'done' as const, due_at: null, entry: null };
  await settleUpdatesAcrossTenants(
    pool,
    claimed.map(one => ({ ...one, ...outcome })),
  );
  return waiting.length === 1 ? claimed.filter(one => one.channel_id !== null) : [];
}

/** Adds and removes items, and ends digests, in every way there is. */
async function runDigests(): Promise<unknown> {
  const { pool } = open;
  // The first is a bundle.
  const claims = [5, 6, 7].map((userId, i) => ({
    ...{ organizationId: organization, eventId: 1, notificationId: 1, channelId: channel, recipientId: userId, userId },
    ...{
      address: `a${userId}`,
      key: '',
      closesAt: new Date(),
      id: i === 0 ? createBundleId(Date.now()) : uuidv7(Date.now()),
    },
  }));
  await storeOccurrencesAcrossTenants(pool, Array.from({ length: 3 }, trigger));
  let digests: string[] = [];
  const { claimed } = await expandFirstPages(pool, async (found, client) => {
    digests = [...(await openDigestsAcrossTenants(client, claims)).values()].map(({ id }) => id);
    const change = { organizationId: organization, items: 0, added: found.length, isDiscardedEmpty: true };
    const full = { ...change, id: uuidv7(0), items: digestLimits.fullAt - 1 };
    const empty = { ...change, id: uuidv7(1), added: 0 };
    await fillDigestsAcrossTenants(client, [...digests.map(id => ({ ...change, id })), full, empty]);
    return found.map((one, i) => ({
      ...pageOf(one),
      deliveries: digests.map((digest_id, user) => ({
        ...{ ...toUser(5 + user), address: `a${5 + user}`, status: 'pending' as const, reason: 'digest' },
        ...{ due_at: i === 0 ? dueAt : carriedDueAt, digest_id },
      })),
    }));
  });
  const items = await pool.query<{ occurrence_id: string; id: number; digest_id: string }>(
    `select occurrence_id, id, digest_id from deliveries
     where organization_id = $1 and occurrence_id = $2 order by id`,
    [organization, claimed[0]!.id],
  );
  const [first, second, third] = items.rows;
  const client = await pool.connect();
  await listStored(client, organization, claimed[0]!.id, [toUser(5)]);
  client.release();
  await cancelDigestItems(pool, organization, claimed.at(-1)!.id);
  await pool.query('update occurrences set expires_at = now() where organization_id = $1 and id = $2', [
    organization,
    claimed[1]!.id,
  ]);
  await findBundleBacklog(pool, organization, digests[0]!);
  await listBundledOccurrences(pool, organization, digests[0]!);
  const [origin] = await listBundleOrigins(pool, organization, digests[0]!);
  await leaveBundle(pool, organization, digests[0]!, [{ ...origin!, event_id: 0 }]);
  const { digests: gathered } = await closeDigestsAcrossTenants(pool, [
    { organizationId: organization, id: digests[0]!, max: 5 },
  ]);
  const claim = `update deliveries set status = 'sending', attempts = 1 where organization_id = $1 and occurrence_id = $2`;
  await pool.query(claim, [organization, claimed[0]!.id]);
  const joining = await pool.connect();
  const late = { ...first!, organization_id: organization, attempts: 1, due_at: carriedDueAt };
  expect(await joinBundlesAcrossTenants(joining, [late])).toBe(1);
  joining.release();
  await pool.query(claim, [organization, claimed[0]!.id]);
  const [outcome] = outcomes([0]);
  await settleDigestsAcrossTenants(pool, [
    { ...outcome!, ...first! },
    { ...outcome!, ...second!, status: 'pending', reason: 'quiet_hours', due_at: new Date() },
    { ...outcome!, ...third!, status: 'expired', reason: 'expired' },
  ]);
  await pool.query(
    `insert into message_updates (organization_id, occurrence_id, delivery_id, change, changed_at) values ($1, $2, 0, 'resolved', now())`,
    [organization, digests[0]!],
  );
  await queueBundleUpdate(pool, organization, digests[0]!, ['sandbox']);
  return gathered;
}

function dayAgo(): Date {
  return new Date(Date.now() - 86_400_000);
}

function suppressed(user_id: number): NewDelivery {
  return { ...toUser(user_id), status: 'suppressed', reason: 'user.locked' };
}
