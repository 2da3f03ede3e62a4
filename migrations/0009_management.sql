-- Who wrote a version of a message; null for those from before.
alter table messages add column created_by text;

-- Counts outlive their organization for a moment: what was being sent while it was deleted is still counted, and a batch
-- of outcomes must not fail for everybody because one tenant is gone. Upkeep removes what is left.
alter table delivery_stats drop constraint delivery_stats_organization_id_fkey;

-- What a layout was, version by version, as of messages. The layout itself holds the current one.
create table layout_versions (
  organization_id bigint not null,
  layout_id bigint not null,
  version integer not null,
  body text not null,
  created_at timestamptz not null default now(),
  created_by text,
  primary key (organization_id, layout_id, version),
  foreign key (organization_id, layout_id) references layouts on delete cascade
);
insert into layout_versions (organization_id, layout_id, version, body, created_at)
select organization_id, id, 1, body, updated_at from layouts;
