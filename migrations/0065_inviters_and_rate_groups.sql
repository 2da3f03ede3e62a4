-- The key that created the invite; null if the account with the email `invited_by` did. An invite ends with its inviter.
alter table invites add column inviter_key_id text;
update invites i set inviter_key_id = k.id from keys k
where k.organization_id = i.organization_id and k.name = i.invited_by
  and not exists (select from accounts a where a.email = i.invited_by);

-- Keys with the same group share one rate limit: a key and all keys that were created or rotated with it. Null: the key's own id.
alter table keys add column rate_group text;
