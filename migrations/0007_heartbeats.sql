-- Calls that are expected regularly, such as from cron jobs. One that is missing triggers an event.
create table heartbeats (
  organization_id bigint not null,
  id bigint generated always as identity,
  application_id bigint not null,
  slug text not null,
  name text not null,
  -- A duration, or a cron expression in the time zone.
  every text not null,
  timezone text not null,
  grace text not null,
  -- Slug of the event that is triggered.
  event text not null,
  severity text,
  context jsonb,
  enabled boolean not null,
  -- As those of sources.
  token_hash bytea not null,
  secrets bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, application_id, slug),
  foreign key (organization_id, application_id) references applications on delete cascade
);
create index heartbeats_by_token on heartbeats (token_hash);
create trigger announce_change after insert or update or delete on heartbeats
  for each row execute function announce_change();

-- What is known of each heartbeat. It changes with every call.
create table heartbeat_states (
  organization_id bigint not null,
  heartbeat_id bigint not null,
  status text not null default 'new' check (status in ('new', 'up', 'down')),
  -- Why it is down. missing: no call. unfinished: a run has not ended. failed: the caller said so.
  reason text check (reason in ('missing', 'unfinished', 'failed')),
  -- When it got this status.
  since timestamptz not null default now(),
  -- The last call that said how it went.
  last_ping_at timestamptz,
  -- The run that has begun and not ended.
  started_at timestamptz,
  run_id text,
  -- When the next call is expected, and when it is missing.
  expected_at timestamptz,
  missing_at timestamptz,
  -- opening: the event is to be triggered. open: it was. closing: the occurrence is to be resolved.
  alert text check (alert in ('opening', 'open', 'closing')),
  -- Id that the occurrence gets, so that a repeated trigger does nothing; and the id of the occurrence.
  incident_id uuid,
  occurrence_id uuid,
  -- Why the event could not be triggered.
  error text,
  -- When a process has to act on it: when it is missing, or at once if something is to be triggered or resolved.
  due_at timestamptz,
  calls bigint not null default 0,
  primary key (organization_id, heartbeat_id),
  foreign key (organization_id, heartbeat_id) references heartbeats (organization_id, id) on delete cascade
) with (fillfactor = 70);
create index heartbeat_states_due on heartbeat_states (due_at) where due_at is not null;

-- The last calls of each heartbeat. A new one replaces the oldest, so that they need no deletion.
create table heartbeat_calls (
  organization_id bigint not null,
  heartbeat_id bigint not null,
  -- The number of the call, modulo the number of calls that are kept.
  slot smallint not null,
  -- UUIDv7, so that they sort by time.
  id uuid not null,
  kind text not null check (kind in ('success', 'start', 'fail', 'log')),
  exit_status smallint,
  -- Given by the caller, to find the start of a run when it ends.
  run_id text,
  method text not null,
  user_agent text not null,
  -- The beginning of the body, and the size of the whole.
  body bytea not null,
  bytes bigint not null,
  primary key (organization_id, heartbeat_id, slot),
  foreign key (organization_id, heartbeat_id) references heartbeats (organization_id, id) on delete cascade
) with (fillfactor = 70);

-- Until when calls could be received, and the last time during which they could not.
create table heartbeat_watch (
  id boolean primary key default true check (id),
  receiving_at timestamptz not null,
  outage_from timestamptz,
  outage_until timestamptz
);
insert into heartbeat_watch (receiving_at) values (now());
