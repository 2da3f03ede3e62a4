-- Announces the users whose recipient tokens end: their tokens were revoked, or they were locked or deleted. Processes keep
-- the holders of tokens in memory, and end what a token has opened.
create function announce_user() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    perform pg_notify('belfry_changed', 'user ' || new.id);
    -- For processes of the previous version, which end the streams of these users.
    perform pg_notify('belfry_inbox', 'revoked ' || new.organization_id || ':' || new.id);
  elsif (select count(*) from (select from gone limit 101) first) > 100 then
    perform pg_notify('belfry_changed', organization_id::text)
      from (select distinct organization_id from gone) organizations;
  else
    perform pg_notify('belfry_changed', 'user ' || id) from gone;
  end if;
  return null;
end $$;

create trigger announce_user after update of locked, link_generation, username on users for each row
  when ((old.locked, old.link_generation, old.username) is distinct from (new.locked, new.link_generation, new.username))
  execute function announce_user();
create trigger announce_user_deleted after delete on users referencing old table as gone
  for each statement execute function announce_user();
