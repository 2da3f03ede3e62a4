/**
 * A statement that handles many rows reads a few for each of them, also while the statistics know only another tenant, or
 * nothing: planned for the few rows that those promise, it would read a whole table or list for each.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { addMissingEmails, disableAddresses } from '../../src/db/audience/addresses.ts';
import { storeInboxMessagesAcrossTenants } from '../../src/db/audience/inbox.ts';
import { importMembers, listMembersToExport } from '../../src/db/audience/list-import.ts';
import { addMissingMembers } from '../../src/db/audience/members.ts';
import { addOptOuts } from '../../src/db/audience/preferences.ts';
import {
  findRecipientsAcrossTenants,
  findRecipientsByNameAcrossTenants,
  listMembersAsRecipients,
  listUsersAsRecipients,
} from '../../src/db/audience/recipients.ts';
import { addSuppressions, findSuppressionsAcrossTenants } from '../../src/db/audience/suppressions.ts';
import { createMissingUsers } from '../../src/db/audience/users.ts';
import { type Database, type Db, openDatabase, prepareForGrowth } from '../../src/db/connection/pool.ts';
import { inLedgerTransaction } from '../../src/db/connection/transaction.ts';
import { findDeliveriesByProviderId } from '../../src/db/history/feedback/feedback.ts';
import { findOccurrencesAcrossTenants } from '../../src/db/history/occurrences.ts';
import { encodeOccurrence, storeOccurrencesAcrossTenants } from '../../src/db/ledger/accept/accept.ts';
import { storeDecidedAcrossTenants } from '../../src/db/ledger/accept/decided.ts';
import { encodeKeyedOccurrence, storeKeyedAcrossTenants } from '../../src/db/ledger/accept/dedup.ts';
import {
  claimDeliveriesAcrossTenants,
  claimTheseAcrossTenants,
  settleDeliveriesAcrossTenants,
} from '../../src/db/ledger/deliver/deliveries.ts';
import { carriedDueAt } from '../../src/db/ledger/digests/digest-items.ts';
import { settleDigestsAcrossTenants } from '../../src/db/ledger/digests/digest-outcomes.ts';
import {
  closeDigestsAcrossTenants,
  fillDigestsAcrossTenants,
  openDigestsAcrossTenants,
} from '../../src/db/ledger/digests/digests.ts';
import { lockThrottleUsesAcrossTenants, storeThrottleUsesAcrossTenants } from '../../src/db/ledger/digests/throttle.ts';
import { claimExpandingAcrossTenants, storePageAcrossTenants } from '../../src/db/ledger/expand/expand.ts';
import {
  claimStepsAcrossTenants,
  lockRunsAcrossTenants,
  type StepPage,
  storeStepPagesAcrossTenants,
} from '../../src/db/ledger/steps/steps.ts';
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
  tested,
  toUser,
  trigger,
} from '../support/plans.ts';

const { organization, reporting, fanOut } = tested;
/** Of the engine. */
let open: Database;
/** Of a service. */
let plain: Database;
let sendingIds: number[] = [];
let inboxId = 0;

interface Batch {
  /** Rows that it handles, of which each may read `perRow` rows and index entries. */
  rows: number;
  perRow: number;
  /** Not counted. */
  prepare?: () => Promise<unknown>;
  /** Returns as many entries as there are rows, unless the tables are empty. */
  run: () => Promise<unknown>;
}

const many = 500;
const range = (length: number, from = 1) => Array.from({ length }, (_, i) => from + i);
const userOf = (i: number) => `u${i}@x.test`;

