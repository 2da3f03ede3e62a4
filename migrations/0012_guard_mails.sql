-- Mails to the members who decide about what a guard holds: one row per member, however much is held.
create table guard_mails (
  organization_id bigint not null,
  account_id bigint not null,
  -- holds, for those who may approve, or rates, for owners
  about text not null,
  -- What happened since the last mail: the first few, and how many in all.
  items jsonb not null default '[]',
  count integer not null default 0,
  -- When the next mail is sent, or the claim of it ends; null: there is nothing to report.
  due_at timestamptz,
  -- What a process is mailing, or will mail again after a failure.
  claimed jsonb,
  attempts smallint not null default 0,
  sent_at timestamptz,
  primary key (organization_id, account_id, about),
  foreign key (organization_id, account_id) references memberships on delete cascade
);
create index guard_mails_due on guard_mails (due_at) where due_at is not null;
comment on index guard_mails_due is 'sending';

-- Whether approvers were mailed that it is held.
alter table holds add column mailed boolean not null default false;
