-- Whether each recipient has to acknowledge: each. Null: one acknowledgement ends the steps for everyone.
alter table notifications add column ack text;

-- The ids of the users who have acknowledged on their own in this round, while others are missing. Null: no one.
alter table occurrences add column acknowledged_users jsonb;
