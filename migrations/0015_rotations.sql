-- Steps that notify one recipient at a time: how many turns of each were taken, so that occurrences begin with one after the other.
create table rotations (
  organization_id bigint not null,
  notification_id bigint not null,
  -- The number of the step in the notification.
  step smallint not null,
  turns bigint not null,
  primary key (organization_id, notification_id, step),
  foreign key (organization_id, notification_id) references notifications (organization_id, id) on delete cascade
);

-- The turn of such a run, from which the recipient follows. Null: not taken yet, or the run notifies everyone.
alter table steps add column turn bigint;
