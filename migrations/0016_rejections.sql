-- When someone was last notified that a source rejects what it receives: a broken sender is reported once an hour. Null: never.
alter table sources add column rejection_reported_at timestamptz;
