-- The index that makes a repeated page harmless no longer serves to find the deliveries of an occurrence. The planner, who
-- expects an occurrence to have one or two, took it for the primary key's equal, and of a fan-out to 100,000 read all of
-- them for every batch of outcomes. By an expression in front it is used only where it is named; see src/db/deliveries.ts.
drop index deliveries_once;
create unique index deliveries_once on deliveries
  ((organization_id + 0), occurrence_id, notification_id, channel_id, (coalesce(address, '#' || user_id)));
