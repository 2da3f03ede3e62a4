-- What the context of an event must look like: a JSON Schema, kept as it was written, order included. Null: anything.
alter table events add column context_schema json;

-- Who is registered with an application, and what that application knows of them.
create table registrations (
  organization_id bigint not null,
  application_id bigint not null,
  user_id bigint not null,
  active boolean not null default true,
  custom_fields jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, application_id, user_id),
  foreign key (organization_id, application_id) references applications (organization_id, id) on delete cascade,
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index registrations_by_user on registrations (organization_id, user_id);