const batches: Record<string, Batch> = {
  'a claim of deliveries': {
    rows: many,
    perRow: 20,
    prepare: () => makeWait(1_500),
    run: () => claimDeliveriesAcrossTenants(open.pool, { ...claimRequest, max: many }),
  },
  'a claim of requeued deliveries': {
    rows: many,
    // It may read the whole fan-out once.
    perRow: 100,
    prepare: () => makeWait(1_020),
    run: () => {
      const these = sendingIds.slice(1_020, 1_020 + many);
      const waiting = these.map(id => ({ organization_id: organization, occurrence_id: fanOut, id, due_at: dueAt }));
      return claimTheseAcrossTenants(open.pool, 1, waiting);
    },
  },
  'a batch of outcomes of one fan-out': {
    rows: many,
    perRow: 20,
    run: () => settle(sendingIds.slice(3, 3 + many)),
  },
  'a batch of outcomes of any kind': {
    rows: many / 2,
    perRow: 20,
    run: () =>
      settle(
        sendingIds.slice(510, 1_010).filter((_, i) => i % 2 === 0),
        'failed',
      ),
  },
  'the first page of a fan-out': {
    rows: many,
    perRow: 20,
    prepare: () => storeOccurrencesAcrossTenants(open.pool, [trigger()]),
    run: () => expand(range(many)),
  },
  'the first pages of many occurrences': {
    rows: many,
    perRow: 40,
    prepare: () => storeOccurrencesAcrossTenants(open.pool, range(many).map(trigger)),
    run: () => expand([5]),
  },
  'many triggers that were decided before': {
    rows: many,
    perRow: 40,
    run: async () => {
      const decided = range(many).map((_, i) => {
        const triggered = newOccurrence();
        return { trigger: triggered, page: { ...pageOf(triggered), deliveries: [toUser(i + 1)] } };
      });
      return (await storeDecidedAcrossTenants(open.pool, 1, decided)).stored;
    },
  },
  'a further page of a fan-out': {
    rows: many,
    perRow: 20,
    run: async () => {
      const [claimed] = await claimExpandingAcrossTenants(open.pool, claimRequest);
      if (!claimed) return [];
      const page = { ...pageOf(claimed), deliveries: range(many).map(toUser) };
      await inLedgerTransaction(open.pool, client => storePageAcrossTenants(client, 1, page));
      return page.deliveries;
    },
  },
  'runs of steps': {
    rows: 200,
    perRow: 60,
    prepare: async () => {
      await storeOccurrencesAcrossTenants(open.pool, range(200).map(trigger));
      await expandFirstPages(
        open.pool,
        async claimed => claimed.map(one => ({ ...pageOf(one), steps: [runOf(1)] })),
        200,
      );
    },
    run: async () => {
      const claimed = await claimStepsAcrossTenants(open.pool, { ...claimRequest, priority: 1, max: 200 });
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
      await inLedgerTransaction(open.pool, client => lockRunsAcrossTenants(client, 1, pages));
      await inLedgerTransaction(open.pool, client => storeStepPagesAcrossTenants(client, 1, pages));
      return pages;
    },
  },
  'digests, from their first item to their end': { rows: 200, perRow: 100, run: runDigests },
  'throttle uses': {
    rows: many,
    perRow: 10,
    run: async () => {
      const claims = range(many).map(userId => ({
        ...{ organizationId: organization, notificationId: 2, userId, key: '', max: 3, perMs: 3_600_000 },
      }));
      const uses = await lockThrottleUsesAcrossTenants(open.pool, claims);
      await storeThrottleUsesAcrossTenants(open.pool, claims, uses, Date.now());
      return claims;
    },
  },
  'triggers with an idempotency key': {
    rows: many,
    perRow: 10,
    run: () => {
      const keyed = range(many).map(i => ({ ...newOccurrence(), idempotency: { key: `many ${i}`, body_hash: '00' } }));
      return storeOccurrencesAcrossTenants(
        open.pool,
        keyed.map(one => encodeOccurrence(one)),
      );
    },
  },
  'triggers with a dedup key': {
    rows: many,
    perRow: 30,
    run: () => {
      const until = new Date(Date.now() + 3_600_000);
      return storeKeyedAcrossTenants(
        open.pool,
        range(many).map(i => encodeKeyedOccurrence(newOccurrence(), `many ${i}`, until)),
      );
    },
  },
  'occurrences of claimed deliveries': {
    rows: many,
    perRow: 10,
    run: async () => {
      const { rows } = await open.pool.query<{ id: string }>(
        'select id from occurrences where organization_id = $1 limit 500',
        [organization],
      );
      return findOccurrencesAcrossTenants(
        open.pool,
        rows.map(({ id }) => ({ organizationId: organization, id })),
      );
    },
  },
  'users by id': {
    rows: many,
    perRow: 15,
    run: () =>
      findRecipientsAcrossTenants(
        open.pool,
        range(many).map(userId => ({ organizationId: organization, userId })),
      ),
  },
  'users by name': {
    rows: many,
    perRow: 15,
    run: () =>
      findRecipientsByNameAcrossTenants(
        open.pool,
        range(many).map(i => ({ organizationId: organization, username: userOf(i) })),
      ),
  },
  'a page of a list': {
    rows: many,
    perRow: 15,
    run: () => listMembersAsRecipients(open.pool, organization, 1, 'l1', { after: 0, limit: many }),
  },
  'a page of all users': {
    rows: many,
    perRow: 15,
    run: () => listUsersAsRecipients(open.pool, organization, { after: 100, limit: many }),
  },
  'suppressed addresses': {
    rows: many,
    perRow: 5,
    run: () =>
      findSuppressionsAcrossTenants(
        open.pool,
        range(many).map(i => ({ organizationId: organization, channelType: 'email', target: userOf(i) })),
      ),
  },
  'disabling addresses that are gone': {
    rows: many,
    perRow: 20,
    run: async () => {
      const gone = range(many, 10_000).map(i => ({ userId: i, value: userOf(i), reason: '410' }));
      await disableAddresses(open.pool, organization, gone);
      return gone;
    },
  },
  'in-app messages': {
    rows: many,
    perRow: 15,
    run: async () => {
      const messages = range(many).map(user_id => ({
        ...{ organization_id: organization, user_id, id: ++inboxId, occurrence_id: fanOut, title: 't', body: 'b' },
      }));
      await storeInboxMessagesAcrossTenants(open.pool, messages);
      return messages;
    },
  },
  'feedback by the ids of a service': {
    rows: many,
    perRow: 10,
    run: () =>
      findDeliveriesByProviderId(
        plain.db,
        reporting,
        range(many).map(i => `SM${i}`),
      ),
  },
  'an import of new users': { rows: 3_000, perRow: 120, run: () => importList(3, 'n') },
  'a further import of new users': { rows: 3_000, perRow: 120, run: () => importList(3, 'm') },
  'an import of known users into a new list': { rows: 3_000, perRow: 120, run: () => importList(4, 'u') },
  'an import of the same users again': { rows: 3_000, perRow: 120, run: () => importList(4, 'u') },
  'members by their names': {
    rows: 3_000,
    perRow: 120,
    run: () =>
      inTransaction(async trx => {
        const names = range(3_000, 3_001).map(userOf);
        await createMissingUsers(
          trx,
          organization,
          names.map(name => ({ username: name, email: name })),
        );
        await addMissingEmails(trx, organization, names);
        await addMissingMembers(trx, organization, 5, names);
        return names;
      }),
  },
  'opt-outs of an import': {
    rows: 3_000,
    perRow: 80,
    run: () =>
      inTransaction(async trx => {
        const choices = range(3_000).map(i => ({ username: userOf(i), scope: 'category:news' }));
        await addOptOuts(trx, organization, choices, 'Jane');
        return choices;
      }),
  },
  'an import of suppressed addresses': {
    rows: 3_000,
    perRow: 40,
    run: () =>
      inTransaction(trx => {
        const one = { channel_type: 'email', reason: 'manual', source: 'import' } as const;
        const entries = range(3_000).map(i => ({ ...one, target: `s${i}@x.test` }));
        return addSuppressions(trx, organization, entries as never);
      }),
  },
  'a page of an export': {
    rows: 1_000,
    perRow: 40,
    run: () => listMembersToExport(plain.db, organization, 1, { after: 0, limit: 1_000 }),
  },
};

