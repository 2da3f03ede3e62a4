-- The engine reads the choices of every recipient twice and never looks into them here: kept as written, they are handed
-- over as they are, where jsonb was put into words again for each. `choices` stays for processes of the version before, whose
-- statements name it; the version after this one can drop it.
alter table users add column chosen json;
create or replace function keep_choices() returns trigger language plpgsql as $$
begin
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set chosen = made.choices, choices = made.choices::jsonb
  from (
    select c.organization_id, c.user_id, (
      select json_object_agg(
        case p.channel_type when '' then p.scope else p.scope || ' ' || p.channel_type end,
        json_build_object('on', p.enabled, 'source', p.source, 'at', p.changed_at))
      from preferences p where p.organization_id = c.organization_id and p.user_id = c.user_id
    ) as choices
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id;
  return null;
end $$;
update users set chosen = choices::json where choices is not null;
