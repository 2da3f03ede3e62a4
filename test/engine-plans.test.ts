/**
 * What a statement of the engine reads must not grow with what the tables hold, however they looked when a connection
 * first planned it. Each prepared statement is run here on tables that were empty when it was first planned and hold a
 * long history since, and the rows and index entries that it read are counted.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { digestLimits } from '../src/core/digest.ts';
import { uuidv7 } from '../src/core/ids.ts';
import { storeOccurrencesAcrossTenants } from '../src/db/accepting.ts';
import { beginOutage, endOutage, listOutagesAcrossTenants } from '../src/db/channel-outages.ts';
import { storeKeyedAcrossTenants } from '../src/db/dedup.ts';
import {
  claimDeliveriesAcrossTenants,
  claimTheseAcrossTenants,
  listClaimedAcrossTenants,
  type NewDelivery,
  releasePausedAcrossTenants,
  type Settlement,
  settleDeliveriesAcrossTenants,
} from '../src/db/deliveries.ts';
import { cancelDigestItems, carriedDueAt } from '../src/db/digest-items.ts';
import { settleDigestsAcrossTenants } from '../src/db/digest-outcomes.ts';
import { closeDigestsAcrossTenants, fillDigestsAcrossTenants, openDigestsAcrossTenants } from '../src/db/digests.ts';
import {
  type ClaimedOccurrence,
  claimExpandingAcrossTenants,
  type ExpansionPage,
  expandAcceptedAcrossTenants,
  storePageAcrossTenants,
} from '../src/db/expansion.ts';
import { storeInboxMessagesAcrossTenants } from '../src/db/inbox.ts';
import { listInboxChangesAcrossTenants } from '../src/db/inbox-changes.ts';
import { reserveMoments } from '../src/db/limits.ts';
import { markStored } from '../src/db/new-deliveries.ts';
import { findOccurrencesAcrossTenants } from '../src/db/occurrences.ts';
import { byIndexAlone, type Database, openDatabase } from '../src/db/pool.ts';
import {
  findMemberAsRecipient,
  findRecipientsAcrossTenants,
  findRecipientsByNameAcrossTenants,
  listMembersAsRecipients,
  listUsersAsRecipients,
} from '../src/db/recipients.ts';
import {
  claimStepsAcrossTenants,
  releaseStepsAcrossTenants,
  type StepPage,
  storeStepPagesAcrossTenants,
} from '../src/db/steps.ts';
import { lockThrottleUsesAcrossTenants, storeThrottleUsesAcrossTenants } from '../src/db/throttle.ts';
import { findAnyTold, listSentTo, listTold } from '../src/db/told.ts';
import { findDueAcrossTenants } from '../src/db/turns.ts';
import {
  claimWebhookMessages,
  findWebhookBacklogAcrossTenants,
  hasActiveWebhooksAcrossTenants,
  listDueWebhooksAcrossTenants,
  settleWebhookMessagesAcrossTenants,
} from '../src/db/webhook-queue.ts';
import { listDeadWorkersAcrossTenants, releaseOccurrencesAcrossTenants } from '../src/db/workers.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

const size = 20_000;
const organization = 7;
const channel = 1;
/** With a delivery for each user. */
const fanOut = uuidv7(Date.now());
const turn = {
  priority: 2,
  after: 0,
  most: 10,
  owner: 1,
  shares: { usual: 1_000, byOrganization: new Map<number, number>() },
};
let database: TestDatabase;
let open: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  open = openDatabase({ url: database.url, name: 'plans', connections: 1, settings: byIndexAlone });
  // As after a month has begun, or an upgrade: known to be empty, not merely unknown. And so it stays, and nobody else reads.
  await open.pool.query(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = off)', name);
    end loop; end $$`);
  await open.pool.query('vacuum analyze');
  await open.pool.query(
    "insert into organizations (id, slug, name) overriding system value values ($1, 'acme', 'Acme')",
    [organization],
  );
  await open.pool.query(
    "insert into projects (organization_id, id, slug, name) overriding system value values ($1, 1, 'p', 'P')",
    [organization],
  );
  await open.pool.query(
    `insert into channels (organization_id, id, slug, name, type)
     overriding system value values ($1, ${channel}, 'c', 'C', 'email')`,
    [organization],
  );
  await open.pool.query(
    `insert into distribution_lists (organization_id, id, project_id, name, name_key)
     overriding system value select $1, i, 1, 'l' || i, 'l' || i from generate_series(1, 2) i`,
    [organization],
  );
  await open.pool.query(
    `insert into webhooks (organization_id, id, slug, name, url, types, secrets, enabled)
     overriding system value select $1, i, 'w' || i, 'W', 'http://x.test/', '{delivery.sent,channel.unhealthy}', '', false
     from generate_series(1, 2) i`,
    [organization],
  );
  await open.pool.query(
    'insert into webhook_states (organization_id, webhook_id) select $1, i from generate_series(1, 2) i',
    [organization],
  );
  await runAll();
  await fill();
}, 60_000);
afterEach(() => vi.useRealTimers());
afterAll(async () => {
  await open.close();
  await database.drop();
});

/** Every statement once, on few rows. Each is given the row or index entries it may read. */
const statements: Record<string, { most: number; run: () => Promise<unknown> }> = {
  'a claim of deliveries': { most: 200, run: () => claimDeliveriesAcrossTenants(open.pool, turn) },
  'a claim of known deliveries': {
    most: 200,
    run: () =>
      claimTheseAcrossTenants(
        open.pool,
        1,
        waitingIds.map(id => ({ organization_id: organization, occurrence_id: fanOut, id, due_at: dueAt })),
      ),
  },
  'outcomes of one fan-out': {
    most: 800,
    run: () => settleDeliveriesAcrossTenants(open.pool, outcomes(someIds.slice(500, 600))),
  },
  'outcomes of any kind': {
    most: 300,
    run: () => settleDeliveriesAcrossTenants(open.pool, outcomes(someIds.filter((_, i) => i % 200 === 0).slice(0, 10))),
  },
  'the first pages of occurrences': {
    most: 500,
    run: async () => {
      await storeOccurrencesAcrossTenants(open.pool, Array.from({ length: 10 }, trigger));
      const { stored } = await expandAcceptedAcrossTenants(open.pool, { ...turn, priority: 1 }, async claimed =>
        claimed.map((one, i) => ({ ...pageOf(one), deliveries: [toUser(i + 1), suppressed(i + 2)] })),
      );
      return stored;
    },
  },
  'a further page of a fan-out': {
    most: 500,
    run: async () => {
      const [claimed] = await claimExpandingAcrossTenants(open.pool, turn);
      if (claimed) await storePageAcrossTenants(open.pool, 1, { ...pageOf(claimed), deliveries: [toUser(1)] });
      return claimed;
    },
  },
  'runs of steps, of which one is owned by another': {
    most: 900,
    run: async () => {
      await storeOccurrencesAcrossTenants(open.pool, [trigger(), trigger()]);
      await expandAcceptedAcrossTenants(open.pool, { ...turn, priority: 1 }, async claimed =>
        claimed.map(one => ({ ...pageOf(one), steps: [runOf(1)] })),
      );
      const claimed = await claimStepsAcrossTenants(open.pool, { ...turn, priority: 1 });
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
      const { lost } = await storeStepPagesAcrossTenants(open.pool, 2, pages, async () => {});
      const { stored } = await storeStepPagesAcrossTenants(open.pool, 1, pages, async () => {});
      return lost.size === pages.length ? stored : [];
    },
  },
  'releasing the steps of a worker': { most: 20, run: () => releaseStepsAcrossTenants(open.pool, 7) },
  'what a few people were told by steps': {
    most: 50,
    run: () => listTold(open.pool, organization, fanOut, 1, [5, 6, 7]),
  },
  'whether anybody was told by steps': { most: 5_000, run: () => findAnyTold(open.pool, organization, fanOut, 1) },
  'whom steps have reached': {
    most: 12_000,
    run: () => listSentTo(open.pool, organization, fanOut, 1, { after: 0, limit: 10 }),
  },
  'triggers with a dedup key': {
    most: 200,
    run: () => {
      const keyed = () => ({ ...trigger(), dedup_key: 'k', closes_at: new Date(Date.now() + 3_600_000) });
      const idempotency = { key: `d${++inboxId}`, body_hash: '00' };
      return storeKeyedAcrossTenants(open.pool, [{ ...keyed(), idempotency }, keyed()]);
    },
  },
  'a look for what is due': { most: 100, run: () => findDueAcrossTenants(open.pool, [0, 1, 2]) },
  'a look for workers that died': { most: 100, run: () => listDeadWorkersAcrossTenants(open.pool) },
  'releasing what a worker was expanding': { most: 20, run: () => releaseOccurrencesAcrossTenants(open.pool, 7) },
  'a look for claims whose answer was lost': { most: 20, run: () => listClaimedAcrossTenants(open.pool, 7, []) },
  'releasing what was held': { most: 50, run: () => releasePausedAcrossTenants(open.pool) },
  'triggers with an idempotency key': {
    most: 100,
    run: () => {
      const idempotency = { key: 'k', body_hash: '00' };
      return storeOccurrencesAcrossTenants(open.pool, [{ ...trigger(), idempotency }]);
    },
  },
  'occurrences of claimed deliveries': {
    most: 30,
    run: () => findOccurrencesAcrossTenants(open.pool, [{ organizationId: organization, id: fanOut }]),
  },
  'people by their ids': {
    most: 50,
    run: () =>
      findRecipientsAcrossTenants(
        open.pool,
        [5, 6, 7].map(userId => ({ organizationId: organization, userId })),
      ),
  },
  'people by their names': {
    most: 50,
    run: () =>
      findRecipientsByNameAcrossTenants(
        open.pool,
        [5, 6, 7].map(i => ({ organizationId: organization, username: `u${i}@x.test` })),
      ),
  },
  'a page of a list': {
    most: 150,
    run: () => listMembersAsRecipients(open.pool, organization, 1, 'l2', { after: 0, limit: 10 }),
  },
  'a member of a list': { most: 100, run: () => findMemberAsRecipient(open.pool, organization, 1, 'l2', 42) },
  'a page of all users': {
    most: 100,
    run: () => listUsersAsRecipients(open.pool, organization, { after: 100, limit: 10 }),
  },
  'an in-app message': {
    most: 50,
    run: () =>
      storeInboxMessagesAcrossTenants(open.pool, [
        { organization_id: organization, user_id: 1, id: ++inboxId, occurrence_id: fanOut, title: 't', body: 'b' },
      ]),
  },
  'what changed in a few inboxes': {
    most: 120,
    run: () =>
      listInboxChangesAcrossTenants(
        open.pool,
        [1, 2, 3].map(user_id => ({ organization_id: organization, user_id, after: size - 10 })),
        10,
      ),
  },
  'what counts for the throttle of a few people': {
    most: 50,
    run: async () => {
      const claims = [5, 6, 7].map(userId => ({
        organizationId: organization,
        notificationId: 1,
        userId,
        key: '',
        most: 3,
        perMs: 3_600_000,
      }));
      const uses = await lockThrottleUsesAcrossTenants(open.pool, claims);
      await storeThrottleUsesAcrossTenants(open.pool, claims, uses, Date.now());
      return [...uses];
    },
  },
  'a few digests, from their first item to their end': { most: 1_500, run: runDigests },
  'outcomes that webhooks are told of, until they have been': { most: 2_000, run: runWebhooks },
  'webhooks in between': {
    most: 60,
    run: async () => [
      await hasActiveWebhooksAcrossTenants(open.pool),
      await listDueWebhooksAcrossTenants(open.pool),
      await findWebhookBacklogAcrossTenants(open.pool),
    ],
  },
  'a moment of a channel with a rate': {
    most: 50,
    run: () => reserveMoments(open.pool, organization, { channelId: channel, perSecond: 10, wanted: 1, aheadMs: 500 }),
  },
};

for (const [name, { most, run }] of Object.entries(statements)) {
  test(`${name}: no more is read than what it is about`, async () => {
    // As long as plans are kept at the most.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    const before = await countRead(open.pool);
    const result = await run();
    const read = (await countRead(open.pool)) - before;
    expect(read).toBeLessThan(most);
    // It has found something to do: reading nothing proves nothing.
    if (Array.isArray(result)) expect(result).not.toEqual([]);
  });
}

test('all prepared statements have been run', async () => {
  const { rows } = await open.pool.query<{ name: string }>('select name from pg_prepared_statements');
  const folder = new URL('../src/db/', import.meta.url);
  const named = readdirSync(folder).flatMap(file =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(/(?:\bname: |peopleStatement\(\s*)'([a-z_]+)'/g)].map(
      match => match[1],
    ),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(rows.map(row => row.name).sort()).toEqual([...new Set(named)].sort());
});

/** When everything was due. */
const dueAt = new Date(Date.now() - 3_600_000);
let someIds: number[] = [];
let waitingIds: number[] = [];
let inboxId = 0;

async function runAll(): Promise<void> {
  someIds = Array.from({ length: 2_000 }, (_, i) => i);
  for (const { run } of Object.values(statements)) await run().catch(tolerateMissingUser);
}

/** On empty tables. */
function tolerateMissingUser(error: Error): void {
  if (!/inboxes_organization_id_user_id_fkey/.test(error.message)) throw error;
}

async function fill(): Promise<void> {
  // By a connection that has planned nothing for empty tables.
  const other = openDatabase({ url: database.url, name: 'fill', connections: 1 });
  const { pool } = other;
  await pool.query('truncate deliveries, occurrences');
  await pool.query(
    `with made as (
       insert into users (organization_id, id, username, email) overriding system value
       select $1, i, 'u' || i || '@x.test', 'u' || i || '@x.test' from generate_series(1, ${size}) i returning id, email
     ), reached as (
       insert into addresses (organization_id, id, user_id, name, value) overriding system value
       select $1, id, id, 'email', email from made returning id
     )
     select from reached`,
    [organization],
  );
  await pool.query(
    `insert into members (organization_id, list_id, address_id)
     select $1, l, i from generate_series(1, 2) l, generate_series(1, ${size}) i where l = 1 or i % 100 = 42`,
    [organization],
  );
  await pool.query(
    `insert into inbox (organization_id, user_id, id, occurrence_id, title, body, sequence)
     select $1, 1 + i % 2, -i, $2, 't', 'b', i from generate_series(1, ${size}) i`,
    [organization, fanOut],
  );
  // A history that has ended, the fan-out that is being sent, one of which more is to come, and one of a dead worker.
  await pool.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options,
       due_at, created_at, deliveries, priority, cursor, owner)
     select $1, case when i = 1 then $2::uuid else gen_random_uuid() end, 1, 1, 1,
       case when i = 1 then 'sending' when i <= 3 then 'expanding' else 'completed' end, '{}', '{}', now(), now(), 1, 2,
       case when i in (2, 3) then '{"notification": 1, "source": "", "after": 0}'::jsonb end, case when i = 3 then 7 end
     from generate_series(1, ${size}) i`,
    [organization, fanOut],
  );
  await pool.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status,
       attempts, priority, due_at, owner, step)
     select $1, $2, 1, 1, 1, i, case when i % 1000 = 0 then 'pending' else 'sending' end, 1, 2,
       case when i % 5000 = 0 then 'infinity' else $3::timestamptz end, case when i % 2000 = 1 then 7 end, 1
     from generate_series(1, ${size}) i`,
    [organization, fanOut, dueAt],
  );
  const idsOf = async (status: string) => {
    const text = 'select id from deliveries where status = $1 order by id limit 2000';
    return (await pool.query<{ id: number }>(text, [status])).rows.map(({ id }) => id);
  };
  someIds = await idsOf('sending');
  waitingIds = (await idsOf('pending')).slice(-5);
  // Webhooks of many others.
  await pool.query(
    `with others as (
       insert into organizations (id, slug, name) overriding system value
       select 1000 + i, 'other-' || i, 'O' from generate_series(1, 2000) i returning id
     )
     insert into webhooks (organization_id, slug, name, url, types, secrets)
     select id, 'w', 'W', 'http://x.test/', '{delivery.sent}', '' from others`,
  );
  // What webhooks were told, and what waits for one that is off.
  await pool.query(
    `insert into webhook_messages (organization_id, webhook_id, type, data, status)
     select $1, 1 + i % 2, 'delivery.sent', '{}', case when i % 2 = 1 then 'waiting' else 'sent' end
     from generate_series(1, ${size}) i`,
    [organization],
  );
  // And as many digests of others, with an item each.
  await pool.query(
    `with opened as (
       insert into digests (organization_id, id, event_id, notification_id, channel_id, recipient_id, user_id, address, key,
         items, closes_at)
       select $1, gen_random_uuid(), 1, 1, 1, i, i, 'other ' || i, '', 1, now() from generate_series(1, ${size}) i
       returning id, user_id
     )
     insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address, status,
       priority, due_at, digest_id)
     select $1, $2, 1, 1, 1, user_id, 'other ' || user_id, 'pending', 2, $3, id from opened`,
    [organization, fanOut, carriedDueAt],
  );
  await other.close();
}

/** An outage and its end, and a few outcomes: told to one of two endpoints with a long history. */
async function runWebhooks(): Promise<unknown> {
  const { pool } = open;
  await pool.query('update webhooks set enabled = true where id = 1');
  await beginOutage(pool, organization, channel, 'smtp');
  const outages = await listOutagesAcrossTenants(pool);
  await endOutage(pool, organization, channel);
  await settleDeliveriesAcrossTenants(pool, outcomes(someIds.filter((_, i) => i % 200 === 7).slice(0, 10)));
  const due = await listDueWebhooksAcrossTenants(pool);
  const claimed = await claimWebhookMessages(pool, organization, 1, 5);
  const about = { status: 'sent' as const, due_at: null, began_at: dueAt, ms: 1, answer: '200' };
  await settleWebhookMessagesAcrossTenants(pool, claimed?.messages.map(one => ({ ...one, ...about })) ?? []);
  await pool.query('update webhooks set enabled = false where id = 1');
  return outages.length * due.length === 1 ? (claimed?.messages ?? []) : [];
}

/** Each way that items come and go, and each way that a digest ends. */
async function runDigests(): Promise<unknown> {
  const { pool } = open;
  const claims = [5, 6, 7].map(userId => ({
    ...{ organizationId: organization, eventId: 1, notificationId: 1, channelId: channel, recipientId: userId, userId },
    ...{ address: `a${userId}`, key: '', closesAt: new Date(), id: uuidv7(Date.now()) },
  }));
  await storeOccurrencesAcrossTenants(pool, Array.from({ length: 3 }, trigger));
  let digests: string[] = [];
  const { claimed } = await expandAcceptedAcrossTenants(pool, { ...turn, priority: 1 }, async (found, client) => {
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
  await markStored(client, organization, claimed[0]!.id, [toUser(5)]);
  client.release();
  await cancelDigestItems(pool, organization, claimed.at(-1)!.id);
  await pool.query('update occurrences set expires_at = now() where organization_id = $1 and id = $2', [
    organization,
    claimed[1]!.id,
  ]);
  const { digests: gathered } = await closeDigestsAcrossTenants(pool, [
    { organizationId: organization, id: digests[0]!, most: 5 },
  ]);
  await pool.query(
    `update deliveries set status = 'sending', attempts = 1 where organization_id = $1 and occurrence_id = $2`,
    [organization, claimed[0]!.id],
  );
  const [outcome] = outcomes([0]);
  await settleDigestsAcrossTenants(pool, [
    { ...outcome!, ...first! },
    { ...outcome!, ...second!, status: 'pending', reason: 'quiet_hours', due_at: new Date() },
    { ...outcome!, ...third!, status: 'expired', reason: 'expired' },
  ]);
  return gathered;
}

function trigger() {
  const ids = { organization_id: organization, project_id: 1, application_id: 1, event_id: 1 };
  return { ...ids, id: uuidv7(Date.now()), priority: 1, context: {}, options: {}, created_at: dueAt };
}

function pageOf({ organization_id, id, event_id, priority }: ClaimedOccurrence): ExpansionPage {
  return { organization_id, id, event_id, priority, cursor: null, reason: null, deliveries: [] };
}

function runOf(number: number) {
  return {
    notification_id: 1,
    number,
    step: number,
    priority: 1,
    due_at: number === 1 ? dueAt : new Date(9e12),
    began_at: dueAt,
  };
}

function toUser(user_id: number): NewDelivery {
  const ids = { notification_id: 1, version: 1, channel_id: channel, user_id };
  return {
    ...ids,
    address: null,
    status: 'sending',
    reason: null,
    detail: null,
    due_at: null,
    priority: 1,
    user_version: 1,
    digest_id: null,
  };
}

function suppressed(user_id: number): NewDelivery {
  return { ...toUser(user_id), status: 'suppressed', reason: 'user.locked' };
}

function outcomes(ids: number[]): Settlement[] {
  return ids.map(id => ({
    organization_id: organization,
    occurrence_id: fanOut,
    id,
    attempts: 1,
    tried: true,
    status: 'sent',
    reason: null,
    detail: null,
    provider: 'sandbox',
    provider_message_id: `name of ${id}`,
    provider_index: 0,
    provider_attempts: 1,
    due_at: null,
    wording: null,
    user_version: null,
    digest_id: null,
    attempt: { began_at: new Date(), ms: 5 },
    event_id: 1,
    since: new Date(),
  }));
}

/** Rows and index entries of all tables that were read so far, on the one connection that there is. */
async function countRead(pool: pg.Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ count: number }>(
    `select (select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables)
       + (select sum(idx_tup_read) from pg_stat_user_indexes) as count`,
  );
  return Number(rows[0]!.count);
}
