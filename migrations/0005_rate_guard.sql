-- The rate guard: pauses a key, event or application that triggers far more often than ever.

-- Settings of the guard; null: those of the organization.
alter table applications add column guard jsonb;

-- Which guard paused it; null: a person. `guard.rate` holds what is not urgent, `guard.rate_all` everything.
alter table applications add column pause_cause text;
alter table events add column pause_cause text;
alter table keys add column pause_cause text;
create index applications_guarded on applications (organization_id) where pause_cause is not null;
comment on index applications_guarded is 'metrics';
create index events_guarded on events (organization_id) where pause_cause is not null;
comment on index events_guarded is 'metrics';
create index keys_guarded on keys (organization_id) where pause_cause is not null;
comment on index keys_guarded is 'metrics';

-- How often each key, event and application triggers. `busiest` is the busiest full hour of the day, in UTC; `hour_count` counts the
-- current hour. `normal` and `urgent` count the current minute, of what is suspicious only.
create table trigger_rates (
  organization_id bigint not null references organizations on delete cascade,
  kind text not null,
  subject text not null,
  day timestamptz not null,
  hour timestamptz not null,
  hour_count bigint not null default 0,
  busiest bigint not null default 0,
  minute timestamptz not null,
  normal integer not null default 0,
  urgent integer not null default 0,
  primary key (organization_id, kind, subject, day)
);
create index trigger_rates_by_age on trigger_rates (day);
comment on index trigger_rates_by_age is 'deletion of what no longer counts';

-- What was usual before this version: not less than the busiest hour. For a key, whose triggers were not counted, the organization's.
with busy as (
  select s.organization_id, s.day, s.event_id, e.application_id, s.triggers
  from event_day_stats s
  join events e on e.organization_id = s.organization_id and e.id = s.event_id
  where s.day > now() - interval '31 days' and s.triggers > 0
), subjects as (
  select organization_id, 'event' as kind, event_id::text as subject, day, triggers from busy
  union all
  select organization_id, 'application', application_id::text, day, sum(triggers) from busy group by 1, 3, 4
  union all
  select b.organization_id, 'key', k.id, b.day, sum(b.triggers)
  from busy b join keys k on k.organization_id = b.organization_id and k.revoked_at is null group by 1, 3, 4
)
insert into trigger_rates (organization_id, kind, subject, day, hour, busiest, minute)
select organization_id, kind, subject, day, day, triggers, day from subjects;
