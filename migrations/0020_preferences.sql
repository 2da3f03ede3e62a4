-- What recipients decide. A category groups events from their point of view; an event without one belongs to `general`,
-- which every organization has without a row of its own.
create table categories (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  slug text not null,
  name text not null,
  description text not null default '',
  kind text not null default 'transactional' check (kind in ('required', 'transactional', 'promotional')),
  -- What holds until the recipient chooses: for all channel types, and what differs for some.
  default_on boolean not null default true,
  channel_defaults jsonb not null default '{}',
  -- The channel types that the recipient may choose between; null: all that the organization has.
  channels text[],
  quiet_hours text not null default 'respect' check (quiet_hours in ('respect', 'ignore')),
  -- Name and description by language.
  locales jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug)
);
create trigger announce_change after insert or update or delete on categories
  for each row execute function announce_change();

-- A category that events belong to cannot be deleted: they would become transactional without anybody having said so.
alter table events add column category_id bigint,
  add foreign key (organization_id, category_id) references categories (organization_id, id);
create index events_by_category on events (organization_id, category_id) where category_id is not null;

-- A row for each choice that a person made. `scope` is `everything`, `category:news` or `event:shop/web/order-paid`: by name
-- and not by id, so that a choice holds again when a category or an event is deleted by mistake and created once more.
-- An empty channel type means all of them.
create table preferences (
  organization_id bigint not null,
  user_id bigint not null,
  scope text collate "C" not null,
  channel_type text collate "C" not null default '',
  enabled boolean not null,
  source text not null,
  changed_at timestamptz not null default now(),
  primary key (organization_id, user_id, scope, channel_type),
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);

-- Every choice that was ever made, and how: what a regulator asks for. `enabled` is null where a choice was withdrawn.
create table preference_history (
  organization_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  scope text not null,
  channel_type text not null,
  enabled boolean,
  source text not null,
  changed_by text not null,
  changed_at timestamptz not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index preference_history_by_user on preference_history (organization_id, user_id, id);

-- The engine reads people by the thousand: a person's choices stand in their row, and most people have none.
alter table users add column choices jsonb;

-- Locked before they are read: each statement of this function sees what was committed before it, so that of two choices
-- made at once none is left out.
create function keep_choices() returns trigger language plpgsql as $$
begin
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set choices = made.choices
  from (
    select c.organization_id, c.user_id, (
      select jsonb_object_agg(
        case p.channel_type when '' then p.scope else p.scope || ' ' || p.channel_type end,
        jsonb_build_object('on', p.enabled, 'source', p.source, 'at', p.changed_at))
      from preferences p where p.organization_id = c.organization_id and p.user_id = c.user_id
    ) as choices
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id;
  return null;
end $$;
create trigger choices_added after insert on preferences referencing new table as changed
  for each statement execute function keep_choices();
create trigger choices_changed after update on preferences referencing new table as changed
  for each statement execute function keep_choices();
create trigger choices_removed after delete on preferences referencing old table as changed
  for each statement execute function keep_choices();
