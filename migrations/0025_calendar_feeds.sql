-- Addresses of calendar feeds are signed with these numbers: another number revokes those that were handed out.
alter table schedules add column calendar_generation integer not null default 0;
alter table users add column calendar_generation integer not null default 0;
