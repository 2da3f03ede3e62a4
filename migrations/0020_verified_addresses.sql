-- When someone proved to read what is sent to the address; null: not verified.
alter table addresses add column verified_at timestamptz;
-- A device or browser registers itself. What is JSON is one; other addresses of push, such as topics of ntfy, are entered by people.
update addresses set verified_at = created_at where lower(name) in ('push', 'webpush') and starts_with(value, '{');

create function verify_address() returns trigger language plpgsql as $$
begin
  new.verified_at := case when lower(new.name) in ('push', 'webpush') and starts_with(new.value, '{') then now() end;
  return new;
end $$;
create trigger verify_device before insert on addresses
  for each row when (new.verified_at is null and lower(new.name) in ('push', 'webpush') and starts_with(new.value, '{')) execute function verify_address();
-- What was proved is not known of another value.
create trigger forget_verified before update of name, value on addresses
  for each row when (old.name is distinct from new.name or old.value is distinct from new.value) execute function verify_address();

-- Codes that were sent to addresses in the last day. They outlive the address and the user, so that deleting these does not lift a limit.
create table verification_codes (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  user_id bigint not null,
  -- Of several of an address, the one with the highest id counts.
  address_id bigint not null,
  -- Keyed hash of the value.
  sent_to text not null,
  -- Keyed hash of the code, the address and its value; null: the code was used, or could not be sent.
  code_hash text,
  attempts_left smallint not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, id)
);
create index verification_codes_recent on verification_codes (organization_id, created_at);
comment on index verification_codes_recent is 'limits';
create index verification_codes_by_address on verification_codes (organization_id, address_id, id);
comment on index verification_codes_by_address is 'confirming';
create index verification_codes_old on verification_codes (created_at);
comment on index verification_codes_old is 'deletion of old ones';
