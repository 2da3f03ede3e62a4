-- Pages that the users of a schedule confirm regularly: {"event": "monitoring/test", "every": "30d", "at": "10:00", "priority": "urgent"}.
-- Null: none.
alter table schedules add column test jsonb;
-- When a process has to send those that are due; null: none are sent.
alter table schedules add column test_due_at timestamptz;
-- False: the time is to be computed first.
alter table schedules add column test_planned boolean not null default false;
create index schedules_test_due on schedules (test_due_at) where test_due_at is not null;
comment on index schedules_test_due is 'test pages that are due';

create function plan_test_pages() returns trigger language plpgsql as $$
begin
  new.test_due_at := case when new.test is not null then now() end;
  new.test_planned := false;
  return new;
end $$;
create trigger plan_first_test before insert on schedules for each row when (new.test is not null) execute function plan_test_pages();
create trigger plan_next_test before update of test, timezone on schedules
  for each row when (old.test is distinct from new.test or old.timezone is distinct from new.timezone) execute function plan_test_pages();

-- The last test page of each user.
create table test_pages (
  organization_id bigint not null,
  user_id bigint not null,
  occurrence_id uuid not null,
  sent_at timestamptz not null,
  -- The occurrence is not known to be stored: it is triggered again under the same id.
  pending boolean not null default true,
  -- When the user last confirmed one.
  confirmed_at timestamptz,
  primary key (organization_id, user_id),
  foreign key (organization_id, user_id) references users on delete cascade
);
