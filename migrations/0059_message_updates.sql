-- Updates of messages that were already sent, because their occurrence was acknowledged, resolved or cancelled: the queue, and
-- the record of what became of each. The row with delivery_id 0 is the occurrence itself, whose deliveries have yet to be
-- listed; it is deleted when all are.
create table message_updates (
  organization_id bigint not null references organizations (id) on delete cascade,
  occurrence_id uuid not null,
  delivery_id bigint not null,
  -- What happened to the occurrence; a later change replaces an earlier one.
  change text not null check (change in ('acknowledged', 'resolved', 'cancelled')),
  changed_by text,
  changed_at timestamptz not null,
  status text not null default 'waiting' check (status in ('waiting', 'done', 'failed')),
  due_at timestamptz not null default now(),
  -- Whether a worker is at it: until due_at, unless it dies.
  claimed boolean not null default false,
  -- Counts the claims: only the outcome of the last one is stored.
  claims integer not null default 0,
  -- Attempts for this change.
  attempts smallint not null default 0,
  -- The last delivery that was listed.
  cursor bigint not null default 0,
  -- What was done, oldest first.
  log jsonb not null default '[]',
  primary key (organization_id, occurrence_id, delivery_id)
);
create index message_updates_by_due on message_updates (organization_id, due_at) where status = 'waiting';
