-- Every tenant table leads its keys with the organization, and every foreign key includes it: a row cannot point
-- into another tenant, and the whole database can be distributed by organization.

create table organizations (
  id bigint generated always as identity primary key,
  slug text not null unique,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table projects (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  slug text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug)
);

create table applications (
  organization_id bigint not null,
  id bigint generated always as identity,
  project_id bigint not null,
  slug text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, project_id, slug),
  foreign key (organization_id, project_id) references projects on delete cascade
);

create table events (
  organization_id bigint not null,
  id bigint generated always as identity,
  application_id bigint not null,
  slug text not null,
  name text not null,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, application_id, slug),
  foreign key (organization_id, application_id) references applications on delete cascade
);

-- A channel belongs to its organization (project_id null) or to one project of it.
create table channels (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  project_id bigint,
  slug text not null,
  name text not null,
  type text not null,
  enabled boolean not null default true,
  -- [{ "use": "smtp", … }], tried in order; what is secret in them is taken out and kept below.
  providers jsonb not null default '[]',
  -- AES-256-GCM of [{ field: value }], one object for each provider.
  secrets bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique nulls not distinct (organization_id, project_id, slug),
  foreign key (organization_id, project_id) references projects on delete cascade
);

create table users (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  -- The email in lower case: what paths name.
  username text not null,
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  locked boolean not null default false,
  custom_fields jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, username)
);

create table addresses (
  organization_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  name text not null,
  value text not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, user_id, name, value),
  foreign key (organization_id, user_id) references users on delete cascade
);

create table distribution_lists (
  organization_id bigint not null,
  id bigint generated always as identity,
  project_id bigint not null,
  name text not null,
  -- The name in lower case, folded by the program: lower() answers differently under different collations.
  name_key text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, project_id, name_key),
  foreign key (organization_id, project_id) references projects on delete cascade
);

create table members (
  organization_id bigint not null,
  id bigint generated always as identity,
  list_id bigint not null,
  address_id bigint not null,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, list_id, address_id),
  foreign key (organization_id, list_id) references distribution_lists on delete cascade,
  foreign key (organization_id, address_id) references addresses on delete cascade
);
create index members_by_list on members (organization_id, list_id, id);
create index members_by_address on members (organization_id, address_id);

create table keys (
  organization_id bigint not null references organizations on delete cascade,
  -- The public part of bf_<id>_<secret>; random, so unique without a constraint across tenants.
  id text not null,
  name text not null,
  secret_hash bytea not null,
  project_id bigint,
  application_id bigint,
  permissions text[] not null,
  requests_per_second integer,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, name),
  foreign key (organization_id, project_id) references projects on delete cascade,
  foreign key (organization_id, application_id) references applications on delete cascade
);
create index keys_by_id on keys (id);

-- A rule of an event: whom, by which channels, when.
create table notifications (
  organization_id bigint not null,
  id bigint generated always as identity,
  event_id bigint not null,
  name text not null,
  active boolean not null default true,
  recipients jsonb not null,
  channels text[] not null,
  filter text,
  environs text[],
  extra_context jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, event_id, name),
  foreign key (organization_id, event_id) references events on delete cascade
);

-- What a notification says. A change adds a version; the highest is the current one.
create table messages (
  organization_id bigint not null,
  notification_id bigint not null,
  version integer not null,
  content jsonb not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, notification_id, version),
  foreign key (organization_id, notification_id) references notifications on delete cascade
);

-- One accepted trigger each. Identifiers are UUIDv7, so a range of them is a span of time: partitions are cut by it.
-- Configuration may be deleted while its history stays, hence no foreign keys to it.
create table occurrences (
  organization_id bigint not null,
  id uuid not null,
  project_id bigint not null,
  application_id bigint not null,
  event_id bigint not null,
  status text not null default 'accepted',
  -- 0 urgent, 1 normal, 2 bulk
  priority smallint not null default 1,
  context jsonb not null,
  options jsonb not null,
  correlation_id text,
  key_id text,
  due_at timestamptz not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  completed_at timestamptz,
  primary key (organization_id, id)
) partition by range (id);
create index occurrences_by_correlation on occurrences (organization_id, correlation_id) where correlation_id is not null;
-- Takes what no month's partition holds, so that an accepted trigger is stored whatever else went wrong.
create table occurrences_rest partition of occurrences default;

create table idempotency_keys (
  organization_id bigint not null,
  event_id bigint not null,
  key text not null,
  body_hash bytea not null,
  occurrence_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, event_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Every process keeps configuration and keys in memory; a change tells all of them which organization to forget.
create function announce_change() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('belfry_changed', coalesce(changed ->> 'organization_id', changed ->> 'id'));
  return null;
end $$;

create trigger announce_change after insert or update or delete on organizations
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on projects
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on applications
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on events
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on channels
  for each row execute function announce_change();
-- Not last_used_at: using a key changes nothing that is remembered of it.
create trigger announce_change
  after insert or delete or update of name, permissions, requests_per_second, expires_at, revoked_at on keys
  for each row execute function announce_change();
