/**
 * Fills a database with years of data, written directly into the tables: several organizations, of which `bench` has the largest
 * part. The data is the same in every run, except for timestamps. Counts and statistics, which the service maintains itself, are
 * derived from the rows so that they match.
 */
import type pg from 'pg';
import { latencyBucketText } from '../src/core/history/latency.ts';

export interface Sizes {
  users: number;
  occurrences: number;
  deliveries: number;
  events: number;
  audit: number;
  /** Members of the longest list, and deliveries of the largest occurrence. */
  largest: number;
}

export const fullSizes: Sizes = {
  users: 1_000_000,
  occurrences: 50_000,
  deliveries: 5_000_000,
  events: 10_000,
  audit: 200_000,
  largest: 500_000,
};
/** The share of all data that belongs to the organization `bench`. */
const share = 0.85;
const days = 75;
const projects = 16;
const applications = 5;
const neighbors = 4;

export function scaled(by: number): Sizes {
  return Object.fromEntries(
    Object.entries(fullSizes).map(([name, size]) => [name, Math.ceil(size * by)]),
  ) as unknown as Sizes;
}

/** Expects the organization `bench` with its channels `mail` and `sandbox` and the event `shop/web/welcome`. */
export async function fillDatabase(sql: pg.Client, sizes: Sizes, log: (text: string) => void): Promise<void> {
  const steps: [string, () => Promise<unknown>][] = [
    ['configuration', () => fillConfiguration(sql, sizes)],
    [`${sizes.users} users`, () => fillUsers(sql, sizes)],
    ['lists', () => fillLists(sql, sizes)],
    [`${sizes.deliveries} deliveries of ${sizes.occurrences} occurrences`, () => fillHistory(sql, sizes)],
    ['statistics', () => fillStatistics(sql)],
    [`${sizes.audit} audit entries`, () => fillAudit(sql, sizes)],
    ['vacuum', () => sql.query('vacuum analyze')],
  ];
  await sql.query(`select setseed(0.5)`);
  await sql.query(`set work_mem = '256MB'`);
  // Without triggers, lists are not counted and changes not announced row by row.
  await switchTriggers(sql, 'disable');
  for (const [label, fill] of steps) {
    const began = performance.now();
    // Foreign keys are checked with cached plans: one made for an empty table would scan the fullSizes table for each row.
    await sql.query('discard plans');
    await fill();
    log(`${label}: ${Math.round((performance.now() - began) / 1_000)} s`);
  }
  await switchTriggers(sql, 'enable');
  await sql.query('reset work_mem');
}

async function switchTriggers(sql: pg.Client, to: 'enable' | 'disable'): Promise<void> {
  await sql.query(
    `do $$ declare name text; begin
       for name in select distinct tgrelid::regclass::text from pg_trigger where not tgisinternal loop
         execute format('alter table %s ${to} trigger user', name);
       end loop;
     end $$`,
  );
}

