-- Each channel has an address that services report feedback to. The token in it is random, not derived from a key: it is
-- pasted into the settings of a service and must survive a new secret key.
alter table channels add column feedback_token text not null
  default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
create index channels_by_feedback_token on channels (feedback_token);

-- When services last reported something. Apart from the channel, whose changes every process is notified of.
create table channel_feedback (
  organization_id bigint not null,
  channel_id bigint not null,
  last_received_at timestamptz,
  last_refused_at timestamptz,
  -- Why the last request was refused.
  last_refusal text,
  primary key (organization_id, channel_id),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);
