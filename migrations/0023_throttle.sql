-- How much one person gets: of one notification under one key, and of everything of an organization in a day.
alter table notifications add column throttle jsonb;
alter table organizations add column most_per_day integer check (most_per_day > 0);

-- When a person was told something, as long as it counts. Whoever decides locks the row first, so that of many workers none
-- counts what another is about to add. Nothing refers to anything: a user who is deleted meanwhile must not fail the others of a
-- batch, and what is left of them goes with its time. Notification 0 stands for everything of the organization.
create table throttle_uses (
  organization_id bigint not null,
  notification_id bigint not null,
  user_id bigint not null,
  key text collate "C" not null,
  times timestamptz[] not null default '{}',
  expires_at timestamptz not null,
  primary key (organization_id, notification_id, user_id, key)
) with (fillfactor = 70);
create index throttle_uses_by_age on throttle_uses (expires_at);
