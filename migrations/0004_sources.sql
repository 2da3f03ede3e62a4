-- Addresses that monitoring systems post alerts to.
create table sources (
  organization_id bigint not null,
  id bigint generated always as identity,
  application_id bigint not null,
  slug text not null,
  name text not null,
  -- Name of the preset that reads the payload; null: the mapping alone does.
  use text,
  -- JMESPath expressions by what they yield.
  mapping jsonb,
  -- [{ "when": condition, "event": slug }], the first that applies counts.
  routes jsonb not null,
  group_by text[] not null default '{}',
  -- SHA-256 of the token in the address. Not unique across tenants: the oldest counts.
  token_hash bytea not null,
  -- Encrypted: the token, and the secret that verifies the sender.
  secrets bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, application_id, slug),
  foreign key (organization_id, application_id) references applications on delete cascade
);
create index sources_by_token on sources (token_hash);
create trigger announce_change after insert or update or delete on sources
  for each row execute function announce_change();

-- What sources received, and what became of it. A payload is stored before it is judged; afterwards only the beginning of its body
-- is kept. Bounded by number and age per source.
create table source_payloads (
  organization_id bigint not null,
  source_id bigint not null,
  -- UUIDv7, so that they sort by time.
  id uuid not null,
  -- received: not judged yet. taken: all alerts. partly: some. rejected: none. refused: not from the sender, or unreadable.
  state text not null check (state in ('received', 'taken', 'partly', 'rejected', 'refused')),
  -- Method, URL without the token, and the headers that presets read.
  request jsonb not null,
  body bytea not null,
  -- Of the whole body.
  bytes integer not null,
  -- [{ "at", "key", "state", "event", "occurrence", "outcome", "error" }] for each alert, the first ones.
  alerts jsonb not null default '[]',
  -- The number of alerts by outcome.
  counts jsonb not null default '{}',
  -- Why it was refused, or what is remarkable about it.
  note text,
  -- When a process that judges it is given up.
  retry_at timestamptz,
  primary key (organization_id, source_id, id),
  foreign key (organization_id, source_id) references sources (organization_id, id) on delete cascade
) with (fillfactor = 90);
-- Payloads whose process died, or that wait for a limit.
create index source_payloads_open on source_payloads (retry_at) where state = 'received';

-- The last known state of each alert of a source, by which repetitions, groups and requests about an alert find its occurrence.
create table source_alerts (
  organization_id bigint not null,
  source_id bigint not null,
  key text collate "C" not null,
  -- Changes when the alert opens again.
  id uuid not null,
  number bigint generated always as identity,
  occurrence_id uuid not null,
  state text not null check (state in ('open', 'acknowledged', 'resolved')),
  title text not null,
  severity text,
  count integer not null default 1,
  opened_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- What requests of the sender added, such as notes and tags.
  details jsonb not null default '{}',
  primary key (organization_id, source_id, key),
  foreign key (organization_id, source_id) references sources (organization_id, id) on delete cascade
) with (fillfactor = 70);
create index source_alerts_by_occurrence on source_alerts (organization_id, source_id, occurrence_id);
create index source_alerts_by_id on source_alerts (organization_id, source_id, id);
create index source_alerts_by_age on source_alerts (last_seen_at);
