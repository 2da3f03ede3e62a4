-- The host name that a passkey is bound to: browsers offer it only there. Null for passkeys that were added before this column.
alter table passkeys add column rp_id text;
