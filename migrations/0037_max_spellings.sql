-- `most_per_day` is called `max_per_day`, and `most` in a throttle or a digest `max`. Processes of the previous version read
-- and write the old names until they are replaced, so both are kept equal here; the next version can drop the old ones.
alter table organizations add column max_per_day integer check (max_per_day > 0);
update organizations set max_per_day = most_per_day where most_per_day is not null;

create function keep_max_per_day() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    new.max_per_day := coalesce(new.max_per_day, new.most_per_day);
  elsif new.most_per_day is distinct from old.most_per_day then
    new.max_per_day := new.most_per_day;
  end if;
  new.most_per_day := new.max_per_day;
  return new;
end $$;
create trigger keep_max_per_day before insert or update of most_per_day, max_per_day on organizations
  for each row execute function keep_max_per_day();

-- Whichever name was written: the current version writes `max` alone, the previous one changes `most`.
create function with_max(settings jsonb, previous jsonb) returns jsonb language sql immutable as $$
  select settings || case
    when settings ? 'most' and settings -> 'most' is distinct from previous -> 'most'
      then jsonb_build_object('max', settings -> 'most')
    when settings ? 'max' then jsonb_build_object('most', settings -> 'max')
    else '{}'
  end
$$;
update notifications set throttle = with_max(throttle, null), digest = with_max(digest, null)
where throttle is not null or digest is not null;

create function keep_max() returns trigger language plpgsql as $$
begin
  new.throttle := with_max(new.throttle, case tg_op when 'UPDATE' then old.throttle end);
  new.digest := with_max(new.digest, case tg_op when 'UPDATE' then old.digest end);
  return new;
end $$;
create trigger keep_max before insert or update of throttle, digest on notifications
  for each row execute function keep_max();

-- The previous version knows the table under its old name.
alter table wordings rename to render_snapshots;
create view wordings as select organization_id, id, content, used_at from render_snapshots;