describe.each(['empty', 'of another tenant'] as const)('planned with statistics that are %s,', statistics => {
  let database: PlanDatabase;

  beforeAll(async () => {
    database = await openPlanDatabase(statistics, async planned => {
      ({ open, sendingIds } = planned);
    });
    ({ sendingIds } = database);
    await open.pool.query(`select setval(pg_get_serial_sequence('users', 'id'), 1000000)`);
    await open.pool.query(`select setval(pg_get_serial_sequence('addresses', 'id'), 1000000)`);
    plain = openDatabase({ url: database.database.url, name: 'service', connections: 1 });
  });
  afterAll(async () => {
    await plain.close();
    await open.close();
    await database.database.drop();
  });

  for (const [name, { rows, perRow, prepare, run }] of Object.entries(batches)) {
    test(`${name} reads a few rows for each that it handles`, async () => {
      // The maximum time that plans are cached.
      passTime(60_000);
      await prepare?.();
      const before = await countAll();
      const result = await run();
      const read = ((await countAll()) - before) / rows;
      expect(read).toBeLessThan(perRow);
      expect([...(result as Iterable<unknown>)].length).toBeGreaterThanOrEqual(rows);
    });
  }
});

async function countAll(): Promise<number> {
  await plain.pool.query('select pg_stat_force_next_flush()');
  return countRead(open.pool);
}

