-- What became of messages after a provider accepted them, as reported by services and mail servers. Partitioned by month like
-- the deliveries, and dropped together with them.
create table feedback (
  organization_id bigint not null,
  occurrence_id uuid not null,
  delivery_id bigint not null,
  -- A hash of what makes the event this event, so that it is stored once however often it is sent.
  key uuid not null,
  -- When it was received, as UUIDv7: the order of lists.
  id uuid not null,
  -- The name of the service, or `smtp` for a mail.
  source text not null,
  type text not null check (
    type in ('delivered', 'bounced', 'deferred', 'complained', 'unsubscribed', 'opened', 'clicked')),
  -- Null unless it bounced or was deferred.
  permanent boolean,
  reason text,
  -- The reporter's own words.
  detail text,
  -- The address that the message was sent to; the reporter may name another one, which it was forwarded to.
  address text,
  recipient text,
  -- When it happened, according to the reporter.
  at timestamptz not null,
  primary key (organization_id, occurrence_id, delivery_id, key)
) partition by range (occurrence_id);
create table feedback_rest partition of feedback default;
create index feedback_by_type on feedback (organization_id, type, id);
-- For repeated temporary bounces of an address.
create index feedback_by_address on feedback (organization_id, address, at) where type in ('bounced', 'delivered');

-- Events about messages that were not found. Kept for 30 days, and looked up again for an hour: a service can be faster than
-- the engine, which stores the id of a message after the provider's response.
create table feedback_unmatched (
  organization_id bigint not null references organizations on delete cascade,
  key uuid not null,
  id uuid not null,
  source text not null,
  type text not null,
  permanent boolean,
  reason text,
  detail text,
  recipient text,
  -- The ids that the reporter named: its own, and Belfry's.
  message_id text,
  delivery_ref text,
  at timestamptz not null,
  primary key (organization_id, key)
);
create index feedback_unmatched_by_time on feedback_unmatched (organization_id, id);

-- Only for services that may report nothing but their own id. All others return the id of the delivery, which is its key.
create index deliveries_by_provider_id on deliveries (organization_id, provider_message_id)
  where provider in ('mailersend', 'resend', 'ses', 'twilio') and provider_message_id is not null;
