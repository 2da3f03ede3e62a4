-- Variants of a message in the sample of a canary.

-- Which variant of its message a delivery has: a or b. Null: its notification has only one.
alter table deliveries add column variant text;
-- When the recipient took an action of the message. Kept only for deliveries with a variant.
alter table deliveries add column acted_at timestamptz;
