-- What became of each attempt. Nearly all messages are sent at the first one: that is told by the row itself, and only
-- attempts that failed are written down one by one.
alter table deliveries
  -- Of the last attempt.
  add column attempt_ms integer,
  -- [{ "at", "provider", "outcome", "detail", "ms" }], the oldest first and the last twenty at the most.
  add column failed_attempts jsonb;

-- How long messages took, in buckets that each reach a tenth further than the one before (src/core/latency.ts), so that
-- percentiles are right within a twentieth. What was counted in the few wide ones goes to the middle of where it was.
update latency_stats
set bucket = ceil(ln((array[5, 14, 32, 71, 141, 316, 707, 1414, 3162, 7071, 17321, 42426, 134164, 734847, 3600000, 7200000])
  [bucket + 1]) / ln(1.1));
update latency_day_stats
set bucket = ceil(ln((array[5, 14, 32, 71, 141, 316, 707, 1414, 3162, 7071, 17321, 42426, 134164, 734847, 3600000, 7200000])
  [bucket + 1]) / ln(1.1));
