-- Steps: a notification that reaches a person step by step, until somebody acknowledges it.
alter table notifications
  add column steps jsonb,
  add column give_up_after text,
  add column notify_resolved boolean not null default false;

-- `escalating` is how many of its notifications still have steps to come: it is not over before that is 0.
alter table occurrences
  add column escalating smallint not null default 0,
  add column awaits_acknowledgement boolean not null default false,
  add column triggers integer not null default 1,
  add column dedup_key text,
  add column acknowledged_at timestamptz,
  add column acknowledged_by text,
  add column resolved_at timestamptz,
  add column resolved_by text;
create index occurrences_unacknowledged on occurrences (organization_id, id) where awaits_acknowledgement;

-- The run that a delivery belongs to; 0: its notification has no steps; -1: it tells that the occurrence is resolved. The same
-- person may be told by the same channel in several steps, but once in each of them.
alter table deliveries add column step smallint not null default 0;
drop index deliveries_once;
create unique index deliveries_once on deliveries (
  organization_id, (nullif(occurrence_id, '00000000-0000-0000-0000-000000000000')), notification_id, channel_id,
  (coalesce(address, '#' || user_id)), step, occurrence_id);
-- What a person was told by earlier steps. Not led by the organization, so that a statement can name it and not the primary key,
-- which the planner took for its equal: it read the whole of a fan-out for each person.
create index deliveries_of_steps on deliveries (occurrence_id, user_id) where step > 0;

-- A run of a step is its own place in the queue: due, claimed by `owner`, advanced a page of recipients at a time. The next run
-- is stored in the transaction that ends the one before, so none is skipped and none comes twice.
create table steps (
  organization_id bigint not null references organizations (id) on delete cascade,
  occurrence_id uuid not null,
  notification_id bigint not null,
  -- Of the run, from 1 on; -1 tells that the occurrence is resolved.
  number smallint not null,
  -- Of the step in the notification, from 1 on.
  step smallint not null,
  status text not null default 'waiting',
  reason text,
  priority smallint not null,
  due_at timestamptz not null,
  -- When the escalation began: nothing of it happens later than `give_up_after` from here.
  began_at timestamptz not null,
  owner bigint,
  cursor jsonb,
  told integer not null default 0,
  suppressed integer not null default 0,
  crashes smallint not null default 0,
  ended_at timestamptz,
  primary key (organization_id, occurrence_id, notification_id, number)
) with (fillfactor = 70);
create index steps_due on steps (priority, organization_id, due_at) where status = 'waiting' and owner is null;
create index steps_owned on steps (owner) where status = 'waiting' and owner is not null;

-- Which open occurrence of an event the triggers of one key join.
create table dedup_keys (
  organization_id bigint not null references organizations (id) on delete cascade,
  event_id bigint not null,
  key text collate "C" not null,
  occurrence_id uuid not null,
  -- Later triggers open another one.
  closes_at timestamptz not null,
  primary key (organization_id, event_id, key)
) with (fillfactor = 70);
create index dedup_keys_by_age on dedup_keys (closes_at);

-- Whether a message that a step has sent was read: asked by its id alone.
create index inbox_read on inbox (id) where read_at is not null;
