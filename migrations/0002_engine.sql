-- The ledger is the queue: an occurrence and a delivery each carry their state, due time and owner, and workers claim
-- what is due with `for update skip locked`. There is no second record of the same work.

alter table occurrences
  -- Worker that expands it now; gone when the worker's advisory lock is gone.
  add column owner bigint,
  -- Which notification and recipient come next, after a page has been committed.
  add column cursor jsonb,
  add column reason text,
  add column cancelled_at timestamptz,
  -- Kept as deliveries change, so that nobody ever counts them. What is neither of these is outstanding.
  add column deliveries integer not null default 0,
  add column sent integer not null default 0,
  add column failed integer not null default 0,
  add column suppressed integer not null default 0,
  add column cancelled integer not null default 0,
  add column expired integer not null default 0,
  add column unknown integer not null default 0;

create index occurrences_due on occurrences (priority, organization_id, due_at) where status = 'accepted';
create index occurrences_held on occurrences (event_id) where status = 'accepted' and due_at = 'infinity';
create index occurrences_expanding on occurrences (owner) where status = 'expanding';

create sequence delivery_ids;
create sequence worker_ids;

-- One message to one recipient by one channel, from decision to outcome. Partitioned with its occurrence.
create table deliveries (
  organization_id bigint not null,
  occurrence_id uuid not null,
  id bigint not null default nextval('delivery_ids'),
  notification_id bigint not null,
  -- Version of the notification's message: with the context it reproduces what was sent.
  version integer not null,
  channel_id bigint not null,
  user_id bigint not null,
  -- Null where the user has none for this channel.
  address text,
  -- pending, sending, sent, retrying, failed, suppressed, cancelled, expired, unknown
  status text not null,
  -- A stable code: why it was not sent, or failed.
  reason text,
  -- In the provider's own words.
  detail text,
  priority smallint not null,
  attempts smallint not null default 0,
  -- Which of the channel's providers is next, and how often it has been tried.
  provider_index smallint not null default 0,
  provider_attempts smallint not null default 0,
  provider text,
  provider_message_id text,
  owner bigint,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  primary key (organization_id, occurrence_id, id)
) partition by range (occurrence_id);
-- Makes a repeated page harmless.
create unique index deliveries_once on deliveries
  (organization_id, occurrence_id, notification_id, channel_id, (coalesce(address, '#' || user_id)));
create index deliveries_due on deliveries (priority, organization_id, due_at) where status in ('pending', 'retrying');
create index deliveries_sending on deliveries (owner) where status = 'sending';
-- What a pause keeps.
create index deliveries_held on deliveries (channel_id) where status = 'pending' and due_at = 'infinity';
create table deliveries_rest partition of deliveries default;

-- Outcomes by hour, event and channel.
create table delivery_stats (
  organization_id bigint not null references organizations on delete cascade,
  hour timestamptz not null,
  event_id bigint not null,
  channel_id bigint not null,
  status text not null,
  count bigint not null,
  primary key (organization_id, hour, event_id, channel_id, status)
);

alter table organizations add column retention_days integer not null default 90;

-- A pause keeps messages; resuming sends them.
alter table applications add column paused_at timestamptz;
alter table events add column paused_at timestamptz;
alter table channels
  add column paused_at timestamptz,
  -- What to do with a message whose answer was lost: send it again, or keep it for a person to decide.
  add column on_unknown text not null default 'resend',
  add column rate_per_second integer,
  add column concurrency integer;

-- Tokens of a channel with a rate, shared by all workers.
create table channel_rates (
  organization_id bigint not null,
  channel_id bigint not null,
  tokens double precision not null,
  refilled_at timestamptz not null,
  primary key (organization_id, channel_id),
  foreign key (organization_id, channel_id) references channels on delete cascade
);

alter table users add column locale text;

-- In-app messages, as the user sees them.
create table inbox (
  organization_id bigint not null,
  user_id bigint not null,
  id bigint not null,
  occurrence_id uuid not null,
  title text not null,
  body text not null,
  created_at timestamptz not null default now(),
  read_at timestamptz,
  archived_at timestamptz,
  primary key (organization_id, user_id, id),
  foreign key (organization_id, user_id) references users on delete cascade
);

alter table addresses add column disabled_at timestamptz, add column disabled_reason text;

create trigger announce_change after insert or update or delete on notifications
  for each row execute function announce_change();
create trigger announce_change after insert on messages
  for each row execute function announce_change();
