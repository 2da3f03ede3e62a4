/**
 * Databases for tests that count the rows which statements read: a tenant with a long history, of which the statistics know
 * nothing, alone or beside another one of which they know everything.
 */
import type pg from 'pg';
import { uuidv7 } from '../../src/core/ids.ts';
import { type Database, indexScansOnly, openDatabase } from '../../src/db/connection/pool.ts';
import { inLedgerTransaction } from '../../src/db/connection/transaction.ts';
import { encodeOccurrence, type NewOccurrence } from '../../src/db/ledger/accept/accept.ts';
import type { NewDelivery, Settlement } from '../../src/db/ledger/deliver/deliveries.ts';
import { carriedDueAt } from '../../src/db/ledger/digests/digest-items.ts';
import {
  type ClaimedOccurrence,
  type ExpansionPage,
  lockAcceptedAcrossTenants,
  type StoredPages,
  storeFirstPagesAcrossTenants,
} from '../../src/db/ledger/expand/expand.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

export interface Tenant {
  organization: number;
  /** An organization with reports about a delivery for each user. */
  reporting: number;
  /** An occurrence with a delivery for each user. */
  fanOut: string;
  /** The occurrence of the other organization. */
  reported: string;
}

const tenantOf = (organization: number): Tenant => ({
  organization,
  reporting: organization + 1,
  fanOut: uuidv7(Date.now()),
  reported: uuidv7(Date.now()),
});

/** The tenant whose statements are tested. */
export const tested: Tenant = tenantOf(7);
/** The one that the statistics know, if any. */
export const known: Tenant = tenantOf(70);
export const size = 20_000;
export const channel = 1;
/** The due time of all rows. */
export const dueAt: Date = new Date(Date.now() - 3_600_000);
export const claimRequest = {
  priority: 2,
  after: 0,
  max: 10,
  owner: 1,
  shares: { defaultShare: 1_000, byOrganization: new Map<number, number>() },
};

export interface PlanDatabase {
  database: TestDatabase;
  /** One connection, as those of the engine for every message. */
  open: Database;
  /** Deliveries of the fan-out that are being sent, and some that wait. */
  sendingIds: number[];
  waitingIds: number[];
}

/**
 * Opens a database that was analyzed before the tested tenant existed: with the history of another one, or empty, as at the start of
 * a month or after an upgrade. Then calls `plan`, which runs all statements once, and fills it. Autovacuum is off, so that
 * nothing changes the statistics and no one else reads.
 */
export async function openPlanDatabase(
  statistics: 'empty' | 'of another tenant',
  plan: (database: PlanDatabase) => Promise<void>,
): Promise<PlanDatabase> {
  const database = await createTestDatabase();
  const open = openDatabase({ url: database.url, name: 'plans', connections: 1, settings: indexScansOnly });
  const { pool } = open;
  await stopAutovacuum(pool);
  if (statistics === 'of another tenant') {
    await createTenant(pool, known.organization);
    await fillHistory(database.url, known);
    await completeHistory(pool, known);
    await addWebhooksOfOthers(pool);
  }
  await pool.query('vacuum analyze');
  await createTenant(pool, tested.organization);
  await plan({ database, open, sendingIds: Array.from({ length: 2_000 }, (_, i) => i), waitingIds: [] });
  if (statistics === 'empty') await addWebhooksOfOthers(pool);
  return { database, open, ...(await fillHistory(database.url, tested)) };
}

