-- When users are away. They never change who is on call: they show which shifts collide with them.
create table absences (
  organization_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  reason text,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (organization_id, id),
  foreign key (organization_id, user_id) references users on delete cascade
);
create index absences_by_user on absences (organization_id, user_id, ends_at);
comment on index absences_by_user is 'absences of a time, and deletion of a user';
create index absences_old on absences (ends_at);
comment on index absences_old is 'deletion of old ones';
