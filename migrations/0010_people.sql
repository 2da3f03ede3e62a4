-- What people look at: searching for users, counts of lists, histories, statistics. All of it is kept, nothing counted.

-- Search by what names and emails begin with: folded by the program as it folds usernames, compared byte by byte. Measured
-- with 1,000,000 users: see src/db/user-search.ts.
-- The trigger looks at the column whose collation changes; it comes back as it was.
drop trigger keep_user on users;
alter table users
  alter column username type text collate "C",
  add column first_key text collate "C" not null default '',
  add column last_key text collate "C" not null default '';
create trigger keep_user before update on users for each row
  when ((old.username, old.email, old.first_name, old.last_name, old.locked, old.locale, old.custom_fields)
    is distinct from (new.username, new.email, new.first_name, new.last_name, new.locked, new.locale, new.custom_fields))
  execute function keep_user();
-- As JavaScript folds, where this PostgreSQL knows Unicode; else as well as it can, until the name is written again.
do $$
begin
  if exists (select from pg_collation where collname = 'und-x-icu' and getdatabaseencoding() = 'UTF8') then
    update users set first_key = lower(btrim(first_name) collate "und-x-icu"),
      last_key = lower(btrim(last_name) collate "und-x-icu") where first_name <> '' or last_name <> '';
  else
    update users set first_key = lower(btrim(first_name)), last_key = lower(btrim(last_name))
      where first_name <> '' or last_name <> '';
  end if;
end $$;
create index users_by_first_name on users (organization_id, first_key, last_key, id);
create index users_by_last_name on users (organization_id, last_key, first_key, id);

-- Who has this phone number or the like; an email is found as a username.
create index addresses_by_value on addresses (organization_id, value) where name <> 'email';
create index addresses_disabled on addresses (organization_id) where disabled_at is not null;

-- Histories. Every index is paid for by each delivery, at its insertion and at each change of its status. Measured with
-- 100,000 deliveries to users who had some before, inserted, claimed and settled: 3.9 s without the first of these, 4.3 s
-- with it as it is (nothing before the settlement; equal keys are stored once), and 8.0 s as (organization_id, user_id,
-- occurrence_id) without a condition, of seven times the size. The two others hold nothing of what goes well.
create index deliveries_by_user on deliveries (user_id)
  where status in ('sent', 'failed', 'suppressed', 'cancelled', 'expired', 'unknown');
create index deliveries_failed on deliveries (organization_id, occurrence_id, id) where status in ('failed', 'unknown');
create index deliveries_sandboxed on deliveries (organization_id, occurrence_id, id) where provider = 'sandbox';

alter table distribution_lists
  add column members integer not null default 0,
  add column active_members integer not null default 0;
update distribution_lists l set members = counted.members, active_members = counted.active
from (
  select organization_id, list_id, count(*) as members, count(*) filter (where active) as active
  from members group by 1, 2
) counted
where counted.organization_id = l.organization_id and counted.list_id = l.id;

-- Once for each statement, whatever its size. Lists are locked in the order of their ids, so that two statements never
-- wait crosswise. While a whole organization is being deleted nothing is kept up: a list would be rewritten once for each
-- of its members.
create function count_members() returns trigger language plpgsql as $$
declare
  change record;
begin
  for change in execute case tg_op
    when 'INSERT' then 'select organization_id, list_id, count(*) as members, count(*) filter (where active) as active
      from added group by 1, 2 order by 1, 2'
    when 'DELETE' then 'select organization_id, list_id, -count(*) as members, -count(*) filter (where active) as active
      from removed group by 1, 2 order by 1, 2'
    else 'select organization_id, list_id, sum(n) as members, sum(n) filter (where active) as active
      from (select organization_id, list_id, active, 1 as n from added
        union all select organization_id, list_id, active, -1 from removed) both_of_them
      group by 1, 2 order by 1, 2'
  end loop
    update distribution_lists set members = members + change.members,
      active_members = active_members + coalesce(change.active, 0)
    where organization_id = change.organization_id and id = change.list_id
      and exists (select from organizations where organizations.id = change.organization_id);
  end loop;
  return null;
end $$;
create trigger count_added after insert on members
  referencing new table as added for each statement execute function count_members();
create trigger count_removed after delete on members
  referencing old table as removed for each statement execute function count_members();
create trigger count_changed after update on members
  referencing old table as removed new table as added for each statement execute function count_members();

-- Triggers by the hour of their acceptance. Processes that store triggers of the same event would wait for each other's
-- commit at one row: each has a part of its own. Without a foreign key: a trigger in the moment of its organization's
-- deletion must not fail those that are stored with it.
create table trigger_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  event_id bigint not null,
  part smallint not null,
  count bigint not null,
  primary key (organization_id, hour, event_id, part)
);

-- How long messages took from being due to being sent; the bounds of the buckets are in src/core/latency.ts.
create table latency_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  bucket smallint not null,
  count bigint not null,
  primary key (organization_id, hour, bucket)
);

-- A key that is narrowed, widened or given another secret is news too.
drop trigger announce_change on keys;
create trigger announce_change
  after insert or delete or update of name, secret_hash, project_id, application_id, permissions, requests_per_second,
    expires_at, revoked_at
  on keys for each row execute function announce_change();
