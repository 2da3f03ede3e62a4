-- What someone should take care of: occurrences with a dedup key, or with steps, that no one has acknowledged or resolved. The
-- expression is the order of attention in src/db/history/sources/incidents.ts.
create index occurrences_open on occurrences (
  organization_id,
  (case context ->> 'severity' when 'critical' then 5 when 'error' then 4 when 'warning' then 3 when 'info' then 1 else 2 end),
  id
) where acknowledged_at is null and resolved_at is null and cancelled_at is null
  and (dedup_key is not null or awaits_acknowledgement or escalating > 0);
comment on index occurrences_open is 'open incidents, those that need attention most first';
