-- Schedules can be paged by hand: application/event that is triggered then. It is checked when it is set and when it is used.
alter table schedules add column page text;
