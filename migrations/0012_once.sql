-- The index that makes a repeated page harmless no longer serves to find deliveries by their occurrence. The planner, who
-- expects an occurrence to have one or two, took it for the primary key's equal, and of a fan-out read thousands for each
-- delivery that was claimed or settled: 250 ms for a claim that takes 4. With an expression in the place of the
-- occurrence it is used only where it is named (src/db/expansion.ts, src/db/delivery-history.ts). The plain column at its
-- end is what PostgreSQL asks for where tables are partitioned by it.
drop index deliveries_once;
create unique index deliveries_once on deliveries (
  organization_id, (nullif(occurrence_id, '00000000-0000-0000-0000-000000000000')), notification_id, channel_id,
  (coalesce(address, '#' || user_id)), occurrence_id);
