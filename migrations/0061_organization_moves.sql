-- An organization can move to another cell, a Belfry with its own database: see docs/guides/many-cells.md. This table has one
-- row for an organization that is moving, has left or has arrived; docs/architecture.md has the states. It has no foreign
-- key, because it outlives the organization here.
create table organization_moves (
  organization_id bigint primary key,
  -- Equal in both databases.
  id uuid not null,
  slug text not null,
  state text not null check (state in
    ('arriving', 'arrived', 'copying', 'draining', 'closing', 'frozen', 'moved', 'left')),
  -- The public URL of the cell that it moves to; null where it arrives.
  url text,
  -- At the target: the tables that are copied.
  copied text[] not null default '{}',
  -- Once it has left: the addresses of its channels for feedback, which lead to the new cell.
  feedback_tokens text[] not null default '{}',
  began_at timestamptz not null default now(),
  state_at timestamptz not null default now()
);

create function announce_move() returns trigger language plpgsql as $$
begin
  perform pg_notify('belfry_changed', 'moves');
  perform pg_notify('belfry_changed', coalesce(new.organization_id, old.organization_id)::text);
  if new.state = 'moved' then
    -- Inbox streams end, so that clients connect to the other cell.
    perform pg_notify('belfry_inbox', 'left ' || new.organization_id);
  end if;
  return null;
end $$;

create trigger announce_move after insert or delete or update of state on organization_moves
  for each row execute function announce_move();

-- The rows that changed at the source since they were copied. Their triggers exist only during a move.
create table organization_changes (
  organization_id bigint not null,
  id bigint generated always as identity,
  table_name text not null,
  key jsonb not null,
  primary key (organization_id, id)
);

-- Notes the change of a row of an organization that is being copied, and refuses it once the organization is frozen. The
-- arguments are the table, whose name differs from that of a partition, and the columns of its primary key.
create function note_moving_change() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  organization bigint := coalesce(changed ->> 'organization_id', changed ->> 'id');
  current text := (select state from organization_moves where organization_id = organization);
begin
  if current in ('frozen', 'moved') then
    raise exception 'organization % is moving to another cell', organization using errcode = 'BLF01';
  end if;
  insert into organization_changes (organization_id, table_name, key)
  select organization, tg_argv[0], jsonb_object_agg(name, changed -> name)
  from unnest(tg_argv) with ordinality as arguments (name, position) where position > 1;
  return null;
end $$;

-- The following triggers keep derived columns, which are copied along with everything else.

create or replace function count_added_to_inbox() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  insert into inboxes as i (organization_id, user_id, unread, unseen)
  select organization_id, user_id,
    count(*) filter (where archived_at is null and read_at is null),
    count(*) filter (where archived_at is null and read_at is null and seen_at is null)
  from added group by 1, 2 order by 1, 2
  on conflict (organization_id, user_id) do update
    set unread = i.unread + excluded.unread, unseen = i.unseen + excluded.unseen;
  return null;
end $$;

create or replace function count_changed_in_inbox() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
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

create or replace function count_removed_from_inbox() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
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

create or replace function count_members() returns trigger language plpgsql as $$
declare
  change record;
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
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

create or replace function keep_choices() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set chosen = made.choices, choices = made.choices::jsonb
  from (
    select c.organization_id, c.user_id, (
      select json_object_agg(
        case p.channel_type when '' then p.scope else p.scope || ' ' || p.channel_type end,
        json_build_object('on', p.enabled, 'source', p.source, 'at', p.changed_at))
      from preferences p where p.organization_id = c.organization_id and p.user_id = c.user_id
    ) as choices
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id;
  return null;
end $$;

create or replace function keep_memberships() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set memberships = made.memberships
  from (
    select c.organization_id, c.user_id, (
      select jsonb_object_agg(r.application_id, r.custom_fields)
      from registrations r where r.organization_id = c.organization_id and r.user_id = c.user_id
    ) as memberships
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id
    and u.memberships is distinct from made.memberships;
  return null;
end $$;

create or replace function keep_user() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return new;
  end if;
  insert into user_history (
    organization_id, user_id, version, username, email, first_name, last_name, locked, locale, custom_fields, timezone,
    memberships)
  values (
    old.organization_id, old.id, old.version, old.username, old.email, old.first_name, old.last_name, old.locked,
    old.locale, old.custom_fields, old.timezone, old.memberships);
  new.version := old.version + 1;
  return new;
end $$;
