-- Quiet hours are wall-clock times in a zone, never moments: daylight saving moves nothing. The person's own count before the
-- organization's, and so does their time zone.
alter table organizations
  add column timezone text,
  add column quiet_hours jsonb;
alter table users
  add column timezone text,
  add column quiet_hours jsonb;

-- What messages say of a user includes the time zone, in which templates write dates.
alter table user_history add column timezone text;
create or replace function keep_user() returns trigger language plpgsql as $$
begin
  insert into user_history (
    organization_id, user_id, version, username, email, first_name, last_name, locked, locale, custom_fields, timezone)
  values (
    old.organization_id, old.id, old.version, old.username, old.email, old.first_name, old.last_name, old.locked,
    old.locale, old.custom_fields, old.timezone);
  new.version := old.version + 1;
  return new;
end $$;
drop trigger keep_user on users;
create trigger keep_user before update on users
  for each row when (
    old.username is distinct from new.username or old.email is distinct from new.email or
    old.first_name is distinct from new.first_name or old.last_name is distinct from new.last_name or
    old.locked is distinct from new.locked or old.locale is distinct from new.locale or
    old.custom_fields is distinct from new.custom_fields or old.timezone is distinct from new.timezone)
  execute function keep_user();
