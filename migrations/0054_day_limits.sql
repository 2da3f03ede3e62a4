-- How many messages each provider with a limit per day has sent on the current day, over all workers.
create table provider_days (
  organization_id bigint not null,
  channel_id bigint not null,
  -- Name of the provider; the second one of the same name in a channel is `smtp#2`.
  provider text not null,
  -- The start, in UTC, of the last day on which it sent something, and how many messages were reserved on that day.
  day timestamptz not null,
  used integer not null,
  -- A warm-up starts with the first day.
  first_day timestamptz not null,
  -- How many messages the last reservation got.
  granted integer not null,
  primary key (organization_id, channel_id, provider),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);
