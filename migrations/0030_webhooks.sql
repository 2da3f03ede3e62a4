-- Operational webhooks: an organization is told of what happens to its messages, by signed HTTP requests to its own endpoint.
create table webhooks (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  slug text not null,
  name text not null,
  url text not null,
  -- The event types that it is told of.
  types text[] not null,
  -- What people decided.
  enabled boolean not null default true,
  -- What Belfry decided: it has failed for too long, or said that it is gone.
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('failing', 'gone')),
  -- What signs, sealed: the secret, and the one before it, which signs too until then.
  secrets bytea not null,
  previous_until timestamptz,
  active boolean not null generated always as (enabled and disabled_at is null) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug)
);
create trigger announce_change after insert or update or delete on webhooks
  for each row execute function announce_change();
-- Asked by every statement that settles deliveries: empty, it costs next to nothing.
create index webhooks_active on webhooks (organization_id) where active;

-- How an endpoint fares. Apart from its settings, which every process is told of when they change. Whoever claims messages
-- of an endpoint locks this row: its rate and its concurrency hold over all workers.
create table webhook_states (
  organization_id bigint not null,
  webhook_id bigint not null,
  tokens double precision not null default 0,
  tokens_at timestamptz not null default 'epoch',
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure text,
  -- Since when nothing has got through; null: the last attempt did.
  failing_since timestamptz,
  primary key (organization_id, webhook_id),
  foreign key (organization_id, webhook_id) references webhooks (organization_id, id) on delete cascade
);

-- What endpoints are told, one row for each endpoint and thing told: its own place in the queue, as deliveries are. No
-- foreign key: an endpoint that is deleted in this moment must not fail the outcomes of deliveries that are being written.
create table webhook_messages (
  organization_id bigint not null,
  webhook_id bigint not null,
  id bigint generated always as identity,
  -- What receivers know it by, the same for every attempt.
  key uuid not null default gen_random_uuid(),
  type text not null,
  data jsonb not null,
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'failed')),
  attempts smallint not null default 0,
  -- While it is being sent, when it is due again should its worker die.
  due_at timestamptz not null default now(),
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  -- The last attempts: when, how long, what came of it.
  log jsonb not null default '[]',
  primary key (organization_id, webhook_id, id)
);
create index webhook_messages_due on webhook_messages (organization_id, webhook_id, due_at) where status = 'waiting';
create index webhook_messages_claimed on webhook_messages (organization_id, webhook_id, claimed_at)
  where claimed_at is not null;
create index webhook_messages_by_status on webhook_messages (organization_id, webhook_id, status, id);
create index webhook_messages_by_age on webhook_messages (organization_id, created_at);

-- Channels that webhooks were told are unhealthy, until they are told of the recovery.
create table channel_outages (
  organization_id bigint not null,
  channel_id bigint not null,
  since timestamptz not null default now(),
  primary key (organization_id, channel_id),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);
