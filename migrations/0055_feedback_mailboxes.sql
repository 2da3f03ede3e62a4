-- Mailboxes that are polled for bounce mails, one row for each mailbox in the settings of a channel.
create table feedback_mailboxes (
  organization_id bigint not null,
  channel_id bigint not null,
  -- Its name from the settings: other settings are another mailbox, which is read from its start.
  mailbox text not null,
  -- When it is polled next. Polling moves it into the near future first, so that no other process polls it meanwhile, and a
  -- process that dies needs no recovery.
  due_at timestamptz not null default now(),
  -- Messages up to this UID have been read. UIDs are valid together with the number that the server gave the mailbox.
  uid_validity bigint,
  last_uid bigint not null default 0,
  -- When it was last read, or why it could not be.
  checked_at timestamptz,
  failed_at timestamptz,
  error text,
  primary key (organization_id, channel_id, mailbox),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);
create index feedback_mailboxes_by_due on feedback_mailboxes (due_at);
