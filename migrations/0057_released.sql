-- When a delivery was last released from a wait that is not latency: a pause, quiet hours, or the time until it was
-- replayed. Null if it never waited. Rows that the previous version writes count as if they had not waited.
alter table deliveries add column released_at timestamptz;
