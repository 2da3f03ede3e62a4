-- An occurrence of which a page is stored and more is to come is `expanding`, whether or not a worker has it at the
-- moment; `accepted` is one of which nothing has been expanded. The everyday occurrence, with few recipients, never is
-- `expanding`: it is locked, decided and stored at once.
update occurrences set status = 'expanding' where status = 'accepted' and cursor is not null;
-- Where an expansion goes on is told by names instead of positions. What is under way begins anew: what is stored of it
-- already stays as it is.
update occurrences set cursor = '{"notification": 0, "source": "", "after": 0}' where cursor is not null;

-- How often processing it has ended the thread of a worker: the third time, it is set aside.
alter table occurrences add column crashes smallint not null default 0;
alter table deliveries add column crashes smallint not null default 0;

create index occurrences_continued on occurrences (priority, organization_id, due_at)
  where status = 'expanding' and owner is null;
drop index occurrences_held;
create index occurrences_held on occurrences (event_id)
  where status in ('accepted', 'expanding') and due_at = 'infinity';
