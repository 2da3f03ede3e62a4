-- Groups in chats whose members are the users on call: [{ "channel": "team", "group": "S0123ABCD" }]. Null: none.
alter table schedules add column groups jsonb;

-- One row for each of these groups: who should be its members, and who was when the chat last confirmed it.
create table schedule_groups (
  organization_id bigint not null,
  schedule_id bigint not null,
  -- Slug.
  channel text not null,
  -- The id of the group in the chat.
  group_id text not null,
  -- Usernames of the users on call. Null: the schedule was not seen yet.
  wanted text[],
  -- Usernames of the members that the chat has confirmed. Null: none yet.
  members text[],
  -- Their ids in the chat, in order. Null: not known, because a process may have changed them and died.
  member_ids text[],
  -- Ids by username that failed attempts have found for the same users, so that a rate limit lets the next one get further.
  accounts jsonb not null default '{}',
  -- [{ "user", "reason" }], users on call who are not in the group.
  left_out jsonb not null default '[]',
  -- No one on call can be in the group, and the chat refuses an empty one: it has its last members.
  kept boolean not null default false,
  updated_at timestamptz,
  error text,
  failing_since timestamptz,
  failures integer not null default 0,
  -- When it is sent. Null: nothing is to be sent.
  due_at timestamptz,
  -- Until when a process may be sending it. What a dead one leaves behind is sent again after that.
  claimed_until timestamptz,
  -- All claims, by which a late outcome is recognized.
  claims integer not null default 0,
  primary key (organization_id, schedule_id, channel, group_id),
  foreign key (organization_id, schedule_id) references schedules on delete cascade
) with (fillfactor = 70);
create index schedule_groups_due on schedule_groups (due_at) where due_at is not null;
comment on index schedule_groups_due is 'groups to send';
create trigger announce_shifts after insert or update of due_at on schedule_groups
  for each row when (new.due_at <= now()) execute function announce_shifts();
create index schedule_groups_failing on schedule_groups (failing_since) where failing_since is not null;
comment on index schedule_groups_failing is 'groups that doctor warns of';

-- The user who saves a schedule may have corrected what was wrong with its groups.
create function follow_schedule() returns trigger language plpgsql as $$
begin
  delete from schedule_groups g
  where g.organization_id = new.organization_id and g.schedule_id = new.id and not exists (
    select from jsonb_array_elements(coalesce(new.groups, '[]')) e
    where e ->> 'channel' = g.channel and e ->> 'group' = g.group_id);
  insert into schedule_groups (organization_id, schedule_id, channel, group_id)
  select new.organization_id, new.id, e ->> 'channel', e ->> 'group' from jsonb_array_elements(coalesce(new.groups, '[]')) e
  on conflict (organization_id, schedule_id, channel, group_id) do update set due_at = now()
  where schedule_groups.error is not null or schedule_groups.left_out <> '[]';
  return null;
end $$;
create trigger follow_added after insert on schedules
  for each row when (new.groups is not null) execute function follow_schedule();
create trigger follow_changed after update on schedules
  for each row when (new.groups is not null or old.groups is not null) execute function follow_schedule();

-- A new token of the channel may help, too.
create function retry_groups() returns trigger language plpgsql as $$
begin
  update schedule_groups set due_at = now()
  where organization_id = new.organization_id and channel = new.slug and error is not null;
  return null;
end $$;
create trigger retry_groups after update of providers, secrets, enabled on channels
  for each row when (old.providers is distinct from new.providers or old.secrets is distinct from new.secrets
    or old.enabled is distinct from new.enabled) execute function retry_groups();

-- Schedules with groups are watched, too.
create or replace function watch_schedule() returns trigger language plpgsql as $$
begin
  if new.on_change is null and new.groups is null then
    delete from schedule_watches where organization_id = new.organization_id and schedule_id = new.id;
  else
    insert into schedule_watches (organization_id, schedule_id) values (new.organization_id, new.id)
    on conflict (organization_id, schedule_id) do update set due_at = now(), error = null;
  end if;
  return null;
end $$;
drop trigger watch_added on schedules;
drop trigger watch_changed on schedules;
create trigger watch_added after insert on schedules
  for each row when (new.on_change is not null or new.groups is not null) execute function watch_schedule();
create trigger watch_changed after update on schedules
  for each row when (coalesce(new.on_change, old.on_change) is not null or coalesce(new.groups, old.groups) is not null)
  execute function watch_schedule();
