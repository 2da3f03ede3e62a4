-- How an occurrence stands, as far as its own row tells: kept by PostgreSQL itself whenever the row changes, so that no
-- statement can forget it, and the only place where the outcome of what has ended is decided. Null where it is accepted and
-- about to be expanded: those are found by the queue. What is `sending` or `escalating` may be held as well: that is told by its deliveries,
-- its event and its application. Adding it rewrites the table: about half a minute for a million rows of 1 kB.
alter table occurrences add column outcome text generated always as (
  case
    -- An answer is what people look for, also while the last messages are on their way.
    when resolved_at is not null then 'resolved'
    when acknowledged_at is not null then 'acknowledged'
    when status in ('accepted', 'expanding') then
      case
        when due_at = 'infinity' then 'held'
        when status = 'expanding' then 'expanding'
        when due_at > created_at then 'scheduled'
      end
    when status = 'sending' then case when escalating > 0 then 'escalating' else 'sending' end
    when awaits_acknowledgement then 'unacknowledged'
    -- Whether an unknown one arrived is for a person to find out: until then it has not. What ended the engine each time was
    -- set aside, and nobody, or not everybody, was told.
    when failed + unknown > 0 or reason = 'crashed' then case when sent > 0 then 'partly_failed' else 'failed' end
    when sent > 0 then 'sent'
    when cancelled > 0 or reason = 'cancelled' then 'cancelled'
    when expired > 0 or reason = 'expired' then 'expired'
    -- It had nobody to go to, or somebody to whom it did not go.
    when suppressed = 0 and (reason is null or reason in ('no_recipients', 'occurrence.not_open') or starts_with(reason, 'limit.'))
      then 'nobody'
    else 'suppressed'
  end) stored;
-- The counts of a fan-out change with every batch, and its outcome does not: such updates stay out of all indexes.
create index occurrences_by_outcome on occurrences (organization_id, outcome, id) where outcome is not null;

-- Why messages of an occurrence were not sent: counted and listed by reason, whatever else it sent.
create index deliveries_suppressed on deliveries (organization_id, occurrence_id, reason, id) where status = 'suppressed';

-- People by name as they would sort themselves: numbers count as numbers, so that Ann 2 comes before Ann 10, and who has no
-- name stands by their username. Every number is padded to twelve digits: twelve zeros before it, and of that the last twelve.
create function natural_key(first_key text, last_key text, username text) returns text
  language sql immutable parallel safe
  return regexp_replace(
    regexp_replace(
      case when first_key = '' and last_key = '' then username else btrim(first_key || ' ' || last_key) end,
      '(\d+)', '000000000000\1', 'g'),
    '\d*(\d{12})', '\1', 'g') collate "C";
create index users_by_name on users (organization_id, natural_key(first_key, last_key, username), id);
create index users_locked on users (organization_id, natural_key(first_key, last_key, username), id) where locked;
