-- The expression of the generated column was parsed again by every statement that writes occurrences: a quarter of
-- PostgreSQL's time per message when there are few at a time. The outcome is now an ordinary column, kept by a trigger.
-- Statements that set it themselves to another value, for the usual outcomes, bypass the trigger.
alter table occurrences alter column outcome drop expression;

create function occurrence_outcome(o occurrences) returns text language plpgsql immutable as $$
begin
  return case
    when o.resolved_at is not null then 'resolved'
    when o.acknowledged_at is not null then 'acknowledged'
    when o.status in ('accepted', 'expanding') then
      case
        when o.due_at = 'infinity' then 'held'
        when o.status = 'expanding' then 'expanding'
        when o.due_at > o.created_at then 'scheduled'
      end
    when o.status = 'sending' then case when o.escalating > 0 then 'escalating' else 'sending' end
    when o.awaits_acknowledgement then 'unacknowledged'
    when o.failed > 0 or o.reason = 'crashed' then
      case when o.sent + o.unknown > 0 then 'partly_failed' else 'failed' end
    when o.unknown > 0 then case when o.sent > 0 then 'partly_failed' else 'unknown' end
    when o.sent > 0 then 'sent'
    when o.cancelled > 0 or o.reason = 'cancelled' then 'cancelled'
    when o.expired > 0 or o.reason = 'expired' then 'expired'
    when o.suppressed = 0 and (o.reason is null or o.reason in ('no_recipients', 'occurrence.not_open')
      or starts_with(o.reason, 'limit.')) then 'nobody'
    else 'suppressed'
  end;
end $$;

create function keep_occurrence_outcome() returns trigger language plpgsql as $$
begin
  new.outcome := occurrence_outcome(new);
  return new;
end $$;

-- One that is due at once has no outcome yet.
create trigger occurrence_stored before insert on occurrences for each row
  when (new.status <> 'accepted' or new.due_at <> new.created_at)
  execute function keep_occurrence_outcome();
create trigger occurrence_changed before update on occurrences for each row
  when (new.outcome is not distinct from old.outcome)
  execute function keep_occurrence_outcome();
