-- Statistics of days that are over, summed: a month is read from thirty days rather than from all that happened in it.
-- The counts by the hour stay what they are, and are all that the work itself writes; upkeep sums them. Without foreign
-- keys, as those: an organization may go while its days are summed.

-- All days before this time are summed.
create table summed_stats (
  organization_id bigint primary key,
  until timestamptz not null
);

create table hour_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  triggers bigint not null,
  sent bigint not null,
  failed bigint not null,
  suppressed bigint not null,
  cancelled bigint not null,
  expired bigint not null,
  unknown bigint not null,
  primary key (organization_id, hour)
);

create table event_day_stats (
  organization_id bigint not null,
  day timestamptz not null,
  event_id bigint not null,
  triggers bigint not null,
  sent bigint not null,
  failed bigint not null,
  suppressed bigint not null,
  cancelled bigint not null,
  expired bigint not null,
  unknown bigint not null,
  primary key (organization_id, event_id, day)
);
-- Which events are the busiest is found here alone, without the rows.
create index event_day_stats_busy on event_day_stats (organization_id, day) include (event_id, triggers, sent);

create table channel_day_stats (
  organization_id bigint not null,
  day timestamptz not null,
  channel_id bigint not null,
  sent bigint not null,
  failed bigint not null,
  suppressed bigint not null,
  cancelled bigint not null,
  expired bigint not null,
  unknown bigint not null,
  primary key (organization_id, day, channel_id)
);

create table latency_day_stats (
  organization_id bigint not null,
  day timestamptz not null,
  bucket smallint not null,
  count bigint not null,
  primary key (organization_id, day, bucket)
);
