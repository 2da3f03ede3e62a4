-- Calendars of users whose events are absences.
create table absence_calendars (
  organization_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  -- Encrypted: the address alone is enough to read the calendar.
  secrets bytea not null,
  -- What is shown of the address.
  host text not null,
  -- Only events whose title contains one of them are absences. Empty: all-day events.
  words text[] not null default '{}',
  -- When it is fetched next, or when the claim of a dead process ends.
  due_at timestamptz not null default now(),
  -- Of the last answer with a content, which was read in this time zone.
  etag text,
  last_modified text,
  read_at timestamptz,
  timezone text,
  -- Events that could not be read, and whether there were more absences than are kept.
  skipped integer not null default 0,
  is_cut boolean not null default false,
  -- When a fetch last succeeded.
  fetched_at timestamptz,
  -- Why the last one failed, since when, and how many failed in a row.
  error text,
  failing_since timestamptz,
  failures integer not null default 0,
  -- Number of changes by people: what was fetched before one of them is not stored.
  version integer not null default 1,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (organization_id, id),
  foreign key (organization_id, user_id) references users on delete cascade
) with (fillfactor = 70);
create index absence_calendars_by_user on absence_calendars (organization_id, user_id, id);
comment on index absence_calendars_by_user is 'calendars of a user, and deletion of a user';
create index absence_calendars_due on absence_calendars (due_at);
comment on index absence_calendars_due is 'calendars that are due';
create index absence_calendars_failing on absence_calendars (failing_since) where failing_since is not null;
comment on index absence_calendars_failing is 'calendars that belfry doctor names';

-- Null: entered by hand.
alter table absences add column calendar_id bigint;
alter table absences add constraint absences_calendar_fkey
  foreign key (organization_id, calendar_id) references absence_calendars (organization_id, id) on delete cascade;
create index absences_by_calendar on absences (organization_id, calendar_id, ends_at) where calendar_id is not null;
comment on index absences_by_calendar is 'what a fetch replaces, and deletion of a calendar';
