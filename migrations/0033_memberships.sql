-- What applications know of a person is there for their messages: it stands in the person's row, as choices do, by the id
-- of the application, and is part of what a version of the person says.
alter table users add column memberships jsonb;
alter table user_history add column memberships jsonb;

create or replace function keep_user() returns trigger language plpgsql as $$
begin
  insert into user_history (
    organization_id, user_id, version, username, email, first_name, last_name, locked, locale, custom_fields, timezone,
    memberships)
  values (
    old.organization_id, old.id, old.version, old.username, old.email, old.first_name, old.last_name, old.locked,
    old.locale, old.custom_fields, old.timezone, old.memberships);
  new.version := old.version + 1;
  return new;
end $$;
drop trigger keep_user on users;
create trigger keep_user before update on users
  for each row when (
    old.username is distinct from new.username or old.email is distinct from new.email or
    old.first_name is distinct from new.first_name or old.last_name is distinct from new.last_name or
    old.locked is distinct from new.locked or old.locale is distinct from new.locale or
    old.custom_fields is distinct from new.custom_fields or old.timezone is distinct from new.timezone or
    old.memberships is distinct from new.memberships)
  execute function keep_user();

-- Locked before they are read, as in `keep_choices`: of two applications that register somebody at once none is left out.
create function keep_memberships() returns trigger language plpgsql as $$
begin
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set memberships = made.memberships
  from (
    select c.organization_id, c.user_id, (
      select jsonb_object_agg(r.application_id, r.custom_fields)
      from registrations r where r.organization_id = c.organization_id and r.user_id = c.user_id
    ) as memberships
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id
    and u.memberships is distinct from made.memberships;
  return null;
end $$;
create trigger memberships_added after insert on registrations referencing new table as changed
  for each statement execute function keep_memberships();
create trigger memberships_changed after update on registrations referencing new table as changed
  for each statement execute function keep_memberships();
create trigger memberships_removed after delete on registrations referencing old table as changed
  for each statement execute function keep_memberships();

update registrations set updated_at = updated_at;
