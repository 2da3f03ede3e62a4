-- How many deliveries an occurrence would have had beyond those on record, because it stopped before all of its recipients were
-- expanded: it was cancelled, its event was deleted or switched off, or it reached a limit. Null: it did not stop early; -1: the
-- number is not known, or not yet.
alter table occurrences add column unexpanded integer;
-- The user, API key or command that cancelled it.
alter table occurrences add column cancelled_by text;

-- Occurrences that stopped early and whose remaining recipients a worker is counting, a page at a time. A count instead of a row
-- for each: a cancelled fan-out to a million costs no history.
create table unexpanded_counts (
  organization_id bigint not null references organizations (id) on delete cascade,
  occurrence_id uuid not null,
  -- The start of the next page, as in occurrences; null: the first recipient.
  cursor jsonb,
  counted integer not null default 0,
  -- Claims without a result since the last page: one that crashes workers is given up.
  claims smallint not null default 0,
  claimed_at timestamptz,
  primary key (organization_id, occurrence_id)
);