export async function fillConfiguration(sql: pg.Client, { events }: Pick<Sizes, 'events'>): Promise<void> {
  await sql.query(
    `insert into organizations (slug, name) select 'neighbour-' || i, 'Neighbour ' || i from generate_series(1, $1::int) i`,
    [neighbors],
  );
  await sql.query(
    `insert into projects (organization_id, slug, name)
     select o.id, 'project-' || i, 'Project ' || i from organizations o,
       generate_series(1, case when o.slug = 'bench' then $1::int - 1 else 1 end) i`,
    [projects],
  );
  await sql.query(
    `insert into applications (organization_id, project_id, slug, name)
     select organization_id, id, 'app-' || i, 'Application ' || i from projects, generate_series(1, $1::int) i`,
    [applications],
  );
  await sql.query(
    `insert into channels (organization_id, project_id, slug, name, type, providers)
     select p.organization_id, p.id, 'own-' || i, 'Own ' || i, c.type, c.providers
     from projects p, generate_series(1, 3) i, channels c where c.slug = 'sandbox'`,
  );
  await sql.query(
    `insert into events (organization_id, application_id, slug, name)
     select organization_id, id, 'event-' || i, 'Event ' || i
     from applications, generate_series(1, $1::int / (select count(*) from applications)::int) i`,
    [events],
  );
  await sql.query(
    `insert into notifications (organization_id, event_id, name, recipients, channels)
     select e.organization_id, e.id, 'notify', '{"trigger": true}', '{mail}' from events e
     where not exists (select from notifications n where n.organization_id = e.organization_id and n.event_id = e.id)`,
  );
  // Copies the existing message to all notifications; the original gets a hundred versions.
  await sql.query(
    `insert into messages (organization_id, notification_id, version, content)
     select n.organization_id, n.id, i, m.content
     from (select notification_id, content from messages limit 1) m, notifications n,
       generate_series(case when n.id = m.notification_id then 2 else 1 end,
         case when n.id = m.notification_id then 100 else 1 end) i`,
  );
  await sql.query(
    `insert into layouts (organization_id, project_id, name, name_key, body)
     select organization_id, id, 'Layout ' || i, 'layout ' || i, repeat('<p>{{ content }}</p>', 500)
     from projects, generate_series(1, 5) i
     union all
     select id, null, 'Layout ' || i, 'layout ' || i, repeat('<p>{{ content }}</p>', 500)
     from organizations, generate_series(1, 20) i`,
  );
  await sql.query(
    `insert into layout_versions (organization_id, layout_id, version, body)
     select organization_id, id, i, body from layouts, generate_series(1, 3) i`,
  );
  await sql.query(
    `insert into keys (organization_id, id, name, secret_hash, permissions)
     select id, 'bench' || id || 'x' || i, 'Key ' || i, sha256(i::text::bytea), '{event:trigger}'
     from organizations, generate_series(1, 50) i`,
  );
  await sql.query(
    `with made as (
       insert into accounts (email, name) select 'colleague' || i || '@x.test', 'Colleague ' || i
       from generate_series(1, 200) i returning id
     )
     insert into memberships (organization_id, account_id, role) select o.id, made.id, 'viewer' from organizations o, made`,
  );
  await sql.query(
    `insert into invites (organization_id, token_hash, email, role, invited_by, expires_at)
     select id, sha256((id || ' ' || i)::bytea), 'guest' || i || '@x.test', 'viewer', 'bench', now() + interval '7 days'
     from organizations, generate_series(1, 20) i`,
  );
  await sql.query('analyze');
}

const firstNames =
  'Ann Anna Annika Ben Bea Carl Clara David Dora Emil Emma Finn Frida Georg Greta Hans Hanna Ida Ivan Jane John Karl Kim Lena Leo Mara Max Nina Noah Olga Otto Paul Pia Quinn Rosa Rolf Sara Sven Tina Tom Ute Uwe Vera Viktor Wilma Xaver Yara Zoe';
const syllables = 'ba ber dor el fel gar hol in jan kel lo mar nor o pel ra sen tor ul ver wal zim';

/** First names are unevenly distributed: about every eighth is Ann. There are many last names, one of them rare. */
async function fillUsers(sql: pg.Client, { users }: Sizes): Promise<void> {
  await sql.query(
    `insert into users (organization_id, username, email, first_name, last_name, first_key, last_key, custom_fields)
     select organization_id, email, email, first_name, last_name, lower(first_name), lower(last_name),
       jsonb_build_object('tier', (array['gold', 'silver', 'bronze'])[1 + n % 3])
     from (
       select organization_id, n, first_name, last_name,
         lower(first_name || '.' || last_name) || n || '@' || (array['x', 'y', 'z'])[1 + n % 3] || '.test' as email
       from (
         select n, o.id as organization_id,
           first[1 + floor(power(random(), 2.5) * cardinality(first))::int] as first_name,
           case when n % 100000 = 7 then 'Quixote' else initcap(part[1 + floor(random() * cardinality(part))::int]
             || part[1 + floor(random() * cardinality(part))::int]
             || part[1 + floor(random() * cardinality(part))::int]) end as last_name
         from generate_series(1, $1::int) n
         join organizations o on o.slug = case when n <= $1::int * ${share}::float then 'bench'
           else 'neighbour-' || (1 + n % ${neighbors}) end,
         string_to_array($2, ' ') first, string_to_array($3, ' ') part
         order by o.id, n
       ) named
     ) emails`,
    [users, firstNames, syllables],
  );
  await sql.query(
    `insert into addresses (organization_id, user_id, name, value, disabled_at, disabled_reason)
     select organization_id, id, 'email', email, case when id % 1000 = 0 then now() end,
       case when id % 1000 = 0 then 'provider.failed' end
     from users
     union all
     select organization_id, id, 'phone', '+1555' || lpad(id::text, 7, '0'), null, null from users where id % 5 = 0`,
  );
  await sql.query('analyze users, addresses');
}

