-- Acknowledgements that end: they expire, are taken back, or are a snooze. Then the steps run again from the first one, in a new round.

-- How long an acknowledgement holds: an occurrence that is not resolved by then escalates again. Null: for good.
alter table notifications add column acknowledgement_expires text;

-- When the acknowledgement ends, and who snoozed the occurrence until then. Null: it does not end; it is not snoozed.
alter table occurrences add column acknowledged_until timestamptz;
alter table occurrences add column snoozed_by text;
-- When the last round of steps began, from which `give_up_after` counts. Null: there was only one, which began when it was due.
alter table occurrences add column round_began_at timestamptz;

-- The runs of earlier rounds: `number` - `base` is the position of a run in its notification.
alter table steps add column base smallint not null default 0;

-- What was done about an occurrence with steps: acknowledged, snoozed, unacknowledged, resolved, and acknowledgements that
-- ended without anyone: expired, snooze_ended.
create table responses (
  organization_id bigint not null references organizations on delete cascade,
  occurrence_id uuid not null,
  number integer not null,
  kind text not null,
  at timestamptz not null default now(),
  by text,
  -- Until when it was snoozed, or when the acknowledgement was to expire.
  until timestamptz,
  primary key (organization_id, occurrence_id, number)
);

-- Until when an occurrence was snoozed, which the message then says.
alter table message_updates add column until timestamptz;

-- Not validated: the rows that exist satisfy the narrower condition.
alter table message_updates drop constraint message_updates_change_check;
alter table message_updates add constraint message_updates_change_check
  check (change in ('acknowledged', 'snoozed', 'reopened', 'resolved', 'cancelled')) not valid;
