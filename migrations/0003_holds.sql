-- The audience guard: an occurrence with far more recipients than its event has ever had waits for an approval.

-- Settings of the guard; null: the defaults.
alter table organizations add column guard jsonb;
alter table events add column guard jsonb;

-- The largest audience of each event and day, in UTC.
create table event_audiences (
  organization_id bigint not null,
  event_id bigint not null,
  day timestamptz not null,
  largest integer not null,
  primary key (organization_id, event_id, day),
  foreign key (organization_id, event_id) references events on delete cascade
);
create index event_audiences_by_age on event_audiences (day);
comment on index event_audiences_by_age is 'deletion of what no longer counts';

-- What was usual before this version: not less than the largest audience, as a day may have had many small ones.
insert into event_audiences (organization_id, event_id, day, largest)
select s.organization_id, s.event_id, s.day,
  max(least(s.sent + s.failed + s.suppressed + s.cancelled + s.expired + s.unknown, 2000000000))
from event_day_stats s
join events e on e.organization_id = s.organization_id and e.id = s.event_id
where s.day > now() - interval '91 days' and s.sent + s.failed + s.unknown > 0
group by 1, 2, 3;

-- Occurrences that wait for an approval, and those that did. `kind` is the guard that holds them. While the state is `counting`, workers
-- sum up page by page who would get what; `cursor` is the end of the last page.
create table holds (
  organization_id bigint not null references organizations on delete cascade,
  occurrence_id uuid not null,
  kind text not null,
  event_id bigint not null,
  state text not null default 'counting',
  threshold integer not null,
  largest integer,
  held_at timestamptz not null default now(),
  expires_at timestamptz not null,
  cursor jsonb,
  claims smallint not null default 0,
  claimed_at timestamptz,
  counts jsonb not null default '{}',
  samples jsonb not null default '[]',
  is_counted boolean not null default false,
  decided_at timestamptz,
  decided_by text,
  note text,
  per_second integer,
  primary key (organization_id, occurrence_id, kind)
);
create index holds_open on holds (organization_id, held_at) where state in ('counting', 'held');
comment on index holds_open is 'lists of what waits for an approval, counts and expiry';

create or replace function occurrence_outcome(o occurrences) returns text language plpgsql immutable as $$
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
    when o.failed > 0 or o.reason in ('crashed', 'guard.expired') then
      case when o.sent + o.unknown > 0 then 'partly_failed' else 'failed' end
    when o.unknown > 0 then 'unknown'
    when o.reason in ('cancelled', 'guard.rejected')
      or (o.cancelled > 0 and (o.sent = 0 or o.cancelled_at is not null)) then 'cancelled'
    when o.expired > 0 or o.reason = 'expired' then 'expired'
    when o.sent > 0 then 'sent'
    when o.suppressed = 0 and (o.reason is null or o.reason in ('no_recipients', 'occurrence.not_open')
      or starts_with(o.reason, 'limit.')) then 'no_recipients'
    else 'suppressed'
  end;
end $$;
