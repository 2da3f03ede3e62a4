-- Rules of schedules that were replaced: reports and calendars of a time before the change still follow them.
create table schedule_history (
  organization_id bigint not null,
  schedule_id bigint not null,
  replaced_at timestamptz not null,
  timezone text not null,
  layers jsonb not null,
  combine text not null,
  primary key (organization_id, schedule_id, replaced_at),
  foreign key (organization_id, schedule_id) references schedules on delete cascade
);
create index schedule_history_old on schedule_history (replaced_at);
comment on index schedule_history_old is 'deletion of old ones';

-- Rules that followed others within a minute are left out, and of all only the last 64 KiB are kept, which are dozens: someone may try things,
-- and reports read those of all schedules.
create function keep_schedule() returns trigger language plpgsql as $$
begin
  -- When the rules before these were replaced; other fields may have changed since.
  if current_setting('belfry.copying', true) = 'on' or now() - interval '1 minute' < coalesce((
    select max(replaced_at) from schedule_history
    where organization_id = old.organization_id and schedule_id = old.id), old.created_at)
  then
    return null;
  end if;
  insert into schedule_history (organization_id, schedule_id, replaced_at, timezone, layers, combine)
  values (old.organization_id, old.id, now(), old.timezone, old.layers, old.combine)
  on conflict do nothing;
  delete from schedule_history h
  where h.organization_id = old.organization_id and h.schedule_id = old.id and (
    select sum(octet_length(newer.layers::text)) from schedule_history newer
    where newer.organization_id = h.organization_id and newer.schedule_id = h.schedule_id and newer.replaced_at > h.replaced_at) > 65536;
  return null;
end $$;
create trigger keep_replaced after update on schedules for each row
  when ((old.timezone, old.layers, old.combine) is distinct from (new.timezone, new.layers, new.combine))
  execute function keep_schedule();
