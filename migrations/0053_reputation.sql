-- Protects the reputation of email senders: counts bounces and complaints, and pauses bulk messages of a channel with too many.
alter table channels
  add column reputation_guard boolean not null default true,
  add column max_bounce_percent double precision not null default 5,
  add column max_complaint_percent double precision not null default 0.3,
  -- Since when bulk messages are held, and why; null: they are not. `paused_at` holds all messages.
  add column bulk_paused_at timestamptz,
  add column bulk_paused_reason text,
  -- The last resume after such a pause: messages sent before it count no more. Hours are counted as a whole, so those
  -- sent earlier in its hour are subtracted.
  add column reputation_since timestamptz,
  add column sent_before_since bigint not null default 0;
create index channels_bulk_paused on channels (organization_id) where bulk_paused_at is not null;

-- Messages that were reported, by the hour of the report. Messages sent are counted in delivery_stats.
create table channel_reputation (
  organization_id bigint not null,
  channel_id bigint not null,
  hour timestamptz not null,
  -- Permanently.
  bounced integer not null default 0,
  -- No limit counts these, but their messages were sent too.
  bounced_temporarily integer not null default 0,
  complained integer not null default 0,
  primary key (organization_id, channel_id, hour),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);
