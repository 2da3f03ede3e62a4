-- What an HTML mail stands in; of the organization (project_id null) or of one project of it, like channels.
create table layouts (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  project_id bigint,
  name text not null,
  -- The name in lower case, folded by the program, as of distribution lists.
  name_key text not null,
  body text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique nulls not distinct (organization_id, project_id, name_key),
  foreign key (organization_id, project_id) references projects on delete cascade
);

create trigger announce_change after insert or update or delete on layouts
  for each row execute function announce_change();
