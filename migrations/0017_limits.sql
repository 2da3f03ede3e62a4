-- What one organization may take of an installation that it shares with others. Only whoever runs the installation changes
-- these; null is no limit. The defaults are far above what one organization usually needs.
alter table organizations
  -- In each API process.
  add column triggers_per_second integer default 20000 check (triggers_per_second > 0),
  add column deliveries_per_trigger integer default 5000000 check (deliveries_per_trigger > 0),
  add column users_limit integer default 5000000 check (users_limit > 0),
  add column stored_messages_limit bigint default 200000000 check (stored_messages_limit > 0),
  -- The organization's own rule: how long a key that is made from now on may live. Null: for ever.
  add column max_key_lifetime_days integer check (max_key_lifetime_days > 0);

-- Addresses and networks from which a key may be used, in CIDR notation. Null: from everywhere.
alter table keys add column allowed_networks text[] check (cardinality(allowed_networks) > 0);

drop trigger announce_change on keys;
create trigger announce_change
  after insert or delete or update of name, secret_hash, project_id, application_id, permissions, requests_per_second,
    allowed_networks, expires_at, revoked_at
  on keys for each row execute function announce_change();
