-- How long messages of a channel are retried: { "for": "4h" }. Null: the default of its type (src/core/retries.ts).
alter table channels add column retry jsonb;

alter table deliveries
  -- When the first attempt failed, or the message first waited for a provider that fails: retries end a fixed time later. Null:
  -- neither happened since it was stored, replayed or released from a pause.
  add column retry_since timestamptz,
  -- How many workers died while they were sending it; null: none.
  add column worker_deaths smallint;
