-- What became of each attempt. Nearly all messages are sent at the first one: that is told by the row itself, and only
-- attempts that failed are written down one by one.
alter table deliveries
  -- Of the last attempt.
  add column attempt_ms integer,
  -- [{ "at", "provider", "outcome", "detail", "ms" }], the oldest first and the last twenty at the most.
  add column failed_attempts jsonb;
