-- Bytes of the files that an organization stores: uploads, used or not, and fetched ones. The table of usage is kept by triggers,
-- because processes of the previous version store and delete files too, and a sum over all files would grow with the history.
alter table organizations
  add column attachment_bytes_limit bigint default 21474836480 check (attachment_bytes_limit > 0);

create table attachment_usage (
  organization_id bigint primary key references organizations on delete cascade,
  bytes bigint not null
);

create function count_attachments() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into attachment_usage as u (organization_id, bytes)
    select organization_id, sum(bytes) from changed group by 1 order by 1
    on conflict (organization_id) do update set bytes = u.bytes + excluded.bytes;
  else
    -- No insert: the organization may be what is deleted.
    update attachment_usage u set bytes = u.bytes - gone.bytes
    from (select organization_id, sum(bytes) as bytes from changed group by 1) gone
    where u.organization_id = gone.organization_id;
  end if;
  return null;
end $$;

create trigger count_added after insert on attachments referencing new table as changed
  for each statement execute function count_attachments();
create trigger count_removed after delete on attachments referencing old table as changed
  for each statement execute function count_attachments();

-- Creating the triggers has locked the table against changes, so that none is missed.
insert into attachment_usage select organization_id, sum(bytes) from attachments group by 1;
