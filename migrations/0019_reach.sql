-- Personal rules: how a user wants to be reached, {"normal": [{"by": "push"}, {"by": "sms", "after": "5m"}], "important": [...]}.
-- Null: none.
alter table users add column reach jsonb;
