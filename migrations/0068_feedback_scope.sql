-- Feedback counts for the channel that received it, and for what is sent from the same domain by channels of the same owner.
-- Null: a signed return path has named the delivery.
alter table feedback_unmatched add column channels bigint[];
comment on column feedback_unmatched.channels is 'the channels whose deliveries the event may be about; null: any';

-- What a channel of a project reports does not stop the messages of other projects.
alter table suppressions add column projects bigint[];
comment on column suppressions.projects is 'the projects whose channels send nothing to the target; null: all channels';

-- Signatures that say no time or do not cover the body, and buttons that trigger an event: each counts once.
create table received_signatures (
  organization_id bigint not null references organizations on delete cascade,
  channel_id bigint not null,
  signature uuid not null,
  body uuid not null,
  received_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (organization_id, channel_id, signature)
);
create index received_signatures_expiring on received_signatures (expires_at);
create index received_signatures_kept on received_signatures (organization_id, channel_id, received_at)
  where expires_at = 'infinity';
comment on table received_signatures is 'hashes of accepted signatures, so that a repeated request is recognized';
