-- Files that messages carry: uploaded before a trigger, or fetched from a URL before the first message is sent. A file is
-- stored once for all deliveries of an occurrence.
create table attachments (
  organization_id bigint not null references organizations on delete cascade,
  id uuid not null,
  name text not null,
  content_type text not null,
  bytes integer not null,
  content bytea not null,
  created_at timestamptz not null default now(),
  -- When an upload that no trigger has used is deleted. Null: an occurrence uses it.
  expires_at timestamptz,
  primary key (organization_id, id)
);
-- Files rarely compress, and without compression a part of the content can be read without the rest.
alter table attachments alter column content set storage external;
create index attachments_by_expiry on attachments (organization_id, expires_at) where expires_at is not null;

-- Which files an occurrence uses. Occurrences are dropped with their partition, so there is no foreign key to them.
create table occurrence_attachments (
  organization_id bigint not null,
  occurrence_id uuid not null,
  -- The id of the upload, or the URL, as the trigger or the message names it.
  source text not null,
  attachment_id uuid not null,
  primary key (organization_id, occurrence_id, source),
  foreign key (organization_id, attachment_id) references attachments (organization_id, id) on delete cascade
);
create index occurrence_attachments_by_attachment on occurrence_attachments (organization_id, attachment_id);
