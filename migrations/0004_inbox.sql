-- What a user has not put away, the newest last, and how much of it is unread.
create index inbox_current on inbox (organization_id, user_id, id) where archived_at is null;
create index inbox_unread on inbox (organization_id, user_id, id) where archived_at is null and read_at is null;