/** Creates one list with `largest` members, one with a fifth of that, and some small ones in each project; a few members are inactive. */
async function fillLists(sql: pg.Client, { largest }: Sizes): Promise<void> {
  await sql.query(
    `insert into distribution_lists (organization_id, project_id, name, name_key)
     select organization_id, id, 'List ' || i, 'list ' || i from projects, generate_series(1, 60) i`,
  );
  await sql.query(
    `insert into members (organization_id, list_id, address_id, active)
     select l.organization_id, l.id, a.id, a.id % 50 <> 0
     from (
       select l.*, o.slug as organization, row_number() over (partition by l.organization_id order by l.id) as n
       from distribution_lists l join organizations o on o.id = l.organization_id
     ) l
     cross join lateral (
       select a.id from addresses a where a.organization_id = l.organization_id and a.name = 'email'
       limit case when l.organization = 'bench' and l.n = 1 then $1::int when l.organization = 'bench' and l.n = 2
         then $1::int / 5 else $1::int / 2500 end
     ) a`,
    [largest],
  );
  await sql.query(
    `update distribution_lists l set members = c.members, active_members = c.active
     from (select list_id, count(*) as members, count(*) filter (where active) as active from members group by 1) c
     where c.list_id = l.id`,
  );
}

/**
 * Plans the occurrences first. The largest one is a day old. One user gets every second of the small ones and so has a long
 * history; another one did until two months ago.
 */
