-- Requests to the sender of an alert, after a person has acknowledged or resolved it.
alter table sources add column update jsonb;

-- What the request of an alert is made of. Null: the source reports nothing back, or the context of the occurrence is the same.
alter table source_alerts add column context jsonb;

-- One row for each alert of an occurrence whose state is reported to the sender. The last state counts; the row stays as the record.
create table source_updates (
  organization_id bigint not null,
  occurrence_id uuid not null,
  source_id bigint not null,
  key text collate "C" not null,
  state text not null check (state in ('acknowledged', 'unacknowledged', 'resolved')),
  changed_by text not null,
  changed_at timestamptz not null default now(),
  status text not null default 'waiting' check (status in ('waiting', 'done', 'failed')),
  -- When it is sent, or when a claim of a dead worker ends.
  due_at timestamptz not null default now(),
  claimed boolean not null default false,
  -- All claims, by which a late outcome is recognized.
  claims integer not null default 0,
  -- Of the current state.
  attempts integer not null default 0,
  -- What the sender calls what an earlier request has created there, such as a silence.
  reference text,
  -- [{ "at", "state", "by", "outcome", "detail", "ms" }], the last attempts.
  log jsonb not null default '[]',
  primary key (organization_id, occurrence_id, source_id, key),
  foreign key (organization_id, source_id) references sources (organization_id, id) on delete cascade
) with (fillfactor = 70);
create index source_updates_waiting on source_updates (organization_id, due_at) where status = 'waiting';
create index source_updates_by_source on source_updates (organization_id, source_id, changed_at);
