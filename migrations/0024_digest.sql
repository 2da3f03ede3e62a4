-- What gathers, and goes out as one message. Each occurrence keeps its own delivery; those of one digest share its id. The first
-- of them carries the message: it waits in the queue like any other and is due when the digest closes. The others are never due
-- by themselves and end in the statement that ends the carrier.
alter table notifications add column digest jsonb;
alter table deliveries add column digest_id uuid;
create index deliveries_of_digest on deliveries (organization_id, digest_id, occurrence_id, id)
  where digest_id is not null;

-- A digest from its first item until its message has an outcome. Whoever adds, removes or sends items locks the row first, so that
-- no item is in two digests, or in none. Nothing refers to anything: a user who is deleted meanwhile must not fail the others of
-- a batch. `recipient_id` is the user, or 0 where the channel is a room.
create table digests (
  organization_id bigint not null,
  id uuid not null,
  event_id bigint not null,
  notification_id bigint not null,
  channel_id bigint not null,
  recipient_id bigint not null,
  user_id bigint not null,
  address text collate "C" not null,
  key text collate "C" not null,
  items integer not null,
  opened_at timestamptz not null default now(),
  closes_at timestamptz not null,
  -- When its message was first written: nothing is added any more.
  closed_at timestamptz,
  primary key (organization_id, id)
) with (fillfactor = 70);
create unique index digests_open on digests (organization_id, notification_id, channel_id, recipient_id, address, key)
  where closed_at is null;
create index digests_by_event on digests (organization_id, event_id, id) where closed_at is null;
-- Windows that nothing gathered in, after a first message that went out at once.
create index digests_empty on digests (closes_at) where items = 0;