/** Nothing changes the statistics from then on, and no one else reads. */
export async function stopAutovacuum(pool: pg.Pool): Promise<void> {
  await pool.query(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = off)', name);
    end loop; end $$`);
}

/** Creates what has no history. */
export async function createTenant(pool: pg.Pool, organization: number): Promise<void> {
  await pool.query(
    "insert into organizations (id, slug, name) overriding system value values ($1, 'acme-' || $1::bigint, 'Acme')",
    [organization],
  );
  await pool.query(
    "insert into projects (organization_id, id, slug, name) overriding system value values ($1, 1, 'p', 'P')",
    [organization],
  );
  await pool.query(
    `insert into channels (organization_id, id, slug, name, type)
     overriding system value values ($1, ${channel}, 'c', 'C', 'email')`,
    [organization],
  );
  await pool.query(
    `insert into distribution_lists (organization_id, id, project_id, name, name_key)
     overriding system value select $1, i, 1, 'l' || i, 'l' || i from generate_series(1, 5) i`,
    [organization],
  );
  await pool.query(
    `insert into webhooks (organization_id, id, slug, name, url, types, secrets, enabled)
     overriding system value select $1, i, 'w' || i, 'W', 'http://x.test/', '{delivery.sent,channel.unhealthy}', '', false
     from generate_series(1, 2) i`,
    [organization],
  );
  await pool.query(
    `insert into applications (organization_id, id, project_id, slug, name) overriding system value values ($1, 1, 1, 'a', 'A')`,
    [organization],
  );
  await pool.query(
    `insert into sources (organization_id, id, application_id, slug, name, routes, token_hash, secrets, update)
     overriding system value values ($1, 1, 1, 's', 'S', '[]', '', '', '{"use": "zabbix"}')`,
    [organization],
  );
  await pool.query(
    'insert into webhook_states (organization_id, webhook_id) select $1, i from generate_series(1, 2) i',
    [organization],
  );
}

/** Leaves nothing to do. */
async function completeHistory(pool: pg.Pool, { organization }: Tenant): Promise<void> {
  await pool.query(
    `update deliveries set status = 'sent', due_at = now(), owner = null
     where organization_id = $1 and status in ('pending', 'sending')`,
    [organization],
  );
  await pool.query(
    `update occurrences set status = 'completed', cursor = null, owner = null
     where organization_id = $1 and status <> 'completed'`,
    [organization],
  );
}

/** Adds webhooks of many other organizations. */
async function addWebhooksOfOthers(pool: pg.Pool): Promise<void> {
  await pool.query(
    `with others as (
       insert into organizations (id, slug, name) overriding system value
       select 1000 + i, 'other-' || i, 'O' from generate_series(1, 2000) i returning id
     )
     insert into webhooks (organization_id, slug, name, url, types, secrets)
     select id, 'w', 'W', 'http://x.test/', '{delivery.sent}', '' from others`,
  );
}

/**
 * Gives a tenant a long history, and returns the ids of deliveries that are being sent, and of some that wait. On a connection of
 * its own, without the plans that are tested.
 */
export async function fillHistory(
  url: string,
  { organization, reporting, fanOut, reported }: Tenant,
): Promise<{ sendingIds: number[]; waitingIds: number[] }> {
  const { pool, close } = openDatabase({ url, name: 'fill', connections: 1 });
  for (const table of ['deliveries', 'occurrences'])
    await pool.query(`delete from ${table} where organization_id = $1`, [organization]);
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
    `insert into suppressions (organization_id, channel_type, target, reason, source)
     select $1, 'email', 'u' || i || '@x.test', 'bounced', 'import' from generate_series(1, ${size}) i`,
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
  await pool.query(
    `insert into deliveries (organization_id, occurrence_id, id, notification_id, version, channel_id, user_id, address,
       status, priority, provider, provider_message_id, due_at, sent_at)
     select $1, $2, 1000000 + i, 1, 1, 1, i, 'u' || i || '@x.test', 'sent', 2, 'twilio', 'SM' || i, now(), now()
     from generate_series(1, ${size}) i`,
    [reporting, reported],
  );
  await pool.query(
    `insert into feedback (organization_id, occurrence_id, delivery_id, key, id, source, type, permanent, address, at)
     select $1, $2, 1000000 + i, gen_random_uuid(), gen_random_uuid(), 'postmark', 'bounced', false,
       'u' || 1 + i / 5 || '@x.test', now() - make_interval(days => i % 5 * 2)
     from generate_series(0, ${size}) i`,
    [reporting, reported],
  );
  // The statements may have run in the hour before.
  await pool.query(
    `insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
     select $1, date_trunc('hour', now()) - make_interval(hours => i), 1, ${channel}, 'sent', 1 from generate_series(1, ${size}) i
     on conflict do nothing`,
    [organization],
  );
  await pool.query(
    `insert into channel_reputation (organization_id, channel_id, hour, bounced)
     select $1, ${channel}, date_trunc('hour', now()) - make_interval(hours => i), 1 from generate_series(1, ${size}) i
     on conflict do nothing`,
    [organization],
  );
  // A completed history, the fan-out being sent, one with further pages, and one of a dead worker.
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
    const text = 'select id from deliveries where organization_id = $1 and status = $2 order by id limit 2000';
    return (await pool.query<{ id: number }>(text, [organization, status])).rows.map(({ id }) => id);
  };
  const sendingIds = await idsOf('sending');
  const waitingIds = (await idsOf('pending')).slice(-5);
  // Sent webhook messages, and messages that wait for an inactive webhook.
  await pool.query(
    `insert into webhook_messages (organization_id, webhook_id, type, data, status)
     select $1, 1 + i % 2, 'delivery.sent', '{}', case when i % 2 = 1 then 'waiting' else 'sent' end
     from generate_series(1, ${size}) i`,
    [organization],
  );
  // Messages that Slack sent, first in the fan-out, and updates that were made long ago.
  await pool.query(
    `update deliveries set provider = 'slack', status = 'sent' where organization_id = $1 and occurrence_id = $2 and id in (
       select id from deliveries where organization_id = $1 and occurrence_id = $2 order by id limit 3)`,
    [organization, fanOut],
  );
  await pool.query(`update channels set providers = '[{"use":"slack"}]' where organization_id = $1`, [organization]);
  await pool.query(
    `insert into message_updates (organization_id, occurrence_id, delivery_id, change, changed_at, status)
     select $1, $2, i, 'resolved', now(), 'done' from generate_series(1, ${size}) i`,
    [organization, reported],
  );
  // As many digests of others, with one item each.
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
  // Approvals of long ago, and a few that are due; the table refers to no occurrence.
  await pool.query(
    `insert into holds (organization_id, occurrence_id, kind, event_id, state, threshold, expires_at)
     select $1, gen_random_uuid(), 'audience', 1, case i when 1 then 'counting' when 2 then 'held' when 3 then 'waiting' else 'approved' end, 1, now()
     from generate_series(1, ${size}) i`,
    [organization],
  );
  // Many members, of whom a few are to be mailed.
  await pool.query(
    `with added as (
       insert into accounts (email) select 'member' || i || '@plans' || $1::bigint || '.test' from generate_series(1, ${size}) i returning id
     ), joined as (
       insert into memberships (organization_id, account_id, role) select $1, id, 'admin' from added returning account_id
     )
     insert into guard_mails (organization_id, account_id, about, due_at)
     select $1, account_id, 'holds', case when row_number() over () < 4 then now() end from joined`,
    [organization],
  );
  // Alerts and payloads of a source from long ago, and a few payloads that were left behind.
  await pool.query(
    `insert into source_alerts (organization_id, source_id, key, id, occurrence_id, state, title)
     select $1, 1, 'old ' || i, gen_random_uuid(), $2, 'resolved', 'Old' from generate_series(1, ${size}) i
     on conflict do nothing`,
    [organization, fanOut],
  );
  await pool.query(
    `insert into source_payloads (organization_id, source_id, id, state, request, body, bytes, retry_at)
     select $1, 1, gen_random_uuid(), case when i < 4 then 'received' else 'taken' end, '{}', '', 0, now()
     from generate_series(1, ${size}) i`,
    [organization],
  );
  await pool.query(
    `insert into source_updates (organization_id, occurrence_id, source_id, key, state, changed_by, changed_at, status)
     select $1, gen_random_uuid(), 1, 'old ' || i, 'resolved', 'Ann', now() - interval '1 day', 'done' from generate_series(1, ${size}) i`,
    [organization],
  );
  // Silences of long ago, one of which was ended just now, and what they held.
  await pool.query(
    `with silences as (
       insert into silences (organization_id, id, matchers, reason, starts_at, ends_at, created_by, ended_by)
       select $1, gen_random_uuid(), '[]', 'maintenance', now(), case i when 1 then now() else now() - interval '1 day' end, 'ann',
         'ann'
       from generate_series(1, ${size}) i returning organization_id, id
     )
     insert into silenced_occurrences (organization_id, silence_id, occurrence_id, effect, until)
     select organization_id, id, gen_random_uuid(), 'held', now() from silences`,
    [organization],
  );
  // Heartbeats that are due tomorrow, and a few that are missing.
  await pool.query(
    `with made as (
       insert into heartbeats (organization_id, application_id, slug, name, every, timezone, grace, event, enabled, token_hash, secrets)
       select $1, 1, 'h' || i, 'H', '1h', 'UTC', '1m', 'e', true, '', '' from generate_series(1, ${size}) i returning id
     )
     insert into heartbeat_states (organization_id, heartbeat_id, status, expected_at, missing_at, due_at)
     select $1, id, 'up', at, at, at
     from made, lateral (select now() + case when id % 5000 = 1 then interval '-1 hour' else interval '1 day' end as at) due`,
    [organization],
  );
  // Statistics of two events over a long time. The statements above may have counted some in this hour.
  const past = `generate_series(1, 2) event, generate_series(0, ${size / 2 - 1}) i`;
  const hour = `date_trunc('hour', now()) - make_interval(hours => i)`;
  await pool.query(`insert into trigger_stats select $1, ${hour}, event, 0, 1 from ${past} on conflict do nothing`, [
    organization,
  ]);
  await pool.query(
    `insert into delivery_stats select $1, ${hour}, event, 1, 'failed', 1 from ${past} on conflict do nothing`,
    [organization],
  );
  await pool.query(
    `insert into event_day_stats select $1, now() - make_interval(days => i), event, 1, 1, 0, 0, 0, 0, 0 from ${past}
     on conflict do nothing`,
    [organization],
  );
  await close();
  return { sendingIds, waitingIds };
}

export function newOccurrence(): NewOccurrence {
  const ids = { organization_id: tested.organization, project_id: 1, application_id: 1, event_id: 1 };
  return { ...ids, id: uuidv7(Date.now()), priority: 1, context: {}, options: {}, created_at: dueAt };
}

export function trigger() {
  return encodeOccurrence(newOccurrence(), 100);
}

/** Locks, decides and stores due occurrences, as the engine does. */
export async function expandFirstPages(
  pool: pg.Pool,
  decide: (claimed: ClaimedOccurrence[], client: pg.PoolClient) => Promise<ExpansionPage[]>,
  max: number = claimRequest.max,
) {
  let claimed: ClaimedOccurrence[] = [];
  const pages = await inLedgerTransaction<StoredPages<NewDelivery>>(pool, async (client, { commit }) => {
    claimed = await lockAcceptedAcrossTenants(client, { ...claimRequest, priority: 1, max });
    return storeFirstPagesAcrossTenants(client, 1, await decide(claimed, client), commit);
  });
  return { claimed, ...pages };
}

export function pageOf({ organization_id, id, event_id, priority }: ClaimedOccurrence | NewOccurrence): ExpansionPage {
  return { organization_id, id, event_id, priority, cursor: null, reason: null, deliveries: [] };
}

export function runOf(number: number) {
  return {
    notification_id: 1,
    number,
    step: number,
    priority: 1,
    due_at: number === 1 ? dueAt : new Date(9e12),
    began_at: dueAt,
    base: 0,
  };
}

export function toUser(user_id: number): NewDelivery {
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

export function outcomes(ids: number[]): Settlement[] {
  return ids.map(id => ({
    organization_id: tested.organization,
    occurrence_id: tested.fanOut,
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
    snapshot_id: null,
    user_version: null,
    digest_id: null,
    attempt: { began_at: new Date(), ms: 5 },
    event_id: 1,
    since: new Date(),
  }));
}

/** Returns the number of rows and index entries of all tables read so far, on the only connection. */
export async function countRead(pool: pg.Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ count: number }>(
    `select (select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables)
       + (select sum(idx_tup_read) from pg_stat_user_indexes) as count`,
  );
  return Number(rows[0]!.count);
}
