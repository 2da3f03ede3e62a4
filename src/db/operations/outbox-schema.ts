/**
 * The schema that `belfry outbox install` creates in an application's own database. It is idempotent, and upgrades the
 * schema of an older version.
 *
 * `belfry.notify` inserts a row in the caller's transaction. It sends no NOTIFY, which would serialize all commits of that
 * database. It runs with the rights of its owner, so the application's role needs no privilege on the table. Transactions
 * that use the same key wait for each other until they commit, so the order of `seq` is the order of commits. The row's id
 * becomes the id of the occurrence, which makes storing it idempotent.
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

-- Returns a UUID of version 7: the time in milliseconds, then random bits.
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
    raise exception 'belfry.notify: context and options must not exceed 1,000,000 bytes together'
      using errcode = 'program_limit_exceeded';
  end if;
  if $4 is not null then
    perform pg_advisory_xact_lock(hashtextextended('belfry outbox ' || $4, 0));
  end if;
  made := belfry.new_id();
  insert into belfry.outbox (id, event, context, options, key, created_at) values (made, $1, $2, $3, $4, clock_timestamp());
  return made;
end $$;

-- Queues failed rows again: all of them, or the one with this seq. Returns how many.
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
