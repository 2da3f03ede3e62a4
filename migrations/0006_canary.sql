-- The canary: a notification is sent to a random sample first, and to the others if that goes well.

-- Settings of the canary; null: none.
alter table notifications add column canary jsonb;

-- A hold of the kind `canary` is `waiting` from the end of its sample until the figures decide. `figures`: what became of the sample,
-- when it was decided.
alter table holds add column figures jsonb;
create index holds_waiting on holds (organization_id, held_at) where state = 'waiting';
comment on index holds_waiting is 'canaries whose occurrence has ended meanwhile';
