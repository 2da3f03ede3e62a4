-- Schedules: who is on call when.
create table schedules (
  organization_id bigint not null,
  id bigint generated always as identity,
  project_id bigint not null,
  slug text not null,
  name text not null,
  timezone text not null,
  -- [{ "name", "every", "from", "until", "users", "only" }], with usernames.
  layers jsonb not null,
  combine text not null,
  -- Name of the distribution list that is notified while no one is on call.
  fallback text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, project_id, slug),
  foreign key (organization_id, project_id) references projects on delete cascade
);
create trigger announce_change after insert or update or delete on schedules
  for each row execute function announce_change();

-- Someone takes, gives or covers a shift. They are data, not configuration.
create table schedule_overrides (
  organization_id bigint not null,
  -- Of several that overlap, the one with the highest id counts.
  id bigint generated always as identity,
  schedule_id bigint not null,
  user_id bigint not null,
  -- Username of the one whose place is taken, like those of layers: also after the user was deleted. Null: everyone's.
  replaces text,
  starts_at timestamptz not null,
  -- Becomes earlier when it is ended early.
  ends_at timestamptz not null,
  reason text,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (organization_id, id),
  foreign key (organization_id, schedule_id) references schedules on delete cascade,
  foreign key (organization_id, user_id) references users on delete cascade
);
create index schedule_overrides_by_end on schedule_overrides (organization_id, schedule_id, ends_at);
comment on index schedule_overrides_by_end is 'overrides that are not over, and those of a time';
create index schedule_overrides_old on schedule_overrides (ends_at);
comment on index schedule_overrides_old is 'deletion of old ones';
create index schedule_overrides_by_user on schedule_overrides (organization_id, user_id);
comment on index schedule_overrides_by_user is 'deletion of a user';
create trigger announce_change after insert or update or delete on schedule_overrides
  for each row execute function announce_change();

-- No one was on call: there were no recipients.
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
    when o.suppressed = 0 and (o.reason is null or o.reason in ('no_recipients', 'schedule.no_one', 'occurrence.not_open')
      or starts_with(o.reason, 'limit.')) then 'no_recipients'
    else 'suppressed'
  end;
end $$;
