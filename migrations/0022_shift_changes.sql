-- The event that is triggered when someone else is or will be on call: application/event. Null: none.
alter table schedules add column on_change text;

-- What was last seen of schedules with such an event. Others have no row, so that their number costs nothing.
create table schedule_watches (
  organization_id bigint not null,
  schedule_id bigint not null,
  -- Shifts of the days ahead, [{ "from", "until", "users" }], the first with the users who are on call. Null: not seen yet.
  shifts jsonb,
  -- Why the event could not be triggered; null: it could.
  error text,
  -- When a process has to look: when the users on call change, after any change of the schedule, and once a day.
  due_at timestamptz not null default now(),
  primary key (organization_id, schedule_id),
  foreign key (organization_id, schedule_id) references schedules on delete cascade
) with (fillfactor = 70);
create index schedule_watches_due on schedule_watches (due_at);
comment on index schedule_watches_due is 'schedules to look at';

-- What is to be announced: triggers of the event of a schedule.
create table schedule_notices (
  organization_id bigint not null,
  -- The id that the occurrence gets, so that a repeated trigger does nothing.
  id uuid not null,
  schedule_id bigint not null,
  context jsonb not null,
  -- Usernames.
  recipients text[] not null,
  created_at timestamptz not null default now(),
  -- A claim moves it into the near future.
  due_at timestamptz not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, schedule_id) references schedules on delete cascade
);
create index schedule_notices_due on schedule_notices (due_at);
comment on index schedule_notices_due is 'what is to be announced';
create index schedule_notices_by_schedule on schedule_notices (organization_id, schedule_id);
comment on index schedule_notices_by_schedule is 'deletion of a schedule';

create function watch_schedule() returns trigger language plpgsql as $$
begin
  if new.on_change is null then
    delete from schedule_watches where organization_id = new.organization_id and schedule_id = new.id;
  else
    insert into schedule_watches (organization_id, schedule_id) values (new.organization_id, new.id)
    on conflict (organization_id, schedule_id) do update set due_at = now(), error = null;
  end if;
  return null;
end $$;
create trigger watch_added after insert on schedules
  for each row when (new.on_change is not null) execute function watch_schedule();
create trigger watch_changed after update on schedules
  for each row when (new.on_change is not null or old.on_change is not null) execute function watch_schedule();

-- Also when overrides are deleted with their user.
create function watch_override() returns trigger language plpgsql as $$
begin
  update schedule_watches set due_at = now()
  where organization_id = coalesce(new.organization_id, old.organization_id)
    and schedule_id = coalesce(new.schedule_id, old.schedule_id);
  return null;
end $$;
create trigger watch_override after insert or update or delete on schedule_overrides
  for each row execute function watch_override();

-- Processes wait for what is due; whatever made it due tells them.
create function announce_shifts() returns trigger language plpgsql as $$
begin
  perform pg_notify('belfry_shifts', '');
  return null;
end $$;
create trigger announce_shifts after insert or update of due_at on schedule_watches
  for each row when (new.due_at <= now()) execute function announce_shifts();
create trigger announce_shifts after insert or update of due_at on schedule_notices
  for each row when (new.due_at <= now()) execute function announce_shifts();

-- Users ask others to take a shift. The first who accepts gets it, by an override.
create table schedule_swaps (
  organization_id bigint not null,
  id bigint generated always as identity,
  schedule_id bigint not null,
  -- Who asks.
  user_id bigint not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  message text,
  -- An open one has expired when its shift begins.
  state text not null default 'open' check (state in ('open', 'accepted', 'withdrawn')),
  accepted_by_id bigint,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (organization_id, id),
  foreign key (organization_id, schedule_id) references schedules on delete cascade,
  foreign key (organization_id, user_id) references users on delete cascade,
  foreign key (organization_id, accepted_by_id) references users on delete cascade
);
create index schedule_swaps_by_schedule on schedule_swaps (organization_id, schedule_id, id);
comment on index schedule_swaps_by_schedule is 'swaps of a schedule';
create index schedule_swaps_by_user on schedule_swaps (organization_id, user_id);
comment on index schedule_swaps_by_user is 'deletion of a user';
create index schedule_swaps_by_accepting on schedule_swaps (organization_id, accepted_by_id) where accepted_by_id is not null;
comment on index schedule_swaps_by_accepting is 'deletion of a user';
create index schedule_swaps_old on schedule_swaps (ends_at);
comment on index schedule_swaps_old is 'deletion of old ones';
