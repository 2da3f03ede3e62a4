-- Why the engine paused the channel, because its settings seem to be wrong; null if a person did. Valid while paused_at is set.
alter table channels add column paused_reason text;
