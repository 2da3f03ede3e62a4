-- Workers check a message against memory right before it is sent, and read its recipient again only after such an announcement.
-- Only changes that can stop a message are announced: a user who was locked, opted out, changed the quiet hours, lost an address
-- or was deleted. Cancelling, acknowledging and resolving announce the occurrence themselves.
create function announce_stop() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('belfry_stop', organization_id::text) from (select distinct organization_id from gone) organizations;
  else
    perform pg_notify('belfry_stop', new.organization_id::text);
  end if;
  return null;
end $$;

create trigger announce_stop after update on users for each row
  when ((old.locked, old.choices, old.quiet_hours, old.timezone)
    is distinct from (new.locked, new.choices, new.quiet_hours, new.timezone))
  execute function announce_stop();
create trigger announce_stop_deleted after delete on users referencing old table as gone
  for each statement execute function announce_stop();
create trigger announce_stop after update on addresses for each row
  when ((old.value, old.disabled_at) is distinct from (new.value, new.disabled_at))
  execute function announce_stop();
create trigger announce_stop_deleted after delete on addresses referencing old table as gone
  for each statement execute function announce_stop();
