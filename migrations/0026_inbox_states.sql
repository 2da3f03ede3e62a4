-- More states of in-app messages, what can be done with one, and what it is about.
alter table inbox
  add column seen_at timestamptz,
  add column acted_at timestamptz,
  -- The name of the action that was taken.
  add column action text,
  add column category text,
  add column avatar text,
  add column actions jsonb,
  -- The number of its last change, and of its arrival, in the inbox that it is in: what a stream goes on after. 0: before there
  -- were any.
  add column sequence bigint not null default 0,
  add column created_sequence bigint not null default 0;
create index inbox_by_sequence on inbox (organization_id, user_id, sequence);

-- One for each person who ever got a message. Whoever changes messages locks it first: so numbers become visible in their
-- order, and no two wait for each other crosswise.
create table inboxes (
  organization_id bigint not null,
  user_id bigint not null,
  sequence bigint not null default 0,
  -- Kept by the triggers below, so that nobody has to count, and nobody can forget to.
  unread integer not null default 0,
  unseen integer not null default 0,
  primary key (organization_id, user_id),
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
) with (fillfactor = 70);
insert into inboxes (organization_id, user_id, unread, unseen)
select organization_id, user_id,
  count(*) filter (where archived_at is null and read_at is null),
  count(*) filter (where archived_at is null and read_at is null)
from inbox group by 1, 2;

create function count_added_to_inbox() returns trigger language plpgsql as $$
begin
  insert into inboxes as i (organization_id, user_id, unread, unseen)
  select organization_id, user_id,
    count(*) filter (where archived_at is null and read_at is null),
    count(*) filter (where archived_at is null and read_at is null and seen_at is null)
  from added group by 1, 2 order by 1, 2
  on conflict (organization_id, user_id) do update
    set unread = i.unread + excluded.unread, unseen = i.unseen + excluded.unseen;
  return null;
end $$;
create trigger count_added after insert on inbox
  referencing new table as added for each statement execute function count_added_to_inbox();

create function count_changed_in_inbox() returns trigger language plpgsql as $$
begin
  update inboxes i set unread = i.unread + d.unread, unseen = i.unseen + d.unseen
  from (
    select organization_id, user_id, sum(unread) as unread, sum(unseen) as unseen
    from (
      select organization_id, user_id, (archived_at is null and read_at is null)::int as unread,
        (archived_at is null and read_at is null and seen_at is null)::int as unseen
      from added
      union all
      select organization_id, user_id, -(archived_at is null and read_at is null)::int,
        -(archived_at is null and read_at is null and seen_at is null)::int
      from removed
    ) changed
    group by 1, 2
  ) d
  where i.organization_id = d.organization_id and i.user_id = d.user_id and (d.unread <> 0 or d.unseen <> 0);
  return null;
end $$;
create trigger count_changed after update on inbox
  referencing old table as removed new table as added for each statement execute function count_changed_in_inbox();

create function count_removed_from_inbox() returns trigger language plpgsql as $$
begin
  update inboxes i set unread = i.unread - d.unread, unseen = i.unseen - d.unseen
  from (
    select organization_id, user_id,
      count(*) filter (where archived_at is null and read_at is null) as unread,
      count(*) filter (where archived_at is null and read_at is null and seen_at is null) as unseen
    from removed group by 1, 2
  ) d
  where i.organization_id = d.organization_id and i.user_id = d.user_id and (d.unread <> 0 or d.unseen <> 0);
  return null;
end $$;
create trigger count_removed after delete on inbox
  referencing old table as removed for each statement execute function count_removed_from_inbox();
