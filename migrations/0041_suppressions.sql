-- The suppression list: addresses, and whole email domains, to which an organization sends nothing.
create table suppressions (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  channel_type text not null,
  -- An address as it is compared (core/suppressions.ts), or `@` and a domain. "C", so that the unique index finds prefixes.
  target text collate "C" not null,
  reason text not null check (reason in ('bounced', 'complained', 'unsubscribed', 'manual')),
  -- `manual`, `import` or the name of a provider.
  source text not null,
  -- The provider's own words.
  detail text,
  since timestamptz not null default now(),
  expires_at timestamptz,
  -- The reported event that caused the entry, if one did.
  feedback_id text,
  primary key (organization_id, id),
  unique (organization_id, target, channel_type)
);
create index suppressions_by_type on suppressions (organization_id, channel_type, id);
create index suppressions_by_reason on suppressions (organization_id, reason, id);
create index suppressions_expiring on suppressions (expires_at) where expires_at is not null;

-- Whether the organization has ever had an entry. Plans cache it, so that organizations without entries never look any up.
-- It is never reset: resetting it while another transaction adds an entry would hide that entry from the workers.
alter table organizations add column suppresses boolean not null default false;

-- The plans are invalidated first (the update announces the change of the organization), and then messages that are about to
-- be sent are checked again.
create function announce_suppression() returns trigger language plpgsql as $$
begin
  update organizations set suppresses = true
    where id in (select organization_id from added) and not suppresses;
  perform pg_notify('belfry_stop', organization_id::text) from (select distinct organization_id from added) organizations;
  return null;
end $$;

create trigger announce_suppression after insert on suppressions referencing new table as added
  for each statement execute function announce_suppression();
create trigger announce_suppression_extended after update on suppressions referencing new table as added
  for each statement execute function announce_suppression();
