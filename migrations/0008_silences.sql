-- Silences: what matches is not sent for some time. They are data, not configuration.
create table silences (
  organization_id bigint not null references organizations on delete cascade,
  -- UUIDv7, so that they sort by the time at which they were created.
  id uuid not null,
  -- What it is limited to; null: the whole organization.
  project_id bigint,
  application_id bigint,
  event_id bigint,
  -- [{ "field", "op", "value" }], all of which have to match.
  matchers jsonb not null,
  reason text not null,
  starts_at timestamptz not null,
  -- Becomes earlier when it is ended early.
  ends_at timestamptz not null,
  -- { "timezone", "from", "to", "weekdays" }: the hours in which it applies. Null: all of the time.
  recurrence jsonb,
  created_at timestamptz not null default now(),
  created_by text not null,
  -- Who ended it early; null: no one did.
  ended_by text,
  primary key (organization_id, id),
  foreign key (organization_id, project_id) references projects on delete cascade,
  foreign key (organization_id, application_id) references applications on delete cascade,
  foreign key (organization_id, event_id) references events on delete cascade
);
create index silences_by_end on silences (organization_id, ends_at);
comment on index silences_by_end is 'silences that are not over, and deletion of old ones';
create index silences_ended_early on silences (ends_at) where ended_by is not null;
comment on index silences_ended_early is 'release of what was held while a silence was being ended';
create trigger announce_change after insert or update or delete on silences
  for each row execute function announce_change();

-- What silences held or suppressed.
create table silenced_occurrences (
  organization_id bigint not null,
  silence_id uuid not null,
  occurrence_id uuid not null,
  -- held: it goes on at `until`, unless it has ended by then. suppressed: some or all of its messages are never sent.
  effect text not null check (effect in ('held', 'suppressed')),
  silenced_at timestamptz not null default now(),
  until timestamptz not null,
  primary key (organization_id, silence_id, occurrence_id),
  foreign key (organization_id, silence_id) references silences (organization_id, id) on delete cascade
);
create index silenced_occurrences_by_occurrence on silenced_occurrences (organization_id, occurrence_id);
comment on index silenced_occurrences_by_occurrence is 'the silences of an occurrence';