async function fillHistory(sql: pg.Client, { occurrences, deliveries, largest }: Sizes): Promise<void> {
  // The largest, the second largest, and then each time ten times as many of a tenth of the size.
  const large = largest * (1.5 + occurrences * (0.1 / 5000 + 0.01 / 500 + 0.001 / 50));
  const small = (2 * (deliveries - large)) / occurrences;
  await sql.query(
    `create unlogged table bench_occurrences as
     select o.id as organization_id, at, n,
       (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
         || substr(md5(n::text), 4, 15))::uuid as id,
       greatest(1, case
         when n = $1::int - $1::int / ${days} then $2::int
         when n = $1::int / 2 then $2::int / 2
         when n % 5000 = 77 then $2::int / 10
         when n % 500 = 7 then $2::int / 100
         when n % 50 = 3 then $2::int / 1000
         else ceil(random() * $3::float) end::int) as size,
       random() as chance, random() as sandbox
     from generate_series(1, $1::int) n, lateral (select now() - ($1::int - n + 1) * interval '1 day' * ${days} / $1::int) t (at)
     join organizations o on true
     where o.slug = case when n % 100 < ${share * 100} or n = $1::int - $1::int / ${days} or n = $1::int / 2 then 'bench'
       else 'neighbour-' || (1 + n % ${neighbors}) end`,
    [occurrences, largest, small],
  );
  // Assigns an event, some much more often than others, and a channel of the organization or project.
  await sql.query(
    `create unlogged table bench_planned as
     with candidates as (
       select e.organization_id, e.id as event_id, e.application_id, a.project_id, n.id as notification_id,
         row_number() over (partition by e.organization_id order by e.id) as n,
         count(*) over (partition by e.organization_id) as events
       from events e
       join applications a on a.organization_id = e.organization_id and a.id = e.application_id
       join notifications n on n.organization_id = e.organization_id and n.event_id = e.id
     )
     select b.*, k.event_id, k.application_id, k.project_id, k.notification_id, c.id as channel_id, c.slug as channel,
       u.first_user, u.users, 1 + floor(random() * u.users)::int as from_user
     from bench_occurrences b
     join (select organization_id, min(id) as first_user, count(*)::int as users from users group by 1) u
       on u.organization_id = b.organization_id
     join candidates k on k.organization_id = b.organization_id
       and k.n = 1 + floor(power(b.chance, 3) * (select max(events) from candidates x where x.organization_id = b.organization_id))
     join lateral (
       select id, slug from channels c where c.organization_id = b.organization_id
         and (c.project_id is null or c.project_id = k.project_id)
         and (b.size > 1000 or b.sandbox > 0.3 or c.slug = 'sandbox' or c.slug like 'own%')
       order by (c.slug = 'mail') desc, md5(c.id::text || b.n) limit 1
     ) c on true`,
  );
  await sql.query('analyze bench_planned');
  await sql.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address,
       status, reason, detail, priority, attempts, provider, due_at, created_at, sent_at)
     select d.organization_id, d.id, d.notification_id, 1, d.channel_id, u.id, u.email, d.status,
       case d.status when 'failed' then 'provider.failed' when 'unknown' then 'unknown' when 'suppressed' then 'user.locked' end,
       case d.status when 'failed' then '550 5.1.1 there is no such mailbox' end,
       case when d.size > 1000 then 2 else 1 end, case d.status when 'suppressed' then 0 when 'retrying' then 3 else 1 end,
       case when d.status = 'suppressed' then null when d.channel = 'sandbox' then 'sandbox' else 'smtp' end,
       case d.status when 'retrying' then now() + interval '1 day' else d.at end, d.at,
       case d.status when 'sent' then d.at + (1 + d.k % 100) * interval '20 ms' end
     from (
       select p.*, k, case
           when p.n > $1::int - $1::int / 1000 and k % 3 = 0 then 'retrying'
           when (p.n + k) % 100 = 0 then 'failed' when (p.n + k) % 1000 = 1 then 'unknown'
           when (p.n + k) % 70 = 2 then 'suppressed' else 'sent' end as status
       from bench_planned p, generate_series(1, p.size) k
     ) d
     join users u on u.organization_id = d.organization_id and u.id = d.first_user
       + case when d.k = 1 and d.size < 1000 and d.n % 2 = 0 then 0
         when d.k = 1 and d.size < 1000 and d.n < $1::int / 4 then 1 else 2 + (d.from_user + d.k) % (d.users - 2) end`,
    [occurrences],
  );
  await sql.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, priority, context, options,
       correlation_id, due_at, created_at, completed_at, deliveries, sent, failed, suppressed, unknown)
     select p.organization_id, p.id, p.project_id, p.application_id, p.event_id,
       case when c.open > 0 then 'sending' else 'completed' end, case when p.size > 1000 then 2 else 1 end,
       jsonb_build_object('order', 'A-' || p.n, 'amount', p.n % 1000, 'text', repeat('Lorem ipsum dolor sit amet. ', 10)),
       '{}', case when p.n % 10 = 0 then 'order-' || p.n end, p.at, p.at,
       case when c.open = 0 then p.at + interval '3 s' end, c.deliveries, c.sent, c.failed, c.suppressed, c.unknown
     from bench_planned p
     join (
       select occurrence_id, count(*) as deliveries, count(*) filter (where status = 'retrying') as open,
         count(*) filter (where status = 'sent') as sent, count(*) filter (where status = 'failed') as failed,
         count(*) filter (where status = 'suppressed') as suppressed, count(*) filter (where status = 'unknown') as unknown
       from deliveries group by 1
     ) c on c.occurrence_id = p.id`,
  );
  // Some occurrences are scheduled for the future.
  await sql.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, context, options, due_at, created_at)
     select organization_id, overlay(id::text placing 'b' from 20 for 1)::uuid, project_id, application_id, event_id,
       '{"order": "B-1"}', '{"delay": "30d"}', at + interval '100 days', at
     from bench_planned where n % 500 = 1`,
  );
  await sql.query('drop table bench_occurrences, bench_planned');
}

async function fillStatistics(sql: pg.Client): Promise<void> {
  await sql.query(
    `insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
     select d.organization_id, date_trunc('hour', d.created_at), o.event_id, d.channel_id, d.status, count(*)
     from deliveries d join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
     where d.status <> 'retrying' group by 1, 2, 3, 4, 5`,
  );
  await sql.query(
    `insert into trigger_stats (organization_id, hour, event_id, part, count)
     select organization_id, date_trunc('hour', created_at), event_id, 0, count(*) from occurrences group by 1, 2, 3`,
  );
  await sql.query(
    `insert into latency_stats (organization_id, hour, bucket, count)
     select organization_id, date_trunc('hour', created_at),
       ${latencyBucketText('extract(epoch from sent_at - created_at)::float8 * 1000')}, count(*)
     from deliveries where status = 'sent' group by 1, 2, 3`,
  );
}

/** Inserts entries over 300 days; one of the actors has few entries, from long ago. */
async function fillAudit(sql: pg.Client, { audit }: Sizes): Promise<void> {
  await sql.query(
    `insert into audit (organization_id, at, actor_kind, actor_id, actor_name, action, noun, path, before, after, origin)
     select o.id, now() - ($1::int - n) * interval '1 day' * 300 / $1::int, 'account', '1',
       case when n in (5, 50, 500) then 'rare@x.test' else 'colleague' || n % 20 || '@x.test' end,
       (array['create', 'update', 'update', 'delete'])[1 + n % 4],
       case when n % 20000 = 3 then 'layout' else (array['user', 'list', 'member', 'event', 'notification', 'channel', 'key'])[1 + n % 7] end,
       'project-' || n % 15 || '/app-' || n % 5 || '/event-' || n % 100, jsonb_build_object('name', 'Before ' || n),
       jsonb_build_object('name', 'After ' || n), '192.0.2.1'
     from generate_series(1, $1::int) n
     join organizations o on o.slug = case when n % 100 < ${share * 100} then 'bench' else 'neighbour-' || (1 + n % ${neighbors}) end
     order by n`,
    [audit],
  );
}
