-- An occurrence whose messages may have arrived, and of which nothing else is known, is `unknown` instead of `failed`.
-- One with failed and unknown messages is `partly_failed`: that nothing arrived is not known.
-- PostgreSQL 15 cannot change the expression of a generated column, so it is added again, which rewrites the table:
-- about half a minute for a million rows of 1 kB.
drop index occurrences_by_outcome;
alter table occurrences drop column outcome;
alter table occurrences add column outcome text generated always as (
  case
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
    when failed > 0 or reason = 'crashed' then case when sent + unknown > 0 then 'partly_failed' else 'failed' end
    when unknown > 0 then case when sent > 0 then 'partly_failed' else 'unknown' end
    when sent > 0 then 'sent'
    when cancelled > 0 or reason = 'cancelled' then 'cancelled'
    when expired > 0 or reason = 'expired' then 'expired'
    when suppressed = 0 and (reason is null or reason in ('no_recipients', 'occurrence.not_open') or starts_with(reason, 'limit.'))
      then 'nobody'
    else 'suppressed'
  end) stored;
create index occurrences_by_outcome on occurrences (organization_id, outcome, id) where outcome is not null;
