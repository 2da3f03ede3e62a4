/** Writes rows as everyday triggers leave them, directly into the monthly tables. */
import { createPartitions } from '../src/db/connection/partitions.ts';
import { openDatabase } from '../src/db/connection/pool.ts';
import { type Stage, until } from './stage.ts';
import { triggerBody } from './triggers.ts';

/** Number of users to name in rotation: `people1@x.test` and so on. */
export const people = 1_000;
const dayMs = 86_400_000;

/** Inserts occurrences as the API leaves them: event `named`, one recipient each, due now. */
export async function fillAccepted({ sql }: Stage, size: number): Promise<void> {
  await sql.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, context, options, due_at, created_at)
     select p.organization_id, uuidv7(), p.project_id, p.application_id, p.event_id, $2::jsonb,
       jsonb_build_object('recipients', jsonb_build_array('people' || 1 + n % $3 || '@x.test')), t.at, t.at
     from (${eventRow}) p, generate_series(1, $1::int) n, lateral (select clock_timestamp() where n > 0) t (at)`,
    [size, context, people],
  );
}

/**
 * Inserts completed occurrences with their deliveries, half of them in the last month and half in this one until a minute ago. The
 * tables of both months must exist.
 */
export async function fillCompleted({ sql }: Stage, occurrences: number, deliveries: number): Promise<void> {
  await sql.query(
    `create unlogged table bench_history as
     select n, uuidv7(t.at - clock_timestamp()) as id, t.at,
       floor(n * $2::float)::int - floor((n - 1) * $2::float)::int as size
     from generate_series(1, $1::int) n,
       date_trunc('month', now()) as month,
       lateral (select case when n <= $1::int / 2
         then month - interval '1 month' + (n - 1) * (interval '1 month' * 2 / $1::int)
         else month + (n - $1::int / 2 - 1) * ((now() - interval '1 minute' - month) * 2 / $1::int) end) t (at)`,
    [occurrences, deliveries / occurrences],
  );
  await sql.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options,
       due_at, created_at, completed_at, deliveries, sent, failed)
     select p.organization_id, h.id, p.project_id, p.application_id, p.event_id, 'completed', $1::jsonb,
       jsonb_build_object('recipients', jsonb_build_array('people' || 1 + n % $2 || '@x.test')),
       h.at, h.at, h.at + interval '20 ms', h.size, h.size - (h.n % 100 = 0)::int, (h.n % 100 = 0)::int
     from (${eventRow}) p, bench_history h`,
    [context, people],
  );
  await sql.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address,
       status, reason, detail, priority, attempts, provider, provider_message_id, due_at, created_at, sent_at, user_version)
     select p.organization_id, h.id, p.notification_id, 1, p.channel_id, u.id, u.email,
       case when f.failed then 'failed' else 'sent' end, case when f.failed then 'provider.failed' end,
       case when f.failed then '550 5.1.1 there is no such mailbox' end, 1, 1, 'sandbox',
       case when not f.failed then 'bench-' || h.n || '-' || k end, h.at, h.at,
       case when not f.failed then h.at + interval '20 ms' end, 1
     from (${eventRow}) p
     cross join bench_history h
     cross join generate_series(1, h.size) k
     cross join lateral (select h.n % 100 = 0 and k = 1) f (failed)
     join users u on u.organization_id = p.organization_id and u.username = 'people' || 1 + (h.n + k) % $1 || '@x.test'`,
    [people],
  );
  await sql.query('drop table bench_history');
}

/** Creates the tables of this month and the previous one. */
export async function createMonths({ url }: Stage): Promise<void> {
  const { db, close } = openDatabase({ url, name: 'bench', connections: 1 });
  const today = new Date();
  await createPartitions(db, Date.UTC(today.getUTCFullYear(), today.getUTCMonth()) - dayMs);
  await close();
}

/** Waits until autovacuum has processed all filled tables and is done. */
export async function waitForAutovacuum({ sql }: Stage): Promise<void> {
  await until(
    'autovacuum',
    async () => {
      const { rows } = await sql.query<{ open: boolean }>(
        `select exists (
             select from pg_stat_user_tables
             where relname ~ '^(occurrences|deliveries)_' and n_ins_since_vacuum > 10000
               and (last_autoanalyze is null or last_autovacuum is null or n_mod_since_analyze > 0.05 * n_live_tup)
           ) or exists (select from pg_stat_activity where backend_type = 'autovacuum worker') as open`,
      );
      return !rows[0]!.open;
    },
    600_000,
    1_000,
  );
}

const { context } = JSON.parse(triggerBody({})) as { context: object };

const eventRow = `
  select e.organization_id, a.project_id, e.application_id, e.id as event_id, n.id as notification_id, c.id as channel_id
  from organizations o
  join events e on e.organization_id = o.id and e.slug = 'named'
  join applications a on a.organization_id = e.organization_id and a.id = e.application_id
  join notifications n on n.organization_id = e.organization_id and n.event_id = e.id
  join channels c on c.organization_id = o.id and c.slug = 'sandbox'
  where o.slug = 'bench'`;
