-- Projects, whole organizations and keys can be paused as applications, events and channels can.
alter table organizations add column paused_at timestamptz, add column paused_reason text;
alter table projects add column paused_at timestamptz, add column paused_reason text;
alter table keys add column paused_at timestamptz, add column paused_reason text;

drop trigger announce_change on keys;
create trigger announce_change after insert or delete or update of name, secret_hash, project_id, application_id, permissions,
  requests_per_second, allowed_networks, expires_at, revoked_at, paused_at on keys
  for each row execute function announce_change();