/** Puts deliveries of the fan-out back into the queue. */
async function makeWait(from: number): Promise<void> {
  await open.pool.query(
    `update deliveries set status = 'pending', due_at = $3
     where organization_id = $1 and occurrence_id = $2 and id = any($4::bigint[])`,
    [organization, fanOut, dueAt, sendingIds.slice(from, from + many)],
  );
}

async function settle(ids: number[], status: 'sent' | 'failed' = 'sent'): Promise<unknown[]> {
  const settlements = outcomes(ids).map(one => ({ ...one, status }));
  const { settled } = await settleDeliveriesAcrossTenants(open.pool, settlements);
  return range(settled);
}

/** Expands what was triggered, for these users each. */
async function expand(users: number[]): Promise<unknown[]> {
  const { stored } = await expandFirstPages(
    open.pool,
    async claimed => claimed.map(one => ({ ...pageOf(one), deliveries: users.map(toUser) })),
    many,
  );
  return stored;
}

function inTransaction<T>(work: (trx: Db) => Promise<T>): Promise<T> {
  return plain.db.transaction().execute(async trx => {
    await prepareForGrowth(trx);
    return work(trx);
  });
}

async function importList(list: number, prefix: string): Promise<unknown[]> {
  const rows = range(3_000).map(i => {
    const email = `${prefix}${i}@x.test`;
    return { username: email, email, first_name: 'Ann', addresses: [{ name: 'sms', value: `+1555${i}` }] };
  });
  await inTransaction(trx => importMembers(trx, organization, list, rows));
  return rows;
}

async function runDigests(): Promise<unknown[]> {
  const { pool } = open;
  const claims = range(200).map(userId => ({
    ...{ organizationId: organization, eventId: 1, notificationId: 2, channelId: channel, recipientId: userId, userId },
    ...{ address: userOf(userId), key: '', closesAt: new Date(), id: uuidv7(Date.now()) },
  }));
  await storeOccurrencesAcrossTenants(pool, [trigger(), trigger()]);
  let digests: string[] = [];
  const { claimed } = await expandFirstPages(pool, async (found, client) => {
    digests = [...(await openDigestsAcrossTenants(client, claims)).values()].map(({ id }) => id);
    const change = { organizationId: organization, items: 0, added: found.length, isDiscardedEmpty: true };
    await fillDigestsAcrossTenants(
      client,
      digests.map(id => ({ ...change, id })),
    );
    return found.map((one, i) => ({
      ...pageOf(one),
      deliveries: digests.map((digest_id, user) => ({
        ...{ ...toUser(1 + user), notification_id: 2, address: userOf(1 + user), status: 'pending' as const },
        ...{ reason: 'digest', due_at: i === 0 ? dueAt : carriedDueAt, digest_id },
      })),
    }));
  });
  const carriers = await pool.query<{ occurrence_id: string; id: number; digest_id: string }>(
    `update deliveries set status = 'sending', attempts = 1 where organization_id = $1 and occurrence_id = $2
     returning occurrence_id, id, digest_id`,
    [organization, claimed[0]!.id],
  );
  const closed = await closeDigestsAcrossTenants(
    pool,
    digests.map(id => ({ organizationId: organization, id, max: 5 })),
  );
  const [outcome] = outcomes([0]);
  await settleDigestsAcrossTenants(
    pool,
    carriers.rows.map(carrier => ({ ...outcome!, ...carrier })),
  );
  return closed.digests;
}
