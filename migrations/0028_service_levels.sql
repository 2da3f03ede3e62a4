-- Targets of the service levels: {"taken_in": "99.9%", "first_page": {"within": "10s", "share": "99%"}}. Null: the defaults.
alter table organizations add column service_levels jsonb;

-- When a provider accepted the first message of an urgent occurrence, or when the occurrence ended without one: then it was counted.
alter table occurrences add column first_page_at timestamptz;

-- How well Belfry itself does, per day in UTC. Counted as it happens, so that no one has to read the history.
create table service_levels (
  organization_id bigint not null,
  day timestamptz not null,
  -- Calls of senders that were stored, that failed for a reason of Belfry's own, and that were refused for their content.
  taken bigint not null default 0,
  failed bigint not null default 0,
  refused bigint not null default 0,
  -- Urgent occurrences whose first message was accepted by a provider in time, and those where it was late or there was none.
  pages_in_time bigint not null default 0,
  pages_late bigint not null default 0,
  primary key (organization_id, day)
);

-- It is in time if it was accepted soon enough after it was due. The first step may begin later than the occurrence was due, and deliveries
-- may have been released from a wait. Rehearsals of a watch are no pages.
create function count_first_page() returns trigger language plpgsql as $$
declare
  is_in_time boolean := new.sent + new.unknown > 0 and new.first_page_at
    - greatest(new.due_at, (
        select max(released_at) from deliveries
        where organization_id = new.organization_id and occurrence_id = new.id and status in ('sent', 'unknown')), (
        select min(due_at) from steps
        where organization_id = new.organization_id and occurrence_id = new.id and number = 1))
    <= coalesce((
        select service_levels #>> '{first_page,within}' from organizations where id = new.organization_id), '10s')::interval;
begin
  if exists (
    select from watches w join events e on e.organization_id = w.organization_id and e.id = new.event_id
    where w.organization_id = new.organization_id and w.application_id = new.application_id and w.event = e.slug)
  then
    return null;
  end if;
  insert into service_levels as l (organization_id, day, pages_in_time, pages_late)
  values (new.organization_id, date_trunc('day', now(), 'UTC'), is_in_time::integer, (not is_in_time)::integer)
  on conflict (organization_id, day) do update set
    pages_in_time = l.pages_in_time + excluded.pages_in_time, pages_late = l.pages_late + excluded.pages_late;
  return null;
end $$;
-- The time of the statement: an occurrence that is copied from another cell was counted there.
create trigger count_first_page after update on occurrences for each row
  when (old.first_page_at is null and new.first_page_at = statement_timestamp()) execute function count_first_page();

-- The last counts that each process has added to service_levels: adding them again does nothing.
create table service_level_writers (
  id uuid primary key,
  batch bigint not null,
  written_at timestamptz not null
);

-- Rehearsals of an event. An outside URL is called only after one went through the whole engine in time.
create table watches (
  organization_id bigint not null,
  id bigint generated always as identity,
  application_id bigint not null,
  slug text not null,
  -- Slug of the event that is rehearsed.
  event text not null,
  every text not null,
  enabled boolean not null,
  -- The encrypted URL; null: there is none.
  secrets bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, application_id, slug),
  foreign key (organization_id, application_id) references applications on delete cascade
);

-- What became of the rehearsals. The row is created with the watch, and changes with each rehearsal.
create table watch_states (
  organization_id bigint not null,
  watch_id bigint not null,
  -- The rehearsal that is under way, and when it began; null: the next one begins when it is due.
  occurrence_id uuid,
  began_at timestamptz,
  -- When the last rehearsal was delivered in time, and when the URL last answered with success.
  delivered_at timestamptz,
  pinged_at timestamptz,
  -- Since when rehearsals or calls have failed, and why; null: the last one succeeded.
  failing_since timestamptz,
  error text,
  -- A claim moves it into the near future. Null: the watch is switched off.
  due_at timestamptz,
  primary key (organization_id, watch_id),
  foreign key (organization_id, watch_id) references watches (organization_id, id) on delete cascade
) with (fillfactor = 70);
create index watch_states_due on watch_states (due_at) where due_at is not null;
comment on index watch_states_due is 'watches that are due';

create function plan_watch() returns trigger language plpgsql as $$
begin
  insert into watch_states (organization_id, watch_id, due_at)
  values (new.organization_id, new.id, case when new.enabled then now() end)
  on conflict (organization_id, watch_id) do update set due_at = excluded.due_at, occurrence_id = null, began_at = null;
  return null;
end $$;
create trigger plan_watch after insert or update of event, every, enabled on watches for each row execute function plan_watch();
