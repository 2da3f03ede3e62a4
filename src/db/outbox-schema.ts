/**
 * What `belfry outbox install` puts into an application's own database. Running it again changes nothing, and brings what
 * an older version left up to date.
 *
 * `notify` writes in the caller's transaction and tells nobody: a NOTIFY in it would make all commits of that database
 * wait for each other. It runs with the rights of its owner, so that an application needs no right on the table. A key
 * makes those who use the same one wait for each other until they commit, so that the order of `seq` is the order of
 * commits. The identifier is the occurrence's own: to store it twice is to store it once.
 */
export const outboxSchema = `
create schema if not exists belfry;

create table if not exists belfry.outbox (
  seq bigint generated always as identity primary key,
  id uuid not null,
  event text not null,
  context jsonb not null,
  options jsonb not null,
  key text,
  created_at timestamptz not null,
  failed_at timestamptz,
  error text
);
create index if not exists outbox_pending on belfry.outbox (seq) where failed_at is null;
create index if not exists outbox_failed on belfry.outbox (seq) where failed_at is not null;

-- A UUID of version 7: the time in milliseconds, then chance.
create or replace function belfry.new_id() returns uuid
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select encode(set_byte(
    overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1),
    6, (get_byte(uuid_send(gen_random_uuid()), 6) & 15) | 112), 'hex')::uuid
$$;

create or replace function belfry.notify(event text, context jsonb default '{}', options jsonb default '{}', key text default null)
returns uuid
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  made uuid;
begin
  if $1 is null or $1 !~ '^[^/[:space:]]+/[^/[:space:]]+/[^/[:space:]]+$' then
    raise exception 'belfry.notify: event must be project/application/event, such as shop/web/order-paid, not %', coalesce($1, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_typeof($2) is distinct from 'object' then
    raise exception 'belfry.notify: context must be a JSON object' using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_typeof($3) is distinct from 'object' then
    raise exception 'belfry.notify: options must be a JSON object' using errcode = 'invalid_parameter_value';
  end if;
  if octet_length($2::text) + octet_length($3::text) > 1000000 then
    raise exception 'belfry.notify: context and options may have 1,000,000 bytes together'
      using errcode = 'program_limit_exceeded';
  end if;
  if $4 is not null then
    perform pg_advisory_xact_lock(hashtextextended('belfry outbox ' || $4, 0));
  end if;
  made := belfry.new_id();
  insert into belfry.outbox (id, event, context, options, key, created_at) values (made, $1, $2, $3, $4, clock_timestamp());
  return made;
end $$;

-- What failed is tried once more: all of it, or one by its seq. Returns how many.
create or replace function belfry.retry(which bigint default null) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with again as (
    update belfry.outbox set id = belfry.new_id(), created_at = clock_timestamp(), failed_at = null, error = null
    where failed_at is not null and ($1 is null or seq = $1) returning 1
  )
  select count(*) from again
$$;

revoke all on function belfry.notify(text, jsonb, jsonb, text), belfry.retry(bigint), belfry.new_id() from public;
`;
