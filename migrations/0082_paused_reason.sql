-- Why a person paused it, or the engine because its settings seem to be wrong. Null: no reason was given, or it is not paused.
alter table applications add column paused_reason text;
alter table events add column paused_reason text;
alter table channels add column paused_reason text;
