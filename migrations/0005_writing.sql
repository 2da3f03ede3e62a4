-- How urgent a notification is where the trigger does not say; 0 urgent, 1 normal, 2 bulk, as of deliveries.
alter table notifications add column priority smallint;

-- A message is not stored as it was sent: what it was written with tells it again, exactly, whatever is changed or
-- deleted afterwards. This is all but the user: the words, the layout, the names around them. Rows are found by a hash of
-- what they hold, so that the same thing is stored once; a message and a layout have rows of their own for that reason.
create table wordings (
  organization_id bigint not null references organizations on delete cascade,
  -- The first half of the SHA-256 of the content.
  id uuid not null,
  content jsonb not null,
  -- Noted once a day: what no kept delivery can have been written with is removed.
  used_at timestamptz not null default now(),
  primary key (organization_id, id)
);

-- The user as of a version: the row itself, or what it was before. It goes with the user, who may want to be forgotten.
alter table users add column version integer not null default 1;
create table user_history (
  organization_id bigint not null,
  user_id bigint not null,
  version integer not null,
  username text not null,
  email text not null,
  first_name text not null,
  last_name text not null,
  locked boolean not null,
  locale text,
  custom_fields jsonb not null,
  replaced_at timestamptz not null default now(),
  primary key (organization_id, user_id, version),
  foreign key (organization_id, user_id) references users on delete cascade
);
create index user_history_by_age on user_history (organization_id, replaced_at);

create function keep_user() returns trigger language plpgsql as $$
begin
  insert into user_history (
    organization_id, user_id, version, username, email, first_name, last_name, locked, locale, custom_fields)
  values (
    old.organization_id, old.id, old.version, old.username, old.email, old.first_name, old.last_name, old.locked,
    old.locale, old.custom_fields);
  new.version := old.version + 1;
  return new;
end $$;

create trigger keep_user before update on users for each row
  when ((old.username, old.email, old.first_name, old.last_name, old.locked, old.locale, old.custom_fields)
    is distinct from (new.username, new.email, new.first_name, new.last_name, new.locked, new.locale, new.custom_fields))
  execute function keep_user();

-- What the last attempt was written with; null before the first.
alter table deliveries
  add column wording uuid,
  add column user_version integer;

-- Variables that messages asked for and the context did not have.
create table missing_variables (
  organization_id bigint not null,
  notification_id bigint not null,
  name text not null,
  -- Of deliveries.
  count bigint not null,
  -- Of the message in which it was missing last.
  version integer not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (organization_id, notification_id, name),
  foreign key (organization_id, notification_id) references notifications on delete cascade
);

-- What has been in the inbox for longer than the organization keeps its history.
create index inbox_by_age on inbox (organization_id, created_at);
